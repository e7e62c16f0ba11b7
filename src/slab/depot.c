// Lists and leases slabs.
#include "slab/depot.h"

#include "region/runs.h"

INTERNAL struct depot depots[CLASS_END];

// I3: of all depots. Threads that trade blocks change it by turns: a line of its own.
static struct { size_t bytes; } __attribute__((aligned(CACHE_LINE_BYTES))) idle_of_all;

// Slabs that a lease looks at before it chooses: enough to prefer fuller ones, few enough for one lock hold.
#define DEPOT_LOOKAHEAD_WORDS 16
// Slabs that depot_lease_wanted looks at while it holds the lock.
#define DEPOT_LOCKED_LOOKS 8

// A wholly free slab goes back, unless it is all that its depot has to offer: a class in use would soon make it anew,
// elsewhere, and touch other pages. Slabs of few blocks always go back: their slices are kept warm in region/runs.c.
static bool depot_can_spare(const struct depot *depot, const struct slab *slab, unsigned others) {
    return depot->slabs > others || class_is_large(slab->class_index) || load_relaxed(&slab->carved) == 0;
}

void depot_start(void) {
    for (unsigned i = 0; i < CLASS_END; i++) {
        depots[i].lock.rank = LOCK_RANK_depot;
        list_init(&depots[i].listed);
        list_init(&depots[i].holders);
    }
}

void depot_holder_start(struct holder *holder, unsigned tag) {
    holder->tag = tag;
    for (unsigned i = 0; i <= CLASS_LAST_HELD; i++) {
        holder->ended[i] = false;
        list_init(&holder->listed[i]);
        list_init(&holder->depot_link[i]);
    }
}

// The list in which a slab of this holder waits (D2). The depot's lock is held.
static void depot_add(struct depot *depot, struct slab *slab) {
    struct holder *holder = slab->holder;
    unsigned class_index = slab->class_index;
    store_relaxed(&depot->slabs, depot->slabs + 1); // read without the lock in depot_lease
    if (!class_is_held(class_index) || holder->ended[class_index]) {
        list_add_last(&depot->listed, &slab->link);
        return;
    }
    if (list_is_empty(&holder->listed[class_index]))
        list_add_last(&depot->holders, &holder->depot_link[class_index]);
    list_add_last(&holder->listed[class_index], &slab->link);
}

static void depot_remove(struct depot *depot, struct slab *slab) {
    struct holder *holder = slab->holder;
    unsigned class_index = slab->class_index;
    store_relaxed(&depot->slabs, depot->slabs - 1); // as in depot_add
    list_remove(&slab->link);
    if (class_is_held(class_index) && list_is_empty(&holder->listed[class_index]))
        list_remove(&holder->depot_link[class_index]);
}

// The fullest among the first few of a list that have `want` blocks; else the one with the most.
static struct slab *depot_choose(const struct list *listed, unsigned class_index, unsigned want) {
    unsigned words = size_classes[class_index].words;
    unsigned looks = words >= DEPOT_LOOKAHEAD_WORDS ? 1 : DEPOT_LOOKAHEAD_WORDS / words;
    looks = looks > 4 ? 4 : looks;
    struct slab *best = NULL;
    unsigned best_blocks = 0;
    for (struct list *node = listed->next; node != listed && looks > 0; node = node->next, looks--) {
        struct slab *slab = LIST_OWNER(node, struct slab, link);
        unsigned blocks = slab_free_blocks(slab);
        bool better = best_blocks < want ? blocks > best_blocks : blocks >= want && blocks < best_blocks;
        if (best == NULL || better) {
            best = slab;
            best_blocks = blocks;
        }
    }
    return best;
}

// D1. Relaxed: only holders of the lock and the lessee act on LISTED and LEASED, freeing threads on FULL.
static void depot_listed_to_leased(struct depot *depot, struct slab *slab) {
    depot_remove(depot, slab);
    store_relaxed(&slab->state, slab_word_with(load_relaxed(&slab->state), SLAB_LEASED)); // order: as above
}

void depot_set_idle(struct depot *depot, size_t bytes) {
    if (depot->idle_bytes == bytes)
        return;
    shared_add(&idle_of_all.bytes, bytes - depot->idle_bytes); // modulo 2^64: less, too
    store_relaxed(&depot->idle_bytes, bytes);                  // read without the lock in slab/sparse.c
}

size_t depots_idle_bytes(void) {
    return load_relaxed(&idle_of_all.bytes); // a hint
}

void depots_forget_changes(void) {
    size_t sum = 0;
    for (unsigned i = 0; i < CLASS_END; i++) {
        lock_reset(&depots[i].lock);
        sum += depots[i].idle_bytes;
    }
    store_relaxed(&idle_of_all.bytes, sum); // F3: a thread that is not here may have been changing it
}

