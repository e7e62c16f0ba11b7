// Keeps freed big blocks by call site and class.
#include "big/cache.h"

#include "base/bits.h"
#include "base/tuning.h"
#include "policy/snapshot.h"
#include "region/meta.h"
#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

INTERNAL struct lock cache_lock = LOCK_INIT(cache);

struct cached {
    struct mapping mapping;
    struct site *site;    // NULL: clean
    struct list of_site;  // among site->cached
    struct list of_class; // the newest first, clean ones behind
    struct list of_age;   // among resident or clean ones, the newest first; or among free records
    uint8_t class_index;
};

static struct list cache_classes[CACHE_CLASS_COUNT], cache_resident, cache_clean, free_cached;
static bool cache_lists_are_made;
static struct cache_totals cache_sums;

// --- Classes ---------------------------------------------------------------------------------------------------------

unsigned cache_class_of(size_t bytes) {
    if (bytes <= BIG_LEAST_BYTES)
        return 0;
    size_t last = bytes - 1;
    unsigned doubling = bits_highest(last);
    unsigned class_index = (doubling - bits_highest(BIG_LEAST_BYTES)) * 8 + (unsigned)(last >> (doubling - 3) & 7) + 1;
    return class_index < CACHE_CLASS_COUNT ? class_index : CACHE_NO_CLASS;
}

size_t cache_class_bytes(unsigned class_index) {
    if (class_index == 0)
        return BIG_LEAST_BYTES;
    unsigned doubling = (class_index - 1) / 8, step = (class_index - 1) % 8;
    return (BIG_LEAST_BYTES << doubling) / 8 * (9 + step);
}

// The largest class whose requests a block of so many bytes fits.
static unsigned class_within(size_t bytes) {
    unsigned class_index = cache_class_of(bytes);
    if (class_index == CACHE_NO_CLASS)
        return CACHE_NO_CLASS;
    if (cache_class_bytes(class_index) > bytes)
        return class_index == 0 ? CACHE_NO_CLASS : class_index - 1;
    return class_index;
}

// --- Records: the lock is held ---------------------------------------------------------------------------------------

static void cache_lists_make(void) {
    if (cache_lists_are_made)
        return;
    cache_lists_are_made = true;
    list_init(&cache_resident);
    list_init(&cache_clean);
    list_init(&free_cached);
    for (unsigned i = 0; i < CACHE_CLASS_COUNT; i++)
        list_init(&cache_classes[i]);
}

static struct cached *cached_take(void) {
    if (list_is_empty(&free_cached))
        return meta_take(sizeof(struct cached), _Alignof(struct cached));
    struct cached *item = LIST_OWNER(free_cached.next, struct cached, of_age);
    list_remove(&item->of_age);
    return item;
}

static void cached_give(struct cached *item) {
    list_add_first(&free_cached, &item->of_age);
}

static void add_resident(struct cached *item) {
    list_add_first(&item->site->cached, &item->of_site);
    list_add_first(&cache_classes[item->class_index], &item->of_class);
    list_add_first(&cache_resident, &item->of_age);
    item->site->blocks++;
    cache_sums.blocks++;
    cache_sums.bytes += item->mapping.bytes;
    runs_note_outside(0, (ptrdiff_t)item->mapping.bytes); // Q2
}

static void remove_resident(struct cached *item) {
    list_remove(&item->of_site);
    list_remove(&item->of_class);
    list_remove(&item->of_age);
    item->site->blocks--;
    cache_sums.blocks--;
    cache_sums.bytes -= item->mapping.bytes;
    runs_note_outside(0, -(ptrdiff_t)item->mapping.bytes); // Q2
}

static void add_clean(struct cached *item) {
    item->site = NULL;
    list_add_last(&cache_classes[item->class_index], &item->of_class);
    list_add_first(&cache_clean, &item->of_age);
    cache_sums.clean_blocks++;
    cache_sums.clean_bytes += item->mapping.bytes;
}

static void remove_clean(struct cached *item) {
    list_remove(&item->of_class);
    list_remove(&item->of_age);
    cache_sums.clean_blocks--;
    cache_sums.clean_bytes -= item->mapping.bytes;
}

// --- Taking ----------------------------------------------------------------------------------------------------------

// The newest of a class; NULL: there is none.
static struct cached *newest_of(unsigned class_index) {
    if (class_index >= CACHE_CLASS_COUNT || list_is_empty(&cache_classes[class_index]))
        return NULL;
    return LIST_OWNER(cache_classes[class_index].next, struct cached, of_class);
}

static bool is_resident(const struct cached *item) {
    return item != NULL && item->site != NULL;
}

// Up to which class a block may be handed out as it is for a request of a smaller one.
static unsigned largest_near(const struct cached *item, unsigned class_index) {
    return class_index + (item->site->uses >= CACHE_BUSY_USES ? CACHE_FAR_CLASSES : CACHE_NEAR_CLASSES);
}

