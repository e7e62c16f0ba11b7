// What the tests of the slab layer share: its start without a heap, and slabs made full, listed and ended by hand.
#ifndef HAKMEM_TESTS_SLABS_H
#define HAKMEM_TESTS_SLABS_H

#include "unit/unit.h"

#include "region/runs.h"
#include "slab/put.h"
#include "sys/options.h"
#include "sys/os.h"

UNUSED static int start_slabs(void **state) {
    (void)state;
    os_start();
    size_class_start();
    depot_start();
    return window_start() && runs_start() ? 0 : -1;
}

// A test runs twice: with the plain accesses of a process of one thread, and with the atomic ones.
UNUSED static int with_one_thread(void **state) {
    (void)state;
    pretend_single_threaded(true);
    return 0;
}

UNUSED static int with_threads(void **state) {
    (void)state;
    pretend_single_threaded(false);
    return 0;
}

#define TEST_BOTH(name)                                           \
    {#name " (one thread)", name, with_one_thread, NULL, NULL}, { \
#name " (threads)", name, with_threads, NULL, NULL        \
    }

UNUSED static enum slab_state state_of(const struct slab *slab) {
    return slab_state_of(load_relaxed(&slab->state));
}

UNUSED static uint32_t index_of(const struct slab *slab, const void *block) {
    return class_block_index(&size_classes[slab->class_index],
                             (uint32_t)((uintptr_t)block - (uintptr_t)slab_block(slab, 0)));
}

#define MOST_BLOCKS (SLICE_BYTES / BLOCK_ALIGN)

// slab_take and slab_carve write below an end, as a stack wants it; here the first block taken comes first.
UNUSED static unsigned turned(unsigned (*take)(struct slab *, void **, unsigned), struct slab *slab, void **blocks,
                              unsigned want) {
    void *taken[MOST_BLOCKS + 1] = {NULL};
    want = want < MOST_BLOCKS ? want : MOST_BLOCKS;
    void **end = taken + 1 + want;
    unsigned count = take(slab, end, want);
    for (unsigned i = 0; i < count; i++)
        blocks[i] = end[-1 - (ptrdiff_t)i];
    MUST(end[-1 - (ptrdiff_t)count] == NULL); // nothing was written below them
    return count;
}

UNUSED static unsigned take(struct slab *slab, void **blocks, unsigned want) {
    return turned(slab_take, slab, blocks, want);
}

UNUSED static unsigned carve(struct slab *slab, void **blocks, unsigned want) {
    return turned(slab_carve, slab, blocks, want);
}

// Every block of a new slab, in order; returns how many.
UNUSED static unsigned carve_all(struct slab *slab, void **blocks) {
    unsigned count = carve(slab, blocks, MOST_BLOCKS);
    assert_int_equal(count, size_classes[slab->class_index].blocks);
    return count;
}

// A new slab of which every block is out and nobody has a lease.
UNUSED static struct slab *make_full(unsigned class_index, struct holder *holder, void **blocks) {
    struct slab *slab = slab_make(class_index, holder);
    assert_non_null(slab);
    carve_all(slab, blocks);
    assert_true(slab_leased_to_full(slab));
    assert_int_equal(state_of(slab), SLAB_FULL);
    return slab;
}

// Slabs of a class that are somewhere.
UNUSED static uint64_t slabs_alive(unsigned class_index) {
    struct slab_totals totals = slab_count(class_index);
    return totals.made - totals.returned;
}

// Leases what the depot has and gives it back, until nothing of the class is left. All blocks must have been put.
UNUSED static void end_all_listed(unsigned class_index, struct holder *holder) {
    struct slab *slab;
    while ((slab = depot_lease(class_index, holder, 1)) != NULL) {
        assert_true(slab_is_wholly_free(slab));
        slab_give_back(slab);
    }
    assert_int_equal(slabs_alive(class_index), 0);
}

#endif
