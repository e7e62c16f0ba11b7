// All threads' events in the order of time, with addresses turned into blocks.
//
// Recordings are not perfect: a program frees what it got before the recording began, or got in a way that is not
// recorded. What follows is always consistent: each block is taken once, moved while it lives, and given at most once.
// Format: F3.
#ifndef MERGE_H
#define MERGE_H

#include "read.h"

// A block while it lives. `place`: small numbers, used again for later blocks.
struct live_block {
    uint64_t address; // 0: the place is free
    uint64_t bytes;
    uint64_t born_ticks, born_bytes; // bytes_taken at birth: its age can be told in bytes, too
    uint64_t site;
    uint32_t thread;
    uint32_t align_log2;
};

enum step_kind { STEP_TAKE, STEP_TAKE_ZEROED, STEP_TAKE_ALIGNED, STEP_MOVE, STEP_GIVE };

// One call, as a replay would make it.
struct step {
    enum step_kind kind;
    uint32_t thread;
    uint32_t place;
    uint64_t ticks, site;
    uint64_t bytes;                 // afterwards
    const struct live_block *block; // as it was before, for STEP_MOVE and STEP_GIVE; else as it is
};

struct merge {
    const struct trace *trace;
    struct trace_cursor *cursors;
    struct merge_next *nexts; // a heap of threads by the time of their next event
    uint32_t waiting;
    struct merge_moving *moving; // per thread, the realloc that is not over
    // Blocks by place, and places by address: open addressing, 0 is none, else place + 1.
    struct live_block *blocks;
    size_t block_room, block_count;
    uint32_t *table;
    size_t table_room;
    // Places given up, oldest first, with the step at which they were.
    struct merge_free_place *free_places;
    size_t free_room, free_first, free_count;
    uint64_t reuse_after_steps;
    struct step pending; // made by the same event as the one before
    bool has_pending;
    // What came of it so far.
    uint64_t steps, failed, unknown, missed; // unknown: gives without a take; missed: takes on a living block's address
    uint64_t bytes_taken, live_bytes, live_blocks, peak_live_bytes, peak_live_blocks, peak_ticks;
};

// `reuse_after_steps`: how long a place is left alone after its block was given. A replay whose threads keep only
// nearly in step asks for more than they may be apart.
void merge_start(struct merge *merge, const struct trace *trace, uint64_t reuse_after_steps);
// The next step; false: that was all.
bool merge_next(struct merge *merge, struct step *step);
void merge_end(struct merge *merge);

#endif
