// Depots: each class's slabs that have free blocks and no lessee.
//
// D1. A slab is in a depot exactly while its state is LISTED; both change together under the depot's lock.
// D2. Slabs of held classes wait in their holder's list while its thread lives, else, like all slabs of the other
//     classes, in the common list. A holder with listed slabs is in the depot's list of holders.
#ifndef SLAB_DEPOT_H
#define SLAB_DEPOT_H

#include "slab/slab.h"
#include "sys/lock.h"

struct depot {
    struct lock lock;
    uint32_t slabs;      // listed ones
    struct list listed;  // oldest first
    struct list holders; // D2, by their depot_link
    size_t idle_bytes;   // I3
    size_t freed_bytes;  // since slab/sparse.c last looked
} __attribute__((aligned(CACHE_LINE_BYTES)));

SHARED struct depot depots[CLASS_END];

INTERNAL void depot_start(void);
INTERNAL void depot_holder_start(struct holder *holder, unsigned tag);

// LISTED → LEASED: a slab for `holder`, the fullest of some that have `want` blocks; NULL: none listed.
INTERNAL struct slab *depot_lease(unsigned class_index, struct holder *holder, unsigned want);
// LISTED → LEASED for the first that is wanted of the next *left slabs of the common list, the oldest first; those
// passed over go behind the others, and *left says how many still wait to be looked at. NULL: none was wanted.
INTERNAL struct slab *depot_lease_wanted(unsigned class_index, bool (*wanted)(struct slab *slab, void *context),
                                         void *context, unsigned *left);
// LEASED → LISTED, or given back where wholly free (S5). By the lessee.
INTERNAL void depot_unlease(struct slab *slab);
// FULL → LISTED, or given back where wholly free; nothing where the slab's state is not `word` any more (S3).
INTERNAL void depot_list_full(struct slab *slab, uint64_t word);
// LISTED → given back where it still is `word` and wholly free.
INTERNAL void depot_reclaim(struct slab *slab, uint64_t word, unsigned class_index);
// What slab/sparse.h knows to be idle of a class (I3), under the depot's lock; and of all classes.
INTERNAL void depot_set_idle(struct depot *depot, size_t bytes);
INTERNAL size_t depots_idle_bytes(void);
// In a fork child: nobody ends what a thread was changing.
INTERNAL void depots_forget_changes(void);
// The holder's thread has gone (or a new one has come): its listed slabs are everybody's.
INTERNAL void depot_holder_ended(struct holder *holder);
INTERNAL void depot_holder_revived(struct holder *holder);

#endif
