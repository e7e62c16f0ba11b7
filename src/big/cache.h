// BigCache: blocks with mappings of their own that were freed, kept for whoever asks for the like next.
//
// What is asked for again is mostly asked for at the same place of the program: a block is looked for first among those
// of the call site, then among all of its class.
//
// Q1. A cached block has no entry in the table of mappings: for the program it does not exist (B1).
// Q2. Resident ones count as retained: what is above the bound (N1) is released. What a site asks for again after its
//     blocks were released counts as refaulted (N2): so a first burst goes back, and a loop over blocks larger than the
//     bound soon keeps them.
// Q3. A block has at least its class's bytes, so each fits each request of the class. Where none of the class is
//     resident, one of a class near it is handed out. One that is smaller has to grow; one that is much larger, by
//     CACHE_NEAR_CLASSES, or CACHE_FAR_CLASSES if its site asks again and again, has to shrink. The taker does both.
// Q4. Of blocks below what fifo_least says those of the site used least go first, among the oldest; of larger ones the
//     oldest: a few of them are the bound, and looking for a better one would cost more than it gives.
// Q5. Release (option release) unmaps a block, or purges it and keeps some such for their addresses: their pages read
//     as zero, and they count as nothing.
// Q6. Where the heap holds more free memory than there is here, that goes first: else who takes blocks from here again
//     and again would pay for what nobody touches any more.
#ifndef BIG_CACHE_H
#define BIG_CACHE_H

#include "big/mapping.h"
#include "big/sites.h"

SHARED struct lock cache_lock;

#define CACHE_NO_CLASS 255u

// Class of a request: eight to a doubling from BIG_LEAST_BYTES up; CACHE_NO_CLASS above the largest.
INTERNAL unsigned cache_class_of(size_t bytes);
INTERNAL size_t cache_class_bytes(unsigned class_index);

// A block for a request of the class, out of the cache; false: there is none. *zeroed: it reads as zero. *fits: it need
// not be resized (Q3).
INTERNAL bool cache_take(unsigned class_index, uintptr_t site, struct mapping *found, bool *zeroed, bool *fits);
// A mapping of so many bytes is about to be made: as much goes, as N3 says.
INTERNAL void cache_make_room(size_t bytes);
// Keeps a block that has left the table of mappings, and releases what is too much then; or releases it.
INTERNAL void cache_put(const struct mapping *mapping);
// Releases what is above the bound.
INTERNAL void cache_settle(void);
// Releases until no more than so many resident bytes are left, and all that is not resident; true if there was any.
INTERNAL bool cache_trim(size_t keep_bytes);
// In a fork child where another thread was changing it: what was cached is lost.
INTERNAL void cache_forget_changes(void);

struct cache_totals {
    uint64_t hits;           // requests that were served without new memory
    uint64_t misses;         // and others
    uint64_t evictions;      // blocks released
    uint64_t reused_bytes;   // in hits
    uint64_t released_bytes; // in evictions
    size_t bytes;            // resident, cached now
    size_t blocks;
    size_t clean_bytes; // not resident, kept for their addresses
    size_t clean_blocks;
};
INTERNAL struct cache_totals cache_count(void);
// The sites that asked most often, the first of them first: copies. Returns how many.
INTERNAL unsigned cache_list_sites(struct site *sites, unsigned most);

#endif
