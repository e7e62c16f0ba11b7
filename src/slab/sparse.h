// Sparse slabs: where much of a class lies idle in slabs that can't end, since a few of their blocks are still out, the
// pages between go back to the system. When it pays is docs/decisions/0013.
//
// I1. Idle are the whole pages of a LISTED slab under blocks that were handed out once and are back.
// I2. A lessee purges them, so nobody gets their blocks meanwhile (S2).
// I3. depots[c].idle_bytes is what was idle and not purged at the last look at the class, and what was freed since, but
//     for slabs leased since: hardly less than what is idle, and much more where slabs ended since. The sum of all,
//     but no more than is in use, with what is retained (N1), is kept within the same bound: where it is more, a look
//     counts again, and purges what is too much.
// I4. A look costs a part of the frees since the last one: each class counts what was freed.
#ifndef SLAB_SPARSE_H
#define SLAB_SPARSE_H

#include "slab/depot.h"

// What a slab must be for its idle pages to be purged. One that is mostly idle already may end soon, and then goes back
// by fewer calls; but not all do.
enum sparse_least {
    SPARSE_MOSTLY_IDLE,
    SPARSE_SOME_IDLE,
};

// To be called where a batch of blocks of a class went into slabs. True where so much was freed since the last look
// that another one is due.
INTERNAL bool sparse_is_due(unsigned class_index, unsigned freed_blocks);
// Looks at the class's listed slabs, and purges idle pages where there is more than the bound.
INTERNAL void sparse_look(unsigned class_index, enum sparse_least least);
// Purges the idle pages of so many slabs of a class whose blocks are larger than held ones, or of all slabs of all
// such; true if there were any.
INTERNAL bool sparse_trim_class(unsigned class_index, unsigned slabs);
INTERNAL bool sparse_trim(void);

#endif
