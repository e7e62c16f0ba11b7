// Groups that get their huge page late.
#include "region/collapse.h"

#include "region/density.h"
#include "region/groups.h"
#include "region/huge.h"
#include "region/retain.h"
#include "region/runs.h"
#include "sys/os.h"

static void to_huge(struct group *group, uint32_t mask) {
    (void)mask;
    groups_make_huge(group);
}

// Marks the group as huge, and tells the kernel. False: it is not what it was taken for, or must not.
static bool advise(size_t number, enum huge_place place) {
    struct huge_change change = {number, 0, true};
    lock_acquire(&runs_lock);
    struct group *group = &groups[number];
    bool is_meant = place == HUGE_TOUCHED ? group_has_no_clean(group) : group->free == 0;
    if (is_meant && !group->is_huge && !runs_are_purged() && group_borders < HUGE_MOST_BORDERS &&
        huge_is_wanted(place, retain.in_use_slices)) {
        groups_visit(number * GROUP_SLICES, GROUP_SLICES, to_huge); // what is free in it is no longer purged easily
        change.groups = 1;
    }
    lock_release(&runs_lock);
    huge_tell(&change);
    return change.groups > 0;
}

// It may have been purged in part before the kernel was told.
static void take_back_if_plain(size_t number) {
    struct huge_change change = {number, 1, false};
    lock_acquire(&runs_lock);
    bool is_huge = groups[number].is_huge;
    lock_release(&runs_lock);
    if (!is_huge)
        huge_tell(&change);
}

void collapse_by_kernel(size_t number) {
    if (advise(number, HUGE_IN_HEAP))
        take_back_if_plain(number);
}

// Of a few that lend themselves to it.
static size_t next_touched(void) {
    for (unsigned i = 0; i < COLLAPSE_CANDIDATES; i++) {
        lock_acquire(&runs_lock);
        size_t number = huge_looks_at_density() ? density_next_large() : NO_GROUP;
        lock_release(&runs_lock);
        if (number == NO_GROUP || density_is_touched(number))
            return number;
    }
    return NO_GROUP;
}

// Whether the group behind those that are about to be collapsed goes with them: it is huge already, or becomes so now.
static bool joins(size_t number, unsigned *count) {
    lock_acquire(&runs_lock);
    bool is_there = number < group_count && group_has_no_clean(&groups[number]);
    bool is_huge = is_there && groups[number].is_huge, is_large = is_there && !is_huge && density_is_large(number);
    lock_release(&runs_lock);
    if (!is_huge && !(is_large && density_is_touched(number) && advise(number, HUGE_TOUCHED)))
        return false;
    *count += !is_huge;
    return true;
}

// Neighbours in one call: before it collapses anything the kernel drains the caches of all processors, which takes up
// to ten times as long as a group.
unsigned collapse_next(unsigned most) {
    size_t first = next_touched(), end = first + 1;
    unsigned count = 1;
    if (first == NO_GROUP || !advise(first, HUGE_TOUCHED))
        return 0;
    while (count < most && end - first < COLLAPSE_MOST_SPAN && joins(end, &count))
        end++;
    bool collapsed = os_collapse(window_address(first * GROUP_SLICES), (end - first) * GROUP_BYTES);
    for (size_t number = first; number < end; number++)
        take_back_if_plain(number);
    return collapsed ? count : 0;
}
