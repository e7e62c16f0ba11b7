// Groups of slices: what of each is free, and an index that finds the lowest run of a length, or the highest that can
// be purged. All of it under runs_lock; what the bits mean is in region/runs.h.
#ifndef REGION_GROUPS_H
#define REGION_GROUPS_H

#include "base/bits.h"
#include "region/window.h"

struct group {
    uint32_t free;   // R1, a bit a slice
    uint32_t clean;  // subset of free, and of what is being purged
    uint32_t marked; // subset of free: a clean one was resident before; another one reads as zero nonetheless (HP1)
    uint32_t cold;   // subset of what is free and not clean: nobody took it since groups_mark_cold
    uint8_t longest; // longest free run that begins in it, up to a group's length
    bool is_huge;    // HP1
    bool is_refused; // the kernel was told that it is not to be
    uint8_t head;    // length of the free run that it begins with
};
#define GROUP_WHOLE UINT32_MAX
_Static_assert(GROUP_SLICES == 32, "a bit a slice");
_Static_assert(sizeof(struct group) <= WINDOW_GROUP_RECORD_BYTES, "group records must fit their table");

SHARED struct group *groups;
SHARED size_t group_count;   // those that exist so far
SHARED size_t group_borders; // between groups of which the kernel was told different things: it makes a mapping of each

ALWAYS_INLINE uint32_t group_mask(unsigned start, unsigned length) {
    return (uint32_t)(bits_low_mask(length) << start);
}

// Something of it is in use and nothing is clean: so all of it may be resident, but for what nobody has touched yet.
ALWAYS_INLINE bool group_has_no_clean(const struct group *group) {
    return group->free != GROUP_WHOLE && (group->free & group->clean) == 0;
}

// What can be purged of a group: free slices that are not clean. Easily: no huge page has to be split for it.
enum purgeable {
    PURGEABLE,
    PURGEABLE_EASILY,
};

INTERNAL void groups_start(void);
// Applies `change` to each group that [first, first + slices) touches, and brings the index in line.
INTERNAL void groups_visit(size_t first, size_t slices, void (*change)(struct group *group, uint32_t mask));
// Start of the lowest free run of that length that begins at a multiple of `align`; NO_SLICE: there is none. A run
// shorter than RUN_ACROSS_SLICES lies in one group.
INTERNAL size_t groups_find(size_t slices, size_t align);
INTERNAL bool groups_are_free(size_t first, size_t slices);
// All of a free run reads as zero (R1).
INTERNAL bool groups_are_zero(size_t first, size_t slices);
// Changes whether a group is huge.
INTERNAL void groups_make_huge(struct group *group);
INTERNAL void groups_make_plain(struct group *group);
INTERNAL void groups_refuse_huge(struct group *group);
// The highest group of which something can be purged; NO_SLICE: there is none.
INTERNAL size_t groups_find_purgeable(enum purgeable how);
// Of the groups that are not huge and of which something is in use: slices that are, and those that nobody touched,
// which would be resident if the groups were huge.
struct groups_plain {
    size_t in_use_slices;
    size_t clean_slices;
};
INTERNAL struct groups_plain groups_count_plain(void);
// Marks all slices that are retained as cold; returns how many of those that were marked before still were.
INTERNAL size_t groups_mark_cold(void);

#endif
