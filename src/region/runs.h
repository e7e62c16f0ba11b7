// Runs: neighbouring slices of the window, handed out and taken back; purged when too much of them lies idle.
//
// R1. A slice is in use, free, or on its way to be purged (neither). `free` says free; `clean`, of a free slice, says
//     that it was never touched or has been purged: it reads as zero and occupies no memory. A free slice of a huge
//     page that others use is not clean.
// R2. Retained = free and not clean. After runs_give it is at most the bound (options retain_min, retain_share) and the
//     refault allowance, but for what others are purging at that moment.
// R3. The lowest group that has room serves first, so that a small heap sits in one huge page and high groups drain;
//     purging starts at the highest.
// R4. The refault allowance starts at 0, grows by what had to be faulted in again after a purge, and fades with traffic
//     as far as what is retained is never taken: a first burst goes back at once, and a loop that frees and takes the
//     same memory soon stops paying.
// R5. Growth pays with what is retained: where clean slices are taken although others are retained (they don't fit, or
//     lie in a higher group), as much of those is purged, down to the allowance. So a program in a new phase, or an
//     array that doubles, does not stand beside what it left behind.
// R6. Pages of slices in use go back one by one where who has the slices does not need them (slab/sparse.h): they count
//     as purged, and what of them is needed again as refaulted. Their group is no longer huge (HP3).
// R7. Blocks with mappings of their own (big/) count too: as in use, and as retained while they are cached. Each part
//     keeps the bound when it gets something back; where runs find that others have too much, they say so.
// R8. In use and retained together stay below the limits (options limit_hard, limit_soft; a control group's): what is
//     retained goes first. Above the hard one nothing is handed out.
#ifndef REGION_RUNS_H
#define REGION_RUNS_H

#include "region/window.h"
#include "sys/lock.h"

SHARED struct lock runs_lock;
SHARED struct lock runs_grow_lock;

struct runs_totals {
    size_t in_use_slices;
    size_t free_slices;       // retained ones included
    size_t retained_slices;   // free and possibly resident
    size_t allowance_slices;  // R4
    uint64_t purged_bytes;    // so far
    uint64_t refaulted_bytes; // of those, taken again so far
    uint64_t purges;          // system calls so far
};

// Takes `slices` neighbouring slices whose first is a multiple of `align` slices (a power of two). Returns the first,
// NO_SLICE where there is no memory. *zeroed: all of it reads as zero. Words and info are the caller's to set.
INTERNAL size_t runs_take(size_t slices, size_t align, bool *zeroed);
// Gives slices back; their words are 0 already.
INTERNAL void runs_give(size_t first, size_t slices);
// Takes the free slices right behind a run; false where they are not free.
INTERNAL bool runs_take_behind(size_t end, size_t slices);
// Purges retained slices until at most `keep_bytes` are left; true if something was given back.
INTERNAL bool runs_purge(size_t keep_bytes);
// Bytes by which what is retained, and `idle_bytes` more in slices in use, exceed the bound.
INTERNAL size_t runs_surplus_bytes(size_t idle_bytes);
// R5, for memory outside of the window: of what is retained, how much is to go when so many bytes are taken anew.
INTERNAL size_t runs_growth_surplus_bytes(size_t bytes);
// R7. So much more is in use outside of the window; false: it would be above the hard limit, and nothing has changed.
INTERNAL bool runs_try_outside(size_t bytes);
// By how much what is in use and what is idle there changes.
INTERNAL void runs_note_outside(ptrdiff_t in_use_bytes, ptrdiff_t idle_bytes);
// More is idle outside of the window than the bound leaves: a hint.
INTERNAL bool runs_outside_is_over(void);
// What is handed out: a hint.
INTERNAL size_t runs_in_use_bytes(void);
// Gives whole pages inside of slices in use back (R6); false: the kernel would not.
INTERNAL bool runs_purge_inside(void *start, size_t bytes);
// So much of them may be needed again.
INTERNAL void runs_note_refaulted(size_t bytes);
// In a fork child: purges that were under way in other threads never end. Their slices are lost.
INTERNAL void runs_forget_purges(void);
INTERNAL struct runs_totals runs_count(void);
INTERNAL bool runs_start(void);

#endif
