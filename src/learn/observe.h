// What the program does, in numbers: added up over all threads' heaps.
#ifndef LEARN_OBSERVE_H
#define LEARN_OBSERVE_H

#include "heap/heap.h"
#include "policy/cost.h"
#include "policy/rises.h"
#include "policy/spread.h"
#include "policy/tryout.h"

struct observed_class {
    uint64_t refills;
    uint64_t refilled_blocks;
    uint64_t flushes;
    uint64_t denied; // requests and frees without a stack, for lack of budget
    uint64_t flushed_blocks;
    uint64_t cached_blocks;
    size_t slab_bytes;
};

struct observation {
    uint64_t now_ns;
    uint64_t due_ns;  // when a look of the program's own threads was due; 0: not known
    bool is_helpers;  // the helper looks: none of them came by
    uint64_t busy_ns; // processor time of the process; 0: the system does not say
    unsigned threads;
    size_t in_use_bytes;      // slices and own mappings handed out
    struct rises_seen course; // of it: what it is now, or what observe_course says
    size_t retained_bytes;
    size_t highest_retained_bytes; // since the last look, as observe_course says
    size_t granted_bytes;          // that all stacks would hold if they were full
    size_t cached_bytes;           // in stacks and on their way between threads
    size_t allowance_bytes;
    uint64_t purged_bytes; // so far, as the next ones
    uint64_t refaulted_bytes;
    uint64_t faults;       // of the process; 0: the system does not say
    uint64_t big_bytes;    // asked for above the slab classes
    uint64_t grown_blocks; // that realloc moved for a small step
    uint64_t grown_bytes;  // which it copied
    struct cost_page page; // as far as it was measured
    struct observed_class classes[CLASS_END];
};

// Requests for blocks above the slab classes, while something is learned. Relaxed: hints.
SHARED struct spread_seen observed_spread;
// And by those that grow blocks by small steps.
SHARED uint64_t observed_grown_blocks;
SHARED uint64_t observed_grown_bytes;

// By one thread at a time, inside of its heap: takes the registry's lock.
INTERNAL void observe(struct observation *seen, uint64_t now_ns);
// What is in use, and between what amounts it went since this was called last: by the learner's looks alone.
INTERNAL void observe_course(struct observation *seen);
// What the time between two of them cost, by the one formula.
INTERNAL double observed_cost(const struct observation *seen, const struct observation *before);
// What a tryout wants to know, of a program that has done so much work.
INTERNAL struct tryout_seen observed_for_tryout(const struct observation *seen, uint64_t done_bytes);
// Bytes asked for, as far as cold paths see them: what stacks were refilled with, and what is above the classes.
INTERNAL uint64_t observed_asked_bytes(const struct observation *seen);
// Resident, and in no block in use.
INTERNAL size_t observed_idle_bytes(const struct observation *seen);
// Blocks of a class that the program has.
INTERNAL uint64_t observed_out_blocks(const struct observation *seen, unsigned class_index);

#endif