// Q3. A resident one of another class, the nearest: first those that serve as they are, then those that have to grow,
// which costs the fewer page faults the larger they are, then those that have to shrink.
static struct cached *find_near(unsigned class_index) {
    struct cached *larger = NULL;
    for (unsigned away = 1; away <= CACHE_FAR_CLASSES; away++) {
        struct cached *item = newest_of(class_index + away);
        if (!is_resident(item))
            continue;
        if (item->class_index <= largest_near(item, class_index))
            return item;
        larger = larger != NULL ? larger : item;
    }
    for (unsigned away = 1; away <= CACHE_FAR_CLASSES && away <= class_index; away++)
        if (is_resident(newest_of(class_index - away)))
            return newest_of(class_index - away);
    return larger;
}

// The newest of the site's, else of the class's, else of a class near it; NULL: there is none.
static struct cached *cached_find(const struct site *site, unsigned class_index) {
    if (site != NULL && !list_is_empty(&site->cached))
        return LIST_OWNER(site->cached.next, struct cached, of_site);
    struct cached *item = newest_of(class_index);
    if (is_resident(item))
        return item;
    struct cached *near = find_near(class_index);
    return near != NULL ? near : item;
}

// Q2. What a request that finds no resident block makes resident anew.
static size_t note_miss(struct site *site) {
    cache_sums.misses++;
    if (site == NULL)
        return 0;
    site->misses++;
    size_t bytes = cache_class_bytes(site->class_index);
    size_t again = site->evicted_bytes < bytes ? site->evicted_bytes : bytes;
    site->evicted_bytes -= again;
    return again;
}

static void note_hit(struct site *site) {
    cache_sums.hits++;
    if (site != NULL)
        site->hits++;
}

bool cache_take(unsigned class_index, uintptr_t address, struct mapping *found, bool *zeroed, bool *fits) {
    size_t refaulted = 0;
    lock_acquire(&cache_lock);
    cache_lists_make();
    struct site *site = sites_make(address, class_index);
    struct cached *item = cached_find(site, class_index);
    bool is_clean = item == NULL || item->site == NULL;
    *zeroed = item == NULL || (is_clean && options.purge == OPTION_PURGE_NOW);
    if (is_clean)
        refaulted = note_miss(site);
    else
        note_hit(site);
    if (site != NULL)
        sites_note_use(site);
    if (item != NULL) {
        *found = item->mapping;
        cache_sums.reused_bytes += is_clean ? 0 : item->mapping.bytes;
        *fits = is_clean || (item->class_index >= class_index && item->class_index <= largest_near(item, class_index));
        (is_clean ? remove_clean : remove_resident)(item);
        cached_give(item);
    }
    lock_release(&cache_lock);
    if (refaulted > 0)
        runs_note_refaulted(refaulted);
    return item != NULL;
}

// --- Releasing -------------------------------------------------------------------------------------------------------

// Q4. NULL: nothing resident is left.
static struct cached *find_to_evict(void) {
    struct cached *least = NULL;
    struct list *node = cache_resident.previous;
    for (unsigned looks = CACHE_LOOKS; looks > 0 && node != &cache_resident; looks--, node = node->previous) {
        struct cached *item = LIST_OWNER(node, struct cached, of_age);
        if (item->mapping.bytes >= DECIDED(fifo_least))
            return least != NULL ? least : item;
        if (least == NULL || item->site->uses < least->site->uses)
            least = item;
    }
    return least;
}

// What is to be released: at least `least` bytes, and more up to `most` where blocks are small.
struct order {
    size_t least;
    size_t most;
};

// Takes some blocks out; returns how many.
static unsigned begin_release(struct order *order, struct cached **items) {
    unsigned count = 0;
    lock_acquire(&cache_lock);
    cache_lists_make();
    while (count < CACHE_RELEASE_BLOCKS) {
        struct cached *item = find_to_evict();
        if (item == NULL || (order->least == 0 && item->mapping.bytes > order->most))
            break;
        remove_resident(item);
        cache_sums.evictions++;
        cache_sums.released_bytes += item->mapping.bytes;
        item->site->evictions++;
        item->site->evicted_bytes += item->mapping.bytes;
        order->least -= order->least < item->mapping.bytes ? order->least : item->mapping.bytes;
        order->most -= order->most < item->mapping.bytes ? order->most : item->mapping.bytes;
        items[count++] = item;
    }
    lock_release(&cache_lock);
    return count;
}

// Keeps a purged block for its addresses; where there are enough of them, the oldest's mapping goes.
static bool end_purge(struct cached *item, struct mapping *too_old) {
    lock_acquire(&cache_lock);
    add_clean(item);
    bool any = cache_sums.clean_blocks > CACHE_CLEAN_BLOCKS;
    if (any) {
        struct cached *oldest = LIST_OWNER(cache_clean.previous, struct cached, of_age);
        *too_old = oldest->mapping;
        remove_clean(oldest);
        cached_give(oldest);
    }
    lock_release(&cache_lock);
    return any;
}

