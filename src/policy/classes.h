// Which sizes get classes of their own (DYN).
//
// A class of B bytes serves the sizes down to the next smaller class. Where many blocks in use are much smaller than B,
// a class at the largest of those sizes saves the difference in each. What it costs is memory too: its part-used slabs,
// and blocks in the stacks of each thread that uses it. And blocks stay where they are: a class of its own for the
// sizes of one that does not grow would stand beside what that has, whose slabs drain slowly. So a running program gets
// it while the class grows; the next run has it from the start.
//
// What sizes the blocks in use have is not known; what sizes are asked for is. Blocks that are freed at once are hardly
// ever among those in use, however many are asked for: so the requests count whose blocks lived on, where enough of a
// class are known, else all.
#ifndef POLICY_CLASSES_H
#define POLICY_CLASSES_H

#include "base/compiler.h"
#include "base/tuning.h"

// What is known of the sizes that a program asks for.
struct size_report {
    unsigned entries;        // sizes that are told apart, ascending
    const uint32_t *bytes;   // the largest request of each
    const uint32_t *seen;    // requests in sampling windows
    const uint32_t *kept;    // those of them whose blocks lived on; NULL: not known
    const uint8_t *class_of; // the class that serves each
    const uint32_t *class_bytes;
    const uint64_t *class_blocks; // of the class that the program has now
    const uint8_t *class_grows;   // 1: it has many more than at the last look; NULL: whether it grows does not matter
    unsigned threads;
    unsigned least_seen;         // requests of a class, for its sizes to be known
    size_t in_use_bytes;         // of the heap
    const uint8_t *class_chosen; // 1: of its sizes one was chosen already; NULL: of none
};

struct size_choice {
    uint32_t bytes;
    uint32_t class_index; // that served it so far
    uint64_t saved_bytes; // by estimate
};

// The size that a class of its own saves most for; false: none is worth it.
INTERNAL bool classes_choose(const struct size_report *report, struct size_choice *choice);

#endif
