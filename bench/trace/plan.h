// What each thread of a replay does, in order, and where it waits for the others.
//
// Threads of a replay run faster or slower than they did in the program, where queues and locks kept them together. So
// the trace is cut into stretches of time in which little is asked for, and no thread enters a stretch before all
// threads are through with the last but one. Within a stretch a block's give waits for its take. P1. Whatever comes
// first in the trace of what is not done can be done: waiting always ends.
#ifndef PLAN_H
#define PLAN_H

#include "read.h"

// A stretch ends after so many steps, or when this part (1/N) of what lives, but not less than so many bytes, was
// asked for: two stretches are then well below a twentieth of any peak worth knowing.
#define STRETCH_STEPS 1024u
#define STRETCH_SHARE 64u
#define STRETCH_LEAST_BYTES (4u << 10)

enum op_kind { OP_TAKE, OP_TAKE_ZEROED, OP_TAKE_ALIGNED, OP_MOVE, OP_GIVE, OP_ENTER, OP_START };

struct op {
    uint32_t place; // of the block; for OP_START the thread, for OP_ENTER the stretch
    uint8_t kind, align_log2;
    uint64_t bytes;
};

struct plan_thread {
    struct op *ops;
    size_t count, room;
};

struct plan {
    struct plan_thread *threads;
    uint32_t thread_count;
    uint32_t first_thread;
    uint32_t places;      // blocks at a time, at most
    uint32_t stretches;   // 0: with one thread there are none
    uint32_t *in_stretch; // threads that have something to do in each
    uint64_t steps, failed, unknown, missed, peak_live_bytes, peak_live_blocks, bytes_taken;
};

void plan_make(struct plan *plan, const struct trace *trace);

#endif
