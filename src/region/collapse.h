// Collapsing: huge pages for groups that are touched already.
//
// What was opened while the heap was small, as a control (V2), or what served a sparse heap before has small pages, and
// keeps them. Once nearly all of a group is resident (V3, V5), a huge page costs no memory, and each access to it fewer
// misses of the translation caches. The kernel's own thread collapses what is advised when it finds time: 8 MiB a
// second at best. At once takes a third of a millisecond a group, and some to begin with, which has a budget
// (learn/collapsing.h).
#ifndef REGION_COLLAPSE_H
#define REGION_COLLAPSE_H

#include "base/compiler.h"

// The kernel may collapse the group when it finds time, if it is still full and the heap dense.
INTERNAL void collapse_by_kernel(size_t number);
// Collapses groups now: the next that lends itself to it, and up to `most` in all of its neighbours. Returns how many;
// 0: none was found, or the kernel would not have them all. Looks at a few groups only: the next call goes on behind
// them.
INTERNAL unsigned collapse_next(unsigned most);

#endif
