// Call sites by hash: open addressing, at most half full.
#include "big/sites.h"

#include "base/bits.h"
#include "base/tuning.h"
#include "region/meta.h"

static struct site **sites_table; // its size is a power of two
static size_t sites_slots;
static size_t sites_known;
static uint32_t sites_turns; // of sites_age

static uint32_t hash_of(uintptr_t address, unsigned class_index) {
    uint32_t hash = UINT32_C(0x811C9DC5);
    for (unsigned i = 0; i < sizeof address; i++)
        hash = (hash ^ (uint8_t)(address >> (8 * i))) * UINT32_C(0x01000193);
    return (hash ^ class_index) * UINT32_C(0x01000193);
}

// The slot that holds the site, or the empty one where it would be.
static size_t find_slot(struct site *const *slots, size_t count, uintptr_t address, unsigned class_index) {
    size_t slot = hash_of(address, class_index) & (count - 1);
    while (slots[slot] != NULL && (slots[slot]->address != address || slots[slot]->class_index != class_index))
        slot = (slot + 1) & (count - 1);
    return slot;
}

struct site *sites_find(uintptr_t address, unsigned class_index) {
    return sites_slots == 0 ? NULL : sites_table[find_slot(sites_table, sites_slots, address, class_index)];
}

// Doubles the table; the memory of the one before is lost, no more than the new one's. False: no memory, or as large as
// it may become.
static bool table_grow(void) {
    size_t slots = sites_slots == 0 ? SITES_START_SLOTS : 2 * sites_slots;
    struct site **larger = slots <= SITES_MOST_SLOTS ? meta_take(slots * sizeof(void *), sizeof(void *)) : NULL;
    if (larger == NULL)
        return false;
    for (size_t i = 0; i < sites_slots; i++)
        if (sites_table[i] != NULL)
            larger[find_slot(larger, slots, sites_table[i]->address, sites_table[i]->class_index)] = sites_table[i];
    sites_table = larger;
    sites_slots = slots;
    return true;
}

// Of some sites without blocks the one that is used least; NULL: all have blocks.
static struct site *site_to_replace(size_t from) {
    struct site *least = NULL;
    for (size_t i = 0; i < SITES_LOOKS; i++) {
        struct site *site = sites_table[(from + i) & (sites_slots - 1)];
        if (site != NULL && site->blocks == 0 && (least == NULL || site->uses < least->uses))
            least = site;
    }
    return least;
}

// Frees a site's slot. What lies behind it since that was taken moves up.
static void table_remove(const struct site *site) {
    size_t slot = find_slot(sites_table, sites_slots, site->address, site->class_index);
    sites_table[slot] = NULL;
    for (slot = (slot + 1) & (sites_slots - 1); sites_table[slot] != NULL; slot = (slot + 1) & (sites_slots - 1)) {
        struct site *moved = sites_table[slot];
        sites_table[slot] = NULL;
        sites_table[find_slot(sites_table, sites_slots, moved->address, moved->class_index)] = moved;
    }
}

static struct site *site_take(uintptr_t address, unsigned class_index) {
    if (2 * (sites_known + 1) <= sites_slots || table_grow()) {
        struct site *site = meta_take(sizeof *site, _Alignof(struct site));
        sites_known += site != NULL;
        return site;
    }
    struct site *site = sites_slots == 0 ? NULL : site_to_replace(hash_of(address, class_index));
    if (site != NULL)
        table_remove(site);
    return site;
}

struct site *sites_make(uintptr_t address, unsigned class_index) {
    struct site *site = sites_find(address, class_index);
    if (site != NULL)
        return site;
    site = site_take(address, class_index);
    if (site == NULL)
        return NULL;
    *site = (struct site){.address = address, .class_index = (uint8_t)class_index};
    list_init(&site->cached);
    sites_table[find_slot(sites_table, sites_slots, address, class_index)] = site;
    return site;
}

void sites_note_use(struct site *site) {
    site->uses += site->uses < UINT16_MAX;
}

void sites_age(void) {
    if (sites_slots == 0)
        return;
    struct site *site = sites_table[sites_turns & (sites_slots - 1)];
    if (site != NULL && (sites_turns / sites_slots + 1) % SITES_HALVING_TURNS == 0)
        site->uses /= 2;
    sites_turns++;
}

void sites_visit(void (*visit)(const struct site *site, void *context), void *context) {
    for (size_t i = 0; i < sites_slots; i++)
        if (sites_table[i] != NULL)
            visit(sites_table[i], context);
}

void sites_forget(void) {
    sites_table = NULL;
    sites_slots = 0;
    sites_known = 0;
}
