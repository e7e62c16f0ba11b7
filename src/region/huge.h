// Huge pages: which groups the kernel is asked to back with one (option huge_pages).
//
// HP1. A group is advised while none of its pages is resident: when it is new, or when its first slice is taken. So one
//      page fault brings all of it in. From that slice on all of it counts as resident (R1). Or nearly
//      all of it is resident already (V3, V5).
// HP2. auto: a group that lies in one block as a whole; and any group of a heap that is large enough for a huge page to
//      be a small part of it, while nearly all of its pages are touched (region/density.h). What huge pages bring in
//      unasked is bounded by that share and a group. Where the kernel gives them to all who don't refuse, other groups
//      refuse from the start.
// HP3. A group loses its huge page only where nothing else is left to be purged, or where one is no longer wanted.
// HP4. Each border between groups of which the kernel was told different things is a border of its mappings, of which a
//      process may have vm.max_map_count. Where there are many, groups stay as they are, and where there are twice as
//      many also those that are purged in part.
#ifndef REGION_HUGE_H
#define REGION_HUGE_H

#include "base/atomics.h"
#include "base/tuning.h"

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
    HUGE_TOUCHED,  // one of large blocks, nearly all of it resident
};
// Looks at the system's setting, which stays as it is then.
INTERNAL void huge_start(void);
INTERNAL bool huge_is_wanted(enum huge_place place, size_t in_use_slices);
// Whether it depends on how dense the heap is.
INTERNAL bool huge_looks_at_density(void);
// What is not wanted has to be refused.
INTERNAL bool huge_is_everywhere(void);
// Tells the kernel. Outside of locks; before the change's memory is touched.
INTERNAL void huge_tell(const struct huge_change *change);
// Tells the kernel of a block with a mapping of its own, which keeps that when it is moved or grows.
INTERNAL void huge_tell_block(void *block, size_t bytes);

#endif
