// Runs: neighbouring slices of the window, handed out and taken back; purged when too much of them lies idle.
//
// R1. A slice is in use, free, or on its way to be purged (neither). `free` says free; `clean`, of a free slice, says
//     that it was never touched or has been purged: it reads as zero and occupies no memory (with purge=lazily it may
//     still have its content, until the kernel needs the memory). A free slice of a huge page that others use is not
//     clean.
// R2. Retained = free and not clean. How much of it may stay, and what makes it go: region/retain.h.
// R3. The lowest group that has room serves first, so that a small heap sits in one huge page and high groups drain;
//     purging starts at the highest.
// R4. Pages of slices in use go back one by one where who has the slices does not need them (slab/sparse.h): they count
//     as purged, and what of them is needed again as refaulted. Their group is no longer huge (HP3).
// R5. Blocks with mappings of their own (big/) count too: as in use, and as retained while they are cached. Each part
//     keeps the bound when it gets something back; where runs find that others have too much, they say so.
#ifndef REGION_RUNS_H
#define REGION_RUNS_H

#include "policy/rises.h"
#include "region/groups.h"
#include "region/retain.h"
#include "region/window.h"
#include "sys/lock.h"

SHARED struct lock runs_lock;
SHARED struct lock runs_grow_lock;

struct runs_totals {
    size_t in_use_slices;
    size_t free_slices;       // retained ones included
    size_t retained_slices;   // free and possibly resident
    size_t allowance_slices;  // N2
    uint64_t purged_bytes;    // so far
    uint64_t refaulted_bytes; // of those, taken again so far
    uint64_t purges;          // system calls so far
    uint64_t reused_bytes;    // retained ones taken so far
};

// What there was since a watcher asked last, big blocks included.
struct runs_extremes {
    size_t lowest_retained_bytes;
    size_t highest_retained_bytes;
    struct rises_seen in_use;
};

// Takes `slices` neighbouring slices whose first is a multiple of `align` slices (a power of two). Returns the first,
// NO_SLICE where there is no memory. *zeroed: all of it reads as zero. Words and info are the caller's to set.
INTERNAL size_t runs_take(size_t slices, size_t align, bool *zeroed);
// The same of exactly these slices; false where they are not free.
INTERNAL bool runs_take_at(size_t first, size_t slices, bool *zeroed);
// Gives slices back of which so much was purged inside (runs_purge_inside) and not needed since. Their words are 0
// already.
INTERNAL void runs_give_purged(size_t first, size_t slices, size_t purged_bytes);
ALWAYS_INLINE void runs_give(size_t first, size_t slices) {
    runs_give_purged(first, slices, 0);
}
// Purges retained slices until at most `keep_bytes` are left; true if something was given back.
INTERNAL bool runs_purge(size_t keep_bytes);
// Bytes by which what is retained, and `idle_bytes` more in slices in use, at most all of these, exceed the bound.
INTERNAL size_t runs_surplus_bytes(size_t idle_bytes);
// N3. Bytes of cached big blocks that are owed for growth; runs_outside_is_over says so no more until more are.
INTERNAL size_t runs_owed_bytes(void);
// N3 and N4, for memory outside of the window: how much of what is retained is to go when so many bytes are taken anew.
INTERNAL size_t runs_growth_surplus_bytes(size_t bytes);
// R5. So much more is in use outside of the window; false: it would be above the hard limit, and nothing has changed.
INTERNAL bool runs_try_outside(size_t bytes);
// By how much what is in use and what is idle there changes.
INTERNAL void runs_note_outside(ptrdiff_t in_use_bytes, ptrdiff_t idle_bytes);
// More is idle outside of the window than the bound leaves: a hint.
INTERNAL bool runs_outside_is_over(void);
INTERNAL struct runs_extremes runs_take_extremes(enum retain_watcher watcher);
// What is handed out: a hint.
INTERNAL size_t runs_in_use_bytes(void);
// What is handed out, retained or cached, big blocks included: a hint.
INTERNAL size_t runs_held_bytes(void);
// Gives whole pages inside of slices in use back (R4); false: the kernel would not.
INTERNAL bool runs_purge_inside(void *start, size_t bytes);
// So much of them may be needed again.
INTERNAL void runs_note_refaulted(size_t bytes);
// Waits until a purge under way in another thread has ended, PURGE_PATIENCE_MS at most; false: there is none.
INTERNAL bool runs_wait_for_purge(void);
// In a fork child: purges that were under way in other threads never end. Their slices are lost.
INTERNAL void runs_forget_purges(void);
// Slices are on their way to be purged. With runs_lock held.
INTERNAL bool runs_are_purged(void);
INTERNAL struct runs_totals runs_count(void);
// See groups_count_plain. Looks at every group.
INTERNAL struct groups_plain runs_count_plain(void);
// In groups for which huge pages are asked and that are used in part at least. Looks at every group.
INTERNAL size_t runs_huge_bytes(void);
INTERNAL bool runs_start(void);

#endif
