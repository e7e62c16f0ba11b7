// Density: how much of what is handed out its users touch. Nothing that an allocator is told says so; the kernel knows
// which pages are resident.
//
// V1. Groups without huge pages tell, a while after they were opened (their first slice was taken): how many of the
//     pages of slices in use are resident. The newest four of those count; younger ones have slabs with blocks that
//     nobody was given yet.
// V2. So that there are some also where all others get huge pages, some that would get one are opened without: the
// first
//     of them soon, where a policy file says that the heap was dense in an earlier run.
// V3. With each look goes one at a group that is full and has no huge page: one that was opened when the heap was
//     small, or as V2 says, or that was split. Where nearly all of it is touched, it may get one after all: the kernel
//     collapses it when it finds time.
// V4. Looks are due by groups opened. There are none where the process has confined itself: then nothing is known, and
//     what is not known is not dense.
// V5. What the learner collapses is of large blocks, whose pages are written one after the other, each in an entry of
//     the translation caches of its own; and all of it is resident, whether in use or free. Small blocks gain nothing
//     by it (decision 40).
#ifndef REGION_DENSITY_H
#define REGION_DENSITY_H

#include "base/compiler.h"
#include "base/tuning.h"

#define NO_GROUP SIZE_MAX

// What a look looks at.
struct density_look {
    size_t old_group; // V3; NO_GROUP: none
    unsigned count;
    struct {
        size_t group;
        uint32_t used; // slices in use, a bit each
    } at[DENSITY_LOOK_GROUPS];
};

// Whether any look has told how dense the heap is: a hint, as the next one.
INTERNAL bool density_is_known(void);
// At most this part (1/N) of what is in use is not touched, as far as known: a hint.
INTERNAL bool density_is_above(unsigned share);
// V2. The next group ought to be a control. With runs_lock held, as the next three.
INTERNAL bool density_wants_control(size_t in_use_slices);
// A group was opened: with a huge page, or without.
INTERNAL void density_note_huge(void);
INTERNAL void density_note_plain(size_t group);
// V4. Says what to look at; false: no look is due.
INTERNAL bool density_begin_look(struct density_look *look, size_t in_use_slices);
// Looks, and keeps what was seen. Returns the group that may get a huge page after all, or NO_GROUP. Without the lock.
INTERNAL size_t density_finish_look(const struct density_look *look);
// V5: the next group that is meant and has no huge page, but for the newest control; NO_GROUP: none was found. With the
// lock held.
INTERNAL size_t density_next_large(void);
// V5: whether a group is meant. With the lock held.
INTERNAL bool density_is_large(size_t group);
// Nearly all of it is touched. Without the lock.
INTERNAL bool density_is_touched(size_t group);

#endif
