// Huge pages: which groups the kernel is asked to back with one (option huge_pages).
//
// HP1. A group is advised while none of its pages is resident: when it is new, or when its first slice is taken. So one
//      page fault brings all of it in. From that slice on all of it counts as resident (R1).
// HP2. auto: a group that lies in one block as a whole; and any group of a heap that is large enough for a huge page to
//      be a small part of it, while few of its slices are sparse: in slabs that have blocks nobody was given yet, or
//      blocks larger than a page, of which programs often use a part. What huge pages bring in unasked is bounded by
//      that share and a group.
// HP3. A group loses its huge page only where nothing else is left to be purged, or where one is no longer wanted.
// HP4. Each border between groups of which the kernel was told different things is a border of its mappings, of which a
//      process may have vm.max_map_count. Where there are many, groups stay as they are, and where
//      there are twice as many also those that are purged in part.
#ifndef REGION_HUGE_H
#define REGION_HUGE_H

#include "base/atomics.h"
#include "base/tuning.h"

// Slices handed out of which a part was never touched, as far as their users know.
SHARED size_t huge_sparse_slices;

// Neighbouring groups whose advice changes.
struct huge_change {
    size_t first; // group
    size_t groups;
    bool wanted;
};

enum huge_place {
    HUGE_IN_HEAP,  // a group that is not huge
    HUGE_ALREADY,  // one that is
    HUGE_IN_BLOCK, // one that a single block will hold as a whole
};
INTERNAL bool huge_is_wanted(enum huge_place place, size_t in_use_slices);
// Tells the kernel. Outside of locks; before the change's memory is touched.
INTERNAL void huge_tell(const struct huge_change *change);
// Tells the kernel of a block with a mapping of its own, which keeps that when it is moved or grows.
INTERNAL void huge_tell_block(void *block, size_t bytes);

#endif
