// The window: one stretch of address space that holds all slabs and runs, and the slice table that covers it.
//
//   base                                   base + slices * 64 KiB
//    | slice 0 | slice 1 | ...  | slice n-1 |  not yet mapped ...
//    views[0]   views[1]          TAG_COUNT bytes each: what free() needs
//    info[0]    info[1]           a machine word each: what the cold path needs
//
// A slice has a view for each tag, that is for each group of threads: the class of its blocks, where threads of that
// tag may keep and reuse them; CLASS_NONE where they may not: blocks below a cache line that somebody else holds, runs,
// and what is not ours. So free() needs one load to know the class and whether the block may stay.
//
// W1. A slice's class does not change while one of its blocks is live; hence relaxed access: whoever holds a pointer to
//     a block got it after the views were written. A stale view costs locality, never correctness.
// W2. base, limit, views, info are set once, before the first block exists. All views and infos can be read at any
//     time: what was never written is CLASS_NONE and 0.
#ifndef REGION_WINDOW_H
#define REGION_WINDOW_H

#include "base/atomics.h"
#include "base/tuning.h"

// What a slice's info says: 0: not ours; above 0: the address of its slab's descriptor; below 0: it is part of a run
// that is one block: minus the run's length on the first slice, SLICE_RUN_INSIDE on the others.
#define SLICE_RUN_INSIDE INTPTR_MIN
// Plus the length, on the first slice: it was such a block, and a thread keeps it (big/kept.h).
#define SLICE_RUN_KEPT (INTPTR_MIN / 2)

ALWAYS_INLINE bool window_is_kept(intptr_t info) {
    return info >= SLICE_RUN_KEPT && info < SLICE_RUN_KEPT / 2;
}

struct window {
    uintptr_t base; // multiple of the group size
    size_t limit;   // slices that the table covers: the window's final size
    uint8_t *views; // the slice table
    intptr_t *info; // what the slice belongs to
} __attribute__((aligned(64)));

SHARED struct window window;

#define NO_SLICE SIZE_MAX

ALWAYS_INLINE size_t window_slice_of(const void *address) {
    return ((uintptr_t)address - window.base) >> SLICE_SHIFT;
}

ALWAYS_INLINE bool window_contains(const void *address) {
    return window_slice_of(address) < window.limit;
}

// The views of a slice, of all tags, in one word.
typedef uint64_t window_views;
_Static_assert(TAG_COUNT <= sizeof(window_views) && CLASS_NONE == 0, "a byte a tag; no class is 0");
#define WINDOW_VIEW_OF_ALL (~(window_views)0 / 255 >> 8 * (sizeof(window_views) - TAG_COUNT)) // 1 in each byte

ALWAYS_INLINE void window_set_views(size_t slice, window_views views) {
#if TAG_COUNT == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    store_relaxed((window_views *)(void *)&window.views[slice * TAG_COUNT], views);
#else
    for (unsigned tag = 0; tag < TAG_COUNT; tag++)
        store_relaxed(&window.views[slice * TAG_COUNT + tag], (uint8_t)(views >> 8 * tag));
#endif
}

// Sets what threads see of a slice: all of them, or those of one tag.
ALWAYS_INLINE void window_show_all(size_t slice, unsigned class_index) {
    window_set_views(slice, class_index * WINDOW_VIEW_OF_ALL);
}

ALWAYS_INLINE void window_show_tag(size_t slice, unsigned class_index, unsigned tag) {
    window_set_views(slice, (window_views)class_index << 8 * tag);
}

ALWAYS_INLINE void window_open_tag(size_t slice, unsigned class_index, unsigned tag) {
    store_relaxed(&window.views[slice * TAG_COUNT + tag], (uint8_t)class_index);
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
#define WINDOW_GROUP_RECORD_BYTES 20  // at most; checked by runs.c
#define WINDOW_INDEX_RECORD_BYTES 128 // a record per 64 groups; checked by runs.c

#endif
