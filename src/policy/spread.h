// From which size on blocks above the slab classes had better have mappings of their own, by how their sizes are
// spread.
//
// The cache of big blocks serves a request with any block of up to twice its bytes, or half of them, if its call site
// is one of those used lately (decision 15). So where all sizes lie within a doubling and come from a few calls, each
// freed block serves each request, and none breaks up or needs neighbours as runs do: mappings are faster and leaner.
// Where sizes are spread over more, or calls are many, requests find none.
#ifndef POLICY_SPREAD_H
#define POLICY_SPREAD_H

#include "base/bits.h"
#include "base/compiler.h"
#include "base/tuning.h"

#define SPREAD_DOUBLING 8 // ranges of sizes to a doubling, from SPREAD_LEAST_BYTES up to BIG_THRESHOLD_MAX_BYTES
#define SPREAD_LEAST_BYTES MIB
#define SPREAD_RANGES 40
_Static_assert(SPREAD_LEAST_BYTES << SPREAD_RANGES / SPREAD_DOUBLING == BIG_THRESHOLD_MAX_BYTES,
               "all sizes in between");
// In fewer requests too little is seen.
#define SPREAD_LEAST_REQUESTS 256
// The part (1/N) of requests that may lie elsewhere, at each end.
#define SPREAD_STRAY_SHARE 128
// Call sites; each is a bit of 64, which two may share.
#define SPREAD_MOST_SITES 8

struct spread_seen {
    uint64_t requests[SPREAD_RANGES]; // by size
    uint64_t sites;                   // a bit for each that asked
};

// The range of a request of SPREAD_LEAST_BYTES or more and less than BIG_THRESHOLD_MAX_BYTES.
ALWAYS_INLINE unsigned spread_range(size_t bytes) {
    unsigned doubling = bits_highest(bytes);
    unsigned range = (doubling - bits_highest(SPREAD_LEAST_BYTES)) * SPREAD_DOUBLING;
    return range + (unsigned)(bytes >> (doubling - 3) & (SPREAD_DOUBLING - 1));
}

ALWAYS_INLINE uint64_t spread_site(uintptr_t site) {
    return (uint64_t)1 << (site * UINT64_C(0x9E3779B97F4A7C15) >> 58);
}

// Bytes that were asked for: at least, and less than an eighth more.
INTERNAL uint64_t spread_bytes(const struct spread_seen *seen);
// False: too little was seen. *threshold: the size; 0: runs serve these blocks better.
INTERNAL bool spread_choose(const struct spread_seen *seen, size_t *threshold);

#endif