static void end_unmap(struct cached *item) {
    mapping_release(&item->mapping);
    lock_acquire(&cache_lock);
    cached_give(item);
    lock_release(&cache_lock);
}

static void release_one(struct cached *item) {
    struct mapping too_old;
    bool keeps = options.release == OPTION_RELEASE_PURGE;
    bool (*purge)(void *, size_t) = options.purge == OPTION_PURGE_LAZILY ? os_purge_lazily : os_purge;
    if (!keeps || !purge((void *)item->mapping.block, item->mapping.bytes)) // in vain where memory is locked
        end_unmap(item);
    else if (end_purge(item, &too_old))
        mapping_release(&too_old);
}

static bool release_order(struct order order) {
    struct cached *items[CACHE_RELEASE_BLOCKS];
    bool any = false;
    for (unsigned count = CACHE_RELEASE_BLOCKS; count == CACHE_RELEASE_BLOCKS;) {
        count = begin_release(&order, items);
        for (unsigned i = 0; i < count; i++)
            release_one(items[i]);
        any = any || count > 0;
    }
    return any;
}

// Q6. Returns what is above the bound then.
static size_t let_runs_yield(size_t surplus) {
    size_t retained = runs_count().retained_slices << SLICE_SHIFT, goes = surplus + options.release_batch;
    if (retained <= cache_count().bytes)
        return surplus;
    runs_purge(retained - least_of(retained, goes));
    return runs_surplus_bytes(0);
}

void cache_settle(void) {
    size_t surplus = runs_surplus_bytes(0), owed = runs_owed_bytes();
    if (surplus > 0)
        surplus = let_runs_yield(surplus);
    size_t batch = surplus > 0 ? surplus + options.release_batch : 0;
    if (surplus > 0 || owed > 0)
        release_order((struct order){surplus, most_of(batch, CACHE_OWED_PARTS * owed)});
}

void cache_make_room(size_t bytes) {
    size_t surplus = runs_growth_surplus_bytes(bytes);
    if (surplus > 0)
        release_order((struct order){surplus, surplus});
}

void cache_put(const struct mapping *mapping) {
    unsigned class_index = mapping->start == mapping->block ? class_within(mapping->bytes) : CACHE_NO_CLASS;
    struct site *site = NULL;
    struct cached *item = NULL;
    lock_acquire(&cache_lock);
    cache_lists_make();
    if (class_index != CACHE_NO_CLASS)
        site = sites_make(mapping->site, class_index);
    if (site != NULL)
        item = cached_take();
    if (item != NULL) {
        item->mapping = *mapping;
        item->site = site;
        item->class_index = (uint8_t)class_index;
        add_resident(item);
        sites_note_use(site);
        sites_age();
    }
    lock_release(&cache_lock);
    if (item == NULL) {
        mapping_release(mapping);
        return;
    }
    cache_settle();
}

static bool take_clean(struct mapping *found) {
    lock_acquire(&cache_lock);
    cache_lists_make();
    struct cached *item = list_is_empty(&cache_clean) ? NULL : LIST_OWNER(cache_clean.next, struct cached, of_age);
    if (item != NULL) {
        *found = item->mapping;
        remove_clean(item);
        cached_give(item);
    }
    lock_release(&cache_lock);
    return item != NULL;
}

bool cache_trim(size_t keep_bytes) {
    struct mapping mapping = {0};
    size_t bytes = cache_count().bytes;
    bool any = bytes > keep_bytes && release_order((struct order){bytes - keep_bytes, bytes - keep_bytes});
    while (take_clean(&mapping))
        mapping_release(&mapping);
    return any;
}

void cache_forget_changes(void) {
    lock_reset(&cache_lock);
    cache_lists_are_made = false;
    sites_forget();
    runs_note_outside(0, -(ptrdiff_t)cache_sums.bytes);
    cache_sums.bytes = cache_sums.blocks = cache_sums.clean_bytes = cache_sums.clean_blocks = 0;
}

struct cache_totals cache_count(void) {
    lock_acquire(&cache_lock);
    struct cache_totals copy = cache_sums;
    lock_release(&cache_lock);
    return copy;
}

struct ranking {
    struct site *sites;
    unsigned count;
    unsigned most;
};

static uint64_t requests_of(const struct site *site) {
    return (uint64_t)site->hits + site->misses;
}

static void rank_site(const struct site *site, void *context) {
    struct ranking *ranking = context;
    unsigned place = ranking->count;
    while (place > 0 && requests_of(&ranking->sites[place - 1]) < requests_of(site))
        place--;
    if (place == ranking->most)
        return;
    ranking->count += ranking->count < ranking->most;
    for (unsigned i = ranking->count - 1; i > place; i--)
        ranking->sites[i] = ranking->sites[i - 1];
    ranking->sites[place] = *site;
}

unsigned cache_list_sites(struct site *sites, unsigned most) {
    struct ranking ranking = {sites, 0, most};
    lock_acquire(&cache_lock);
    sites_visit(rank_site, &ranking);
    lock_release(&cache_lock);
    return ranking.count;
}
