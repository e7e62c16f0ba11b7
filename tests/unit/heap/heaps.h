// What the tests of the heap layer share: allocation and free by class as the interface does them, and ways to see that
// nothing was lost.
#ifndef HAKMEM_TESTS_HEAPS_H
#define HAKMEM_TESTS_HEAPS_H

#include "unit/unit.h"

#include "big/mapping.h"
#include "heap/heap_fast.h"
#include "heap/registry.h"
#include "heap/transfer.h"
#include "region/meta.h"
#include "region/runs.h"
#include "sys/options.h"

UNUSED static int start_heap(void **state) {
    (void)state;
    return heap_process_start() ? 0 : -1;
}

UNUSED static void *allocate(unsigned class_index) {
    void *block = stack_pop(class_index);
    return block != NULL ? block : heap_refill(class_index);
}

UNUSED static void release(void *block) {
    if (!stack_free(block))
        heap_take_back(block, slab_of_slice(window_slice_of(block)));
}

// Allocates `count` blocks; the process ends when there is no memory.
UNUSED static void allocate_many(unsigned class_index, void **blocks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        blocks[i] = allocate(class_index);
        MUST(blocks[i] != NULL);
    }
}

UNUSED static void release_many(void *const *blocks, size_t count) {
    for (size_t i = 0; i < count; i++)
        release(blocks[i]);
}

// True where the block is in its slab, or its slab has gone.
UNUSED static bool is_home(const void *block) {
    const struct slab *slab = slab_of_slice(window_slice_of(block));
    if (slab == NULL)
        return true;
    size_t index = (size_t)((const char *)block - (char *)slab_block(slab, 0)) / class_bytes(slab->class_index);
    return index >= slab->carved || (slab->bits[index / 64] >> (index % 64) & 1) != 0;
}

UNUSED static uint64_t slabs_alive(unsigned class_index) {
    struct slab_totals totals = slab_count(class_index);
    return totals.made - totals.returned;
}

// Slabs of the class that still have blocks out when this thread has let go of everything. What waits in the depot is
// given back to find out.
UNUSED static uint64_t slabs_with_blocks_out(unsigned class_index) {
    struct heap *heap = heap_mine();
    struct slab *slab, *kept[1024];
    size_t count = 0;
    heap_empty(heap);
    transfer_empty(heap, class_index);
    while ((slab = depot_lease(class_index, &heap->holder, 1)) != NULL) {
        if (slab_is_wholly_free(slab))
            slab_give_back(slab);
        else if (count < COUNT_OF(kept))
            kept[count++] = slab;
    }
    while (count > 0)
        depot_unlease(kept[--count]);
    return slabs_alive(class_index);
}

UNUSED static void expect_no_lock_held(void) {
    const struct lock *locks[] = {&registry.spare_lock,
                                  &registry.statistics_lock,
                                  &registry.lock,
                                  &runs_grow_lock,
                                  &runs_lock,
                                  &mapping_lock,
                                  &meta_lock};
    for (size_t i = 0; i < COUNT_OF(locks); i++)
        MUST(locks[i]->state == 0);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        MUST(depots[i].lock.state == 0 && transfers[i].lock.state == 0);
    MUST(registry.spare_thread == 0 && registry.spare_entries == 0);
}

UNUSED static void expect_open_gate(struct heap *heap, void *context) {
    (void)context;
    MUST(heap->gate == GATE_OUTSIDE && heap->entries == 0);
}

// No lock is held, and no thread is on a cold path.
UNUSED static void expect_nobody_inside(void) {
    expect_no_lock_held();
    heap_for_each(expect_open_gate, NULL);
}

// ---- what two threads have come to

UNUSED static uint32_t stage;

UNUSED static void come_to(uint32_t next) {
    store_release(&stage, next); // release: pairs with wait_for_stage
}

UNUSED static void wait_for_stage(uint32_t wanted) {
    while (load_acquire(&stage) != wanted) // acquire: pairs with come_to
        sched_yield();
}

// ---- the books

struct counts {
    struct heap_counters counters; // of all heaps
    uint64_t cached_blocks;
};

struct counting {
    struct counts counts;
    unsigned class_index;
};

UNUSED static void add_counts(struct heap *heap, void *context) {
    struct counting *counting = (struct counting *)context;
    const struct heap_counters *counters = &heap->classes[counting->class_index].counters;
#define COUNTER(name, what) counting->counts.counters.name += load_relaxed(&counters->name);
#include "count/counters.def"
#undef COUNTER
    counting->counts.cached_blocks += heap_cached_blocks(heap, counting->class_index);
}

UNUSED static struct counts counts_of(unsigned class_index) {
    struct counting counting = {.class_index = class_index};
    heap_for_each(add_counts, &counting);
    counting.counts.cached_blocks += transfer_blocks(class_index);
    return counting.counts;
}

// Blocks of the class that the program has, by the books.
UNUSED static uint64_t blocks_out(unsigned class_index) {
    struct counts counts = counts_of(class_index);
    return counts.counters.refilled_blocks - counts.counters.flushed_blocks - counts.counters.remote_flushed_blocks -
           counts.cached_blocks;
}

#endif
