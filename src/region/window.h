// The window: one stretch of address space that holds all slabs and runs, and the slice table that covers it.
//
//   base                                   base + slices * 64 KiB
//    | slice 0 | slice 1 | ...  | slice n-1 |  not yet mapped ...
//    words[0]   words[1]          a 32-bit word each: what free() needs
//    info[0]    info[1]           a machine word each: what the cold path needs
//
// A word:   31            8 7        0
//          |  holder's tag |   code   |      0: not ours
//
// W1. Code bits don't change while a block of the slice is live; hence relaxed access: whoever holds a pointer to a
//     block got it after the word was written. A stale tag costs locality, never correctness.
// W2. base, limit, words, info are set once, before the first block exists. The whole slice table can be read at any
//     time: what was never written is 0.
#ifndef REGION_WINDOW_H
#define REGION_WINDOW_H

#include "base/atomics.h"
#include "base/tuning.h"

enum slice_code {
    SLICE_NOT_OURS = 0,
    SLICE_FIRST_CLASS = 1,  // class 0; the codes of the classes follow
    SLICE_RUN_FIRST = 252,  // first slice of a run that is one block
    SLICE_RUN_INSIDE = 253, // a further slice of one
    SLICE_CODE_MASK = 255,
    SLICE_TAG_SHIFT = 8,
};

struct window {
    uintptr_t base;  // multiple of the group size
    size_t limit;    // slices that the table covers: the window's final size
    uint32_t *words; // the slice table
    uintptr_t *info; // of a slab's slices: its descriptor; of a run's first slice: its length in slices
} __attribute__((aligned(64)));

SHARED struct window window;

#define NO_SLICE SIZE_MAX

ALWAYS_INLINE size_t window_slice_of(const void *address) {
    return ((uintptr_t)address - window.base) >> SLICE_SHIFT;
}

ALWAYS_INLINE bool window_contains(const void *address) {
    return window_slice_of(address) < window.limit;
}

ALWAYS_INLINE void *window_address(size_t slice) {
    return (void *)(window.base + (slice << SLICE_SHIFT));
}

// Chooses the window's place and size. False: there is no address space for any window.
INTERNAL bool window_start(void);
// Makes at least `slices` further slices usable (whole groups) at the window's end; says where and how many. False:
// none to be had. The caller holds the lock of rank grow and none above.
INTERNAL bool window_extend(size_t slices, size_t *first, size_t *count);

// Group records of region/runs.c lie behind the slice tables, committed with them.
INTERNAL void *window_group_table(void);
INTERNAL void *window_group_index(void);
#define WINDOW_GROUP_RECORD_BYTES 12  // at most; checked by runs.c
#define WINDOW_INDEX_RECORD_BYTES 128 // a record per 64 groups; checked by runs.c

#endif
