// Which call sites ask for blocks that a site rule may concern, seen in their cold paths while site rules are learned.
//
// The table is small: a site has a few places where it may stand, and one that finds all of them taken is not seen
// until callers_fade has freed one. A site that two threads bring at once may stand there twice, each with a part of
// its bytes; and bytes that come while a place is freed may count for the next site there. Both only make a site look
// less or more busy than it is.
#ifndef SAMPLE_CALLERS_H
#define SAMPLE_CALLERS_H

#include "base/atomics.h"
#include "base/tuning.h"

// Ranges of sizes that rules tell apart: each begins at a threshold a rule may have.
#define CALLERS_RANGES 3
SHARED const size_t callers_range_bytes[CALLERS_RANGES];

struct caller {
    uintptr_t site;  // 0: nobody
    uint64_t bytes;  // asked for
    uint32_t ranges; // bit i: blocks of range i were asked for
};

// The call returning to `site` asked for a block of so many bytes. What the slab classes serve is not noted: threads
// have some of it from their stacks, where nobody counts, and what is seen of a site is taken for the work it does.
// Nor is what is a mapping whatever a rule says.
INTERNAL void callers_note(uintptr_t site, size_t bytes);
// The busiest ones, the first of them first: copies. Returns how many.
INTERNAL unsigned callers_list(struct caller *list, unsigned most);
// Bytes that a site has asked for so far; 0: it is not known.
INTERNAL uint64_t callers_bytes(uintptr_t site);
// Takes half of all bytes away, and the places of those that have hardly any.
INTERNAL void callers_fade(void);

#endif
