// The library's numbers made small: few classes, slabs of one to four blocks, stacks of three. What has to be met
// within a few steps to be met in every order is then met.
#ifndef INTERLEAVE_TUNING_H
#define INTERLEAVE_TUNING_H

#include_next "base/tuning.h"

enum {
    CLASS_HELD = 1, // four blocks of 16 KiB, held
    CLASS_TWO,      // two blocks of 32 KiB
    CLASS_FOUR,     // four blocks of 16 KiB
    CLASS_WORDS,    // 128 blocks of 1 KiB: two bitmap words, two slices
    CLASS_LARGE,    // two blocks of 32 KiB, large
    CLASS_ONE,      // one block of 64 KiB, large
};
#undef CLASS_COUNT
#define CLASS_COUNT 7
#undef CLASS_SPARE_COUNT
#define CLASS_SPARE_COUNT 1
#undef CLASS_FIRST_LARGE
#define CLASS_FIRST_LARGE 5
#undef CLASS_LAST_HELD
#define CLASS_LAST_HELD 1
#undef TAG_COUNT
#define TAG_COUNT 2

// Slabs of at most so many blocks leave their lessee as soon as they are exhausted.
#undef SLAB_MIN_BLOCKS
#define SLAB_MIN_BLOCKS 2

#undef STACK_SLOTS
#define STACK_SLOTS 4
#undef STACK_START_LEAST
#define STACK_START_LEAST 2
#undef STACK_START_DEPTH
#define STACK_START_DEPTH 2
#undef STACK_START_BATCH
#define STACK_START_BATCH 1
#undef PARK_MOST_BYTES
#define PARK_MOST_BYTES (64 * KIB)
#undef PARK_LEAST_SWING
#define PARK_LEAST_SWING 1
#undef PARK_KEEP
#define PARK_KEEP 1
#undef TRANSFER_BLOCKS
#define TRANSFER_BLOCKS 3
#undef TRANSFER_LEAST_BYTES
#define TRANSFER_LEAST_BYTES (64 * KIB)
#undef TRANSFER_IDLE_LOOKS
#define TRANSFER_IDLE_LOOKS 1
#undef LOOK_AROUND_TURNS
#define LOOK_AROUND_TURNS 1
#undef OUTBOX_BLOCKS
#define OUTBOX_BLOCKS 2

#undef META_MAPPING_BYTES
#define META_MAPPING_BYTES (40 * KIB)
#undef LOCK_SPINS
#define LOCK_SPINS 1
// Fork looks once.
#undef FORK_PATIENCE_MS
#define FORK_PATIENCE_MS 1
#undef FORK_SLEEP_US
#define FORK_SLEEP_US 1000

#endif
