// How much free memory may stay resident.
//
// N1. What is retained (free and possibly resident, in slices and in cached big blocks together) is at most the bound:
//     options retain_min and retain_share, plus the refault allowance; or what free_policy says.
// N2. The refault allowance starts at 0 or what a decision (allowance_first) says, grows by what had to be faulted in
//     again after a purge, and fades with traffic to what of the retained slices is taken now and then: a first burst
//     goes back at once, and a loop that frees and takes the same memory soon stops paying. Slices that nobody took
//     while many times the allowance went by are cold (groups_mark_cold). Where much comes back after fading, it comes
//     again after more traffic. A decision (allowance_least) may say what it counts as at least, up to what the program
//     had in all.
// N3. Growth pays with what is retained: where clean slices are taken although others are retained (they don't fit, or
//     lie in a higher group), as much of those is purged, down to the allowance (what it earned: what it began with is
//     not for a new height). So a program in a new phase, or an array that doubles, does not stand beside what it left
//     behind. For what slices don't pay cached big blocks go: each once half of it is owed. So do large blocks in deep
//     stacks (heap_pay_for_growth).
// N4. In use and retained together stay below the limits (options limit_hard, limit_soft; a control group's; a
//     decision, held_most): what is retained goes first. Above the hard one nothing is handed out. While there is such
//     a decision, what is taken again earns no allowance.
//
// All of it is called with runs_lock held, and only computes.
#ifndef REGION_RETAIN_H
#define REGION_RETAIN_H

#include "base/compiler.h"

// Who asks what there was since the last time it asked: who gives back what lies idle, each by its own time, and who
// looks at what is in use.
enum retain_watcher {
    RETAIN_HELPER,
    RETAIN_LEARNER,
    RETAIN_LOOKS,
    RETAIN_WATCHERS,
};

// Since then.
struct retain_extremes {
    size_t lowest_retained_slices;
    size_t highest_retained_slices;
    size_t lowest_in_use_slices; // of what is in use, outside of the window too, as the next
    size_t highest_in_use_slices;
    size_t in_use_slices; // now
};

struct retain {
    size_t in_use_slices;
    size_t retained_slices;
    size_t allowance_slices; // N2
    struct {
        size_t in_use_bytes;
        size_t idle_bytes;
        size_t owed_bytes; // of them, to go for growth; retain_owed_bytes says how much of it still counts
    } outside;             // of the window: big blocks
    size_t held_slices;    // all of it together, in full slices
};
SHARED struct retain retain;

// Both of slices and outside.
INTERNAL size_t retain_all_slices(void);
// To be called when anything of `retain` has changed.
INTERNAL void retain_note_change(void);
// N3. So many clean slices were taken.
INTERNAL void retain_note_growth(size_t slices);
// What there was since this watcher's last call.
INTERNAL struct retain_extremes retain_take_extremes(enum retain_watcher watcher);
// N2. So much that was purged was taken again.
INTERNAL void retain_note_refault(size_t bytes);
// N2. So many bytes of slices that are given back were purged inside (runs_purge_inside).
INTERNAL void retain_note_purged_inside(size_t bytes);
// So many retained slices are about to be taken, or purged. How much of them was purged inside, by their share of all.
INTERNAL size_t retain_take_purged_inside(size_t slices);
// N2. So many slices were given back, or as many bytes cached. True: it is time to fade the allowance.
INTERNAL bool retain_note_given(size_t slices);
// So many slices of the window were retained ever since the allowance last faded.
INTERNAL void retain_fade(size_t cold_slices);
// N1. Bytes that may be retained now.
INTERNAL size_t retain_bound_bytes(void);
// N1. By how much what is retained, and so much more that lies idle in slices in use, exceeds that.
INTERNAL size_t retain_surplus_bytes(size_t idle_bytes);
// Where a purge that begins above a bound ends.
INTERNAL size_t retain_target_bytes(size_t bound);
// N4. Slices that may be retained beside what is in use.
INTERNAL size_t retain_limit_slices(void);
INTERNAL bool retain_is_above_hard_limit(size_t more_slices);
// N3. Slices that may stay retained after growth was noted: the limit, where it is too little to pay for. `owes`:
// slices did not pay for all of it, and cached big blocks are to.
INTERNAL size_t retain_growth_keeps(bool *owes);
// N3. What of the cached big blocks is owed for growth that slices did not pay for.
INTERNAL size_t retain_owed_bytes(void);
// So much of them was taken or released.
INTERNAL void retain_note_less_idle(size_t bytes);
// N3 and N4, for memory outside of the window: how much of what is retained is to go when so many bytes are taken anew.
INTERNAL size_t retain_surplus_of_growth(size_t bytes);

#endif
