// What tests of changing size classes share: decisions put in force, depots emptied, and books looked at.
#ifndef HAKMEM_TESTS_SPARES_H
#define HAKMEM_TESTS_SPARES_H

#include "unit/heap/stamped.h"

typedef uint64_t __attribute__((may_alias)) snapshot_word;

// Puts a copy in force, as learning does: somebody may still read the ones before.
UNUSED static void decide(const struct snapshot *made) {
    static struct snapshot ring[64];
    static unsigned turn;
    struct snapshot *next = &ring[turn++ % COUNT_OF(ring)];
    for (size_t i = 0; i < sizeof *made / sizeof(snapshot_word); i++)
        store_relaxed((snapshot_word *)next + i, ((const snapshot_word *)made)[i]);
    snapshot_publish(next);
}

UNUSED static void change(const struct snapshot *made) {
    decide(made);
    while (!heap_change_classes())
        sched_yield();
}

// The defaults, with one spare class of that size; 0: with none.
UNUSED static struct snapshot with_spare(unsigned spare, size_t bytes) {
    struct snapshot made;
    heap_default_snapshot(&made);
    made.spare_bytes[spare] = (uint32_t)bytes;
    snapshot_default_depth(&made, CLASS_COUNT + spare, bytes);
    return made;
}

UNUSED static void change_spare_to(unsigned spare, size_t bytes) {
    struct snapshot made = with_spare(spare, bytes);
    change(&made);
}

UNUSED static bool is_wholly_free(struct slab *slab, void *unused) {
    (void)unused;
    return slab_is_wholly_free(slab);
}

// What waits in the depot without a block out: of a class of small blocks one slab always does.
UNUSED static void give_idle_slabs(unsigned class_index) {
    unsigned left = load_relaxed(&depots[class_index].slabs);
    struct slab *slab;
    while ((slab = depot_lease_wanted(class_index, is_wholly_free, NULL, &left)) != NULL)
        slab_give_back(slab);
}

// K2: granted bytes are what the stacks can hold.
UNUSED static void expect_right_grants(struct heap *heap, void *context) {
    size_t sum = 0;
    (void)context;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        sum += (heap->classes[i].depth + heap->classes[i].parked_count * (size_t)PARK_BLOCKS) * class_bytes(i);
    MUST(heap->granted_bytes == sum);
}

UNUSED static int start_without_spares(void **state) {
    (void)state;
    change_spare_to(0, 0);
    return 0;
}

// After each test nobody has anything, and no spare class has a slab.
UNUSED static int end_without_spares(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        MUST(slabs_with_blocks_out(i) == 0);
        MUST(blocks_out(i) == 0);
    }
    heap_for_each(expect_right_grants, NULL);
    expect_nobody_inside();
    return start_without_spares(state);
}

#endif
