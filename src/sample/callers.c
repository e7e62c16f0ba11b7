// The table of callers: a site's hash chooses a row of places.
#include "sample/callers.h"

#define CALLER_ROWS 16
#define CALLER_PLACES 4

INTERNAL const size_t callers_range_bytes[CALLERS_RANGES] = {CLASS_LARGE_MAX, 2 * MIB, 4 * MIB};

static struct caller callers[CALLER_ROWS * CALLER_PLACES];

// Multiplication by 2^64 divided by the golden ratio (Knuth); the highest bits choose.
static struct caller *caller_row(uintptr_t site) {
    return &callers[(site * UINT64_C(0x9e3779b97f4a7c15) >> 60) % CALLER_ROWS * CALLER_PLACES];
}

// Where the site stands, or gets a place; NULL: there is none.
static struct caller *caller_place(uintptr_t site) {
    struct caller *row = caller_row(site);
    for (unsigned i = 0; i < CALLER_PLACES; i++)
        if (load_relaxed(&row[i].site) == site)
            return &row[i];
    for (unsigned i = 0; i < CALLER_PLACES; i++) {
        uintptr_t nobody = 0;
        if (load_relaxed(&row[i].site) == 0 &&
            swap_acquire(&row[i].site, nobody, site)) // acquire: the weakest swap there is; only the word itself counts
            return &row[i];
    }
    return NULL;
}

static uint32_t range_bit(size_t bytes) {
    unsigned range = 0;
    while (range + 1 < CALLERS_RANGES && bytes >= callers_range_bytes[range + 1])
        range++;
    return 1u << range;
}

void callers_note(uintptr_t site, size_t bytes) {
    if (site == 0 || bytes <= CLASS_LARGE_MAX || bytes >= BIG_THRESHOLD_MAX_BYTES)
        return;
    struct caller *caller = caller_place(site);
    if (caller == NULL)
        return;
    shared_add(&caller->bytes, (uint64_t)bytes);
    uint32_t ranges = load_relaxed(&caller->ranges), bit = range_bit(bytes);
    if ((ranges & bit) == 0)
        store_relaxed(&caller->ranges, ranges | bit); // a bit that is lost so comes with the next block
}

static struct caller caller_copy(const struct caller *caller) {
    return (struct caller){load_relaxed(&caller->site), load_relaxed(&caller->bytes), load_relaxed(&caller->ranges)};
}

unsigned callers_list(struct caller *list, unsigned most) {
    unsigned count = 0;
    for (unsigned i = 0; i < COUNT_OF(callers); i++) {
        struct caller next = caller_copy(&callers[i]);
        if (next.site == 0)
            continue;
        for (unsigned place = 0; place < count; place++) {
            struct caller here = list[place];
            bool swaps = next.bytes > here.bytes;
            list[place] = swaps ? next : here;
            next = swaps ? here : next;
        }
        if (count < most)
            list[count++] = next;
    }
    return count;
}

uint64_t callers_bytes(uintptr_t site) {
    const struct caller *row = caller_row(site);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < CALLER_PLACES; i++)
        bytes += load_relaxed(&row[i].site) == site ? load_relaxed(&row[i].bytes) : 0;
    return bytes;
}

void callers_fade(void) {
    for (unsigned i = 0; i < COUNT_OF(callers); i++) {
        struct caller *caller = &callers[i];
        uint64_t bytes = load_relaxed(&caller->bytes);
        bool stays = bytes >= CLASS_LARGE_MAX;
        shared_add(&caller->bytes, -(stays ? bytes - bytes / 2 : bytes)); // others add meanwhile
        if (stays)
            continue;
        store_relaxed(&caller->ranges, 0);
        store_relaxed(&caller->site, 0);
    }
}