// I3 in slab/sparse.h: its idle pages will be used.
static void depot_forget_idle(struct depot *depot, const struct slab *slab) {
    size_t bytes = size_classes[slab->class_index].slices * SLICE_BYTES, idle = depot->idle_bytes;
    depot_set_idle(depot, idle > bytes ? idle - bytes : 0);
}

struct slab *depot_lease(unsigned class_index, struct holder *holder, unsigned want) {
    struct depot *depot = &depots[class_index];
    struct slab *slab = NULL;
    if (load_relaxed(&depot->slabs) == 0) // a hint: a slab listed just now is found next time
        return NULL;
    lock_acquire(&depot->lock);
    if (class_is_held(class_index))
        slab = depot_choose(&holder->listed[class_index], class_index, want);
    if (slab == NULL)
        slab = depot_choose(&depot->listed, class_index, want);
    if (slab == NULL && !list_is_empty(&depot->holders)) {
        struct holder *other = LIST_OWNER(depot->holders.next - class_index, struct holder, depot_link);
        slab = depot_choose(&other->listed[class_index], class_index, want);
    }
    if (slab != NULL) {
        depot_listed_to_leased(depot, slab);
        depot_forget_idle(depot, slab);
        if (class_is_held(class_index) && slab->holder != holder)
            slab_set_holder(slab, holder);
        slab->holder = holder; // of other classes all threads see the same
    }
    lock_release(&depot->lock);
    if (slab != NULL && *slab_purged_bytes(slab) != 0) {
        runs_note_refaulted(*slab_purged_bytes(slab));
        *slab_purged_bytes(slab) = 0;
    }
    return slab;
}

struct slab *depot_lease_wanted(unsigned class_index, bool (*wanted)(struct slab *slab, void *context), void *context,
                                unsigned *left) {
    struct depot *depot = &depots[class_index];
    struct slab *found = NULL;
    while (found == NULL && *left > 0) {
        lock_acquire(&depot->lock);
        for (unsigned looks = DEPOT_LOCKED_LOOKS; looks > 0 && *left > 0 && found == NULL; looks--, --*left) {
            if (list_is_empty(&depot->listed))
                *left = 1;
            else if (wanted(LIST_OWNER(depot->listed.next, struct slab, link), context))
                found = LIST_OWNER(depot->listed.next, struct slab, link);
            else
                list_rotate(&depot->listed);
        }
        if (found != NULL)
            depot_listed_to_leased(depot, found);
        lock_release(&depot->lock);
    }
    return found;
}

void depot_unlease(struct slab *slab) {
    struct depot *depot = &depots[slab->class_index];
    lock_acquire(&depot->lock);
    bool wholly_free = depot_can_spare(depot, slab, 0) && slab_is_wholly_free(slab); // S5; exact: we are the lessee
    if (!wholly_free) {
        depot_add(depot, slab);
        // total order: a thread that frees the last block sees LISTED, or we saw its bit above. Pairs with put.c
        exchange_total(&slab->state, slab_word_with(load_relaxed(&slab->state), SLAB_LISTED));
        if (depot_can_spare(depot, slab, 1) &&
            slab_is_wholly_free(slab)) { // its last block came back meanwhile, by somebody who saw LEASED
            depot_listed_to_leased(depot, slab);
            wholly_free = true;
        }
    }
    lock_release(&depot->lock);
    if (wholly_free)
        slab_give_back(slab);
}

void depot_list_full(struct slab *slab, uint64_t word) {
    CHECK(slab_state_of(word) == SLAB_FULL);
    // acquire: we see what the last lessee carved; total: one of several that saw FULL wins
    if (swap_total(&slab->state, word, slab_word_with(word, SLAB_LEASED)))
        depot_unlease(slab);
}

void depot_reclaim(struct slab *slab, uint64_t word, unsigned class_index) {
    struct depot *depot = &depots[class_index];
    CHECK(slab_state_of(word) == SLAB_LISTED);
    lock_acquire(&depot->lock);
    bool ours = load_relaxed(&slab->state) == word && depot_can_spare(depot, slab, 1) && slab_is_wholly_free(slab);
    if (ours)
        depot_listed_to_leased(depot, slab);
    lock_release(&depot->lock);
    if (ours)
        slab_give_back(slab);
}

void depot_holder_ended(struct holder *holder) {
    for (unsigned i = 0; i <= CLASS_LAST_HELD; i++) {
        lock_acquire(&depots[i].lock);
        holder->ended[i] = true;
        while (!list_is_empty(&holder->listed[i])) {
            struct slab *slab = LIST_OWNER(holder->listed[i].next, struct slab, link);
            list_remove(&slab->link);
            list_add_last(&depots[i].listed, &slab->link);
        }
        list_remove(&holder->depot_link[i]);
        lock_release(&depots[i].lock);
    }
}

void depot_holder_revived(struct holder *holder) {
    for (unsigned i = 0; i <= CLASS_LAST_HELD; i++) {
        lock_acquire(&depots[i].lock);
        holder->ended[i] = false;
        lock_release(&depots[i].lock);
    }
}
