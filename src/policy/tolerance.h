// How much larger than asked for a block may be (W_MAX): which of the fixed classes are worth having.
//
// A class costs memory where it is used little: its part-used slabs, and a stack in each thread. Its requests can be
// served by the next larger one, which costs rounding in each block. All classes whose smallest request the next one
// serves within W_MAX are closed together, or none; by estimate, for the program's next run: blocks in use would stay
// where they are.
#ifndef POLICY_TOLERANCE_H
#define POLICY_TOLERANCE_H

#include "policy/snapshot.h"

struct tolerance_report {
    const uint32_t *class_bytes;      // 0: no such class
    const uint64_t *class_blocks;     // in use
    const uint64_t *class_slab_bytes; // of the slabs that there are
    unsigned threads;
    size_t in_use_bytes; // of the heap
    size_t price;        // of a MiB for a second, ns
};

// Where classes are closed: says of which blocks and slabs there would be if all were open. serves[i]: the class that
// serves requests of class i's; requests[i]: so many of them were seen. Part-used slabs of a class that serves several
// count for each of them, as each would have its own. False: no request was seen to go by.
INTERNAL bool tolerance_unfold(const uint32_t *class_bytes, const uint8_t *serves, const uint64_t *requests,
                               uint64_t *class_blocks, uint64_t *class_slab_bytes);
// The W_MAX, in hundredths, that saves most memory; 100, at which nothing is closed, where none saves enough. *saved:
// bytes, by estimate.
INTERNAL size_t tolerance_choose(const struct tolerance_report *report, uint64_t *saved);
// Closes the classes of a snapshot that its w_max says.
INTERNAL void tolerance_apply(struct snapshot *snapshot, const uint32_t *class_bytes);

#endif
