// How the sizes of big blocks are spread.
#include "policy/spread.h"

static size_t range_least_bytes(unsigned range) {
    size_t least = (size_t)SPREAD_LEAST_BYTES << range / SPREAD_DOUBLING;
    return least + least / SPREAD_DOUBLING * (range % SPREAD_DOUBLING);
}

uint64_t spread_bytes(const struct spread_seen *seen) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < SPREAD_RANGES; i++)
        bytes += seen->requests[i] * range_least_bytes(i);
    return bytes;
}

bool spread_choose(const struct spread_seen *seen, size_t *threshold) {
    uint64_t all = 0, below = 0, within = 0;
    for (unsigned i = 0; i < SPREAD_RANGES; i++)
        all += seen->requests[i];
    unsigned low = 0;
    for (; low < SPREAD_RANGES && below + seen->requests[low] <= all / SPREAD_STRAY_SHARE; low++)
        below += seen->requests[low];
    for (unsigned i = low; i < low + SPREAD_DOUBLING && i < SPREAD_RANGES; i++)
        within += seen->requests[i];
    bool is_narrow = all - below - within <= all / SPREAD_STRAY_SHARE;
    size_t least = range_least_bytes(low);
    if (least == SPREAD_LEAST_BYTES) // what is as large as a slab class stays there
        least += BLOCK_ALIGN;
    *threshold = is_narrow && bits_count(seen->sites) <= SPREAD_MOST_SITES ? least : 0;
    return all >= SPREAD_LEAST_REQUESTS;
}
