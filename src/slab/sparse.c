// Finds idle pages in part-used slabs, and purges them.
#include "slab/sparse.h"

#include <limits.h>

#include "policy/snapshot.h"
#include "region/runs.h"
#include "sys/os.h"

static void note_idle(unsigned class_index, size_t idle_bytes) {
    struct depot *depot = &depots[class_index];
    lock_acquire(&depot->lock);
    depot_set_idle(depot, idle_bytes);
    lock_release(&depot->lock);
}

bool sparse_is_due(unsigned class_index, unsigned freed_blocks) {
    struct depot *depot = &depots[class_index];
    if (class_is_held(class_index)) // so many blocks a page that hardly one is idle
        return false;
    size_t in_use = slab_in_use_bytes(class_index);
    size_t freed = load_relaxed(&depot->freed_bytes) + freed_blocks * class_bytes(class_index);
    bool much = freed >= most_of(in_use / SPARSE_LOOK_SHARE, SPARSE_LOOK_BYTES);
    store_relaxed(&depot->freed_bytes, much ? 0 : freed); // an update lost between threads moves a look
    if (!much || runs_in_use_bytes() <= DECIDED(retain_min))
        return false;
    size_t idle = load_relaxed(&depot->idle_bytes) + freed;
    note_idle(class_index, idle < in_use ? idle : in_use);
    return runs_surplus_bytes(depots_idle_bytes()) > 0;
}

// The first block from `from` on whose bit is set (`flipped` 0) or clear (all ones); `end`: there is none below it.
static unsigned find_bit(const struct slab *slab, unsigned from, unsigned end, uint64_t flipped) {
    while (from < end) {
        // total order, for its acquire: what the program did to a block comes before its page is purged. Pairs:
        // put_mask
        uint64_t word = (load_total(&slab->bits[from / 64]) ^ flipped) >> (from % 64);
        if (word != 0)
            return from + bits_lowest(word) < end ? from + bits_lowest(word) : end;
        from = (from / 64 + 1) * 64;
    }
    return end;
}

struct pages {
    uintptr_t start;
    uintptr_t end;
    unsigned next; // block to go on with
};

// The next whole pages under blocks that are back, from block pages->next on; false: there are none.
static bool next_idle_pages(const struct slab *slab, struct pages *pages) {
    unsigned carved = load_relaxed(&slab->carved);
    while (pages->next < carved) {
        unsigned first = find_bit(slab, pages->next, carved, 0);
        unsigned behind = find_bit(slab, first, carved, ~UINT64_C(0));
        pages->next = behind;
        pages->start = bits_align_up((uintptr_t)slab_block(slab, first), os_facts.page_bytes);
        pages->end = bits_align_down((uintptr_t)slab_block(slab, behind), os_facts.page_bytes);
        if (pages->start < pages->end)
            return true;
    }
    return false;
}

struct look {
    enum sparse_least least;
    size_t idle_bytes; // seen so far
    bool purges;
};

static size_t idle_bytes(const struct slab *slab) {
    struct pages pages = {0};
    size_t idle = 0;
    while (next_idle_pages(slab, &pages))
        idle += pages.end - pages.start;
    return idle;
}

// Of the slab that a look takes out to purge it nothing is counted.
static bool look_at(struct slab *slab, void *context) {
    struct look *look = context;
    size_t carved = load_relaxed(&slab->carved) * class_bytes(slab->class_index);
    size_t purged = *slab_purged_bytes(slab), least = purged + carved / SPARSE_PURGE_SHARE;
    if (look->least == SPARSE_MOSTLY_IDLE && least < carved - carved / SPARSE_MOSTLY_SHARE)
        least = carved - carved / SPARSE_MOSTLY_SHARE;
    size_t idle = slab_free_blocks(slab) * class_bytes(slab->class_index); // of blocks larger than pages about all
    if (idle >= least || class_bytes(slab->class_index) < os_facts.page_bytes)
        idle = idle_bytes(slab);
    if (look->purges && idle >= least && idle > purged)
        return true;
    look->idle_bytes += idle > purged ? idle - purged : 0;
    return false;
}

static void purge_idle_pages(struct slab *slab) {
    struct pages pages = {0};
    size_t bytes = 0;
    for (; next_idle_pages(slab, &pages); bytes += pages.end - pages.start)
        runs_purge_inside((void *)pages.start, pages.end - pages.start); // in vain where memory is locked: not again
    *slab_purged_bytes(slab) = bytes;
}

static unsigned listed_slabs(unsigned class_index) {
    return load_relaxed(&depots[class_index].slabs);
}

// Looks at so many at most and purges at most so many, and counts what is left in the others. Returns how many it
// purged.
static unsigned purge_slabs(unsigned class_index, struct look *look, unsigned looks, unsigned most) {
    unsigned left = listed_slabs(class_index), count = 0;
    bool is_whole = left <= looks;
    struct slab *slab;
    left = is_whole ? left : looks; // the others come first next time
    look->idle_bytes = 0;
    look->purges = true;
    while ((slab = depot_lease_wanted(class_index, look_at, look, &left)) != NULL) {
        purge_idle_pages(slab);
        depot_unlease(slab);
        look->purges = ++count < most;
    }
    if (is_whole)
        note_idle(class_index, look->idle_bytes);
    return count;
}

void sparse_look(unsigned class_index, enum sparse_least least) {
    struct look look = {.least = least};
    unsigned left = listed_slabs(class_index);
    depot_lease_wanted(class_index, look_at, &look, &left);
    note_idle(class_index, look.idle_bytes);
    if (runs_surplus_bytes(depots_idle_bytes()) > 0)
        purge_slabs(class_index, &look, UINT_MAX, SPARSE_LOOK_SLABS);
}

bool sparse_trim_class(unsigned class_index, unsigned slabs) {
    struct look look = {.least = SPARSE_SOME_IDLE};
    return purge_slabs(class_index, &look, slabs, UINT_MAX) > 0;
}

bool sparse_trim(void) {
    bool any = false;
    for (unsigned i = CLASS_LAST_HELD + 1; i < CLASS_END; i++)
        any = sparse_trim_class(i, UINT_MAX) || any;
    return any;
}
