// Call sites that ask for big blocks, each with the class of what it asks for.
//
// A site is a return address; it is found by FNV-1a's hash (Fowler, Noll, Vo) in a table that grows. Where the table
// may not grow any more, a site that is used little gives its place to a new one.
//
// All under the lock of whoever keeps the blocks (big/cache.h).
#ifndef BIG_SITES_H
#define BIG_SITES_H

#include "base/list.h"

struct site {
    uintptr_t address;    // of the call, 0: not known
    uint8_t class_index;  // of cache_class_of
    uint16_t uses;        // saturating, halved as time goes by
    uint32_t blocks;      // cached ones
    uint32_t hits;        // requests that a cached block served
    uint32_t misses;      // and others
    uint32_t evictions;   // of its blocks
    size_t evicted_bytes; // and what of them was not asked for since
    struct list cached;   // its blocks, the newest first
};

// NULL: not known.
INTERNAL struct site *sites_find(uintptr_t address, unsigned class_index);
// The same, made where it is not known; NULL: no memory, or no place for it.
INTERNAL struct site *sites_make(uintptr_t address, unsigned class_index);
INTERNAL void sites_note_use(struct site *site);
// One step of halving: whoever calls it at each block that comes in has halved all of them every SITES_HALVING_TURNS
// rounds over the table.
INTERNAL void sites_age(void);
// For each site that is known.
INTERNAL void sites_visit(void (*visit)(const struct site *site, void *context), void *context);
// Forgets all, as in a fork child whose parent was changing them.
INTERNAL void sites_forget(void);

#endif
