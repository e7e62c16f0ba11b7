// The table of site rules: open addressing, never more than half full.
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

static bool route_is_rule(const struct route *route) {
    return load_relaxed(&route->site) != 0 && load_relaxed(&route->threshold_bytes) != ROUTE_DROPPED;
}

// In a place that is the site's, or free.
static void route_put(uintptr_t site, size_t threshold_bytes) {
    struct route *route = route_find(site);
    route_count += load_relaxed(&route->site) == 0;
    store_relaxed(&route->threshold_bytes, threshold_bytes); // E1
    store_release(&route->site, site);                       // release: the size comes before; pairs with routes_find
}

// E3. Who looks meanwhile may find no rule, or in the place of one another's size, as E1 allows.
static void forget_dropped(void) {
    struct route rules[ROUTES_MOST];
    unsigned count = 0;
    for (unsigned i = 0; i < ROUTE_SLOTS; i++) {
        if (route_is_rule(&routes[i]))
            rules[count++] = routes[i];
        store_relaxed(&routes[i].site, (uintptr_t)0);
    }
    route_count = 0;
    for (unsigned i = 0; i < count; i++)
        route_put(rules[i].site, rules[i].threshold_bytes);
}

bool routes_has_room(uintptr_t site) {
    unsigned rules = 0;
    for (unsigned i = 0; i < ROUTE_SLOTS; i++)
        rules += route_is_rule(&routes[i]) && load_relaxed(&routes[i].site) != site;
    return site != 0 && rules < ROUTES_MOST;
}

bool routes_set(uintptr_t site, size_t threshold_bytes) {
    if (!routes_has_room(site))
        return false;
    if (route_count == ROUTES_MOST && load_relaxed(&route_find(site)->site) == 0)
        forget_dropped();
    route_put(site, threshold_bytes);
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
