// The table of site rules: open addressing, never more than half full, places are never given away.
#include "big/routes.h"

#define ROUTE_SLOTS (2 * ROUTES_MOST)
#define ROUTE_DROPPED SIZE_MAX // E3

INTERNAL size_t routes_least_bytes = SIZE_MAX;

static struct route {
    uintptr_t site; // 0: free
    size_t threshold_bytes;
} routes[ROUTE_SLOTS];
static unsigned route_count;

// FNV-1a (Fowler, Noll, Vo) of the address.
static unsigned route_slot(uintptr_t site) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (unsigned i = 0; i < sizeof site; i++)
        hash = (hash ^ (site >> 8 * i & 255)) * UINT64_C(0x100000001b3);
    return (unsigned)(hash % ROUTE_SLOTS);
}

// The site's slot, or the free one where it would go.
static struct route *route_find(uintptr_t site) {
    unsigned slot = route_slot(site);
    for (uintptr_t other; (other = load_relaxed(&routes[slot].site)) != 0 && other != site;) // ends: half are free
        slot = slot + 1 < ROUTE_SLOTS ? slot + 1 : 0;
    return &routes[slot];
}

// Relaxed, as E1 allows: who sees the one before looks in vain, or not at all, until he sees this one.
static void find_least(void) {
    size_t least = SIZE_MAX;
    for (unsigned i = 0; i < ROUTE_SLOTS; i++) {
        size_t threshold = load_relaxed(&routes[i].site) != 0 ? load_relaxed(&routes[i].threshold_bytes) : SIZE_MAX;
        least = threshold < least ? threshold : least;
    }
    store_relaxed(&routes_least_bytes, least);
}

bool routes_set(uintptr_t site, size_t threshold_bytes) {
    struct route *route = route_find(site);
    bool is_new = load_relaxed(&route->site) == 0;
    if (site == 0 || (is_new && route_count == ROUTES_MOST))
        return false;
    route_count += is_new;
    store_relaxed(&route->threshold_bytes, threshold_bytes); // E1
    store_release(&route->site, site);                       // release: the size comes before; pairs with routes_find
    find_least();
    return true;
}

void routes_drop(uintptr_t site) {
    struct route *route = route_find(site);
    if (site == 0 || load_relaxed(&route->site) != site)
        return;
    store_relaxed(&route->threshold_bytes, ROUTE_DROPPED); // E1: who looks now has the size before, or none
    find_least();
}

size_t routes_find(uintptr_t site, size_t otherwise) {
    const struct route *route = route_find(site);
    bool is_there = load_acquire(&route->site) == site; // acquire: as above
    size_t threshold = is_there ? load_relaxed(&route->threshold_bytes) : ROUTE_DROPPED;
    return threshold != ROUTE_DROPPED ? threshold : otherwise;
}
