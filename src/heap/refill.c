// Fills a thread's stack from slabs.
#include "heap/registry.h"
#include "heap/sampling.h"
#include "heap/transfer.h"

// Gives up a lease without blocks; false where one came back meanwhile and the lease goes on.
static bool heap_leave_exhausted(struct slab **lease) {
    if (!slab_is_exhausted(*lease) || !slab_leased_to_full(*lease))
        return false;
    store_relaxed(lease, NULL);
    return true;
}

// Takes a lease of a slab that waits in the depot; false: none does.
static bool heap_lease(struct heap *heap, unsigned class_index, unsigned want) {
    struct slab *slab = depot_lease(class_index, &heap->holder, want);
    store_relaxed(&heap->classes[class_index].slab, slab);
    return slab != NULL;
}

// What is left of a lease whose used blocks have all been taken, but not all carved.
static unsigned heap_take_rest(struct heap_class *own, void **end, unsigned want) {
    if (own->fresh != NULL)
        return slab_carve(own->slab, end, want);
    store_relaxed(&own->fresh, own->slab);
    own->fresh_drained = true;
    store_relaxed(&own->slab, NULL);
    return 0;
}

// Takes blocks that came back to the slab being carved. A search reads the whole bitmap, so one that found too little
// is repeated only after the thread has flushed, or now and then for what other threads put back.
static unsigned heap_take_from_fresh(struct heap_class *own, void **end, unsigned want) {
    bool drained = own->fresh_drained && own->counters.refills % FRESH_SEARCH_REFILLS != 0;
    if (own->fresh == NULL || drained)
        return 0;
    unsigned count = slab_take(own->fresh, end, want);
    own->fresh_drained = count < want;
    return count;
}

static unsigned heap_take_used(struct heap *heap, unsigned class_index, void **end, unsigned want) {
    struct heap_class *own = &heap->classes[class_index];
    bool few = class_is_large(class_index);
    unsigned count = heap_take_from_fresh(own, end, want);
    // Each turn ends with enough, or is through with a slab.
    while (count < want && (own->slab != NULL || heap_lease(heap, class_index, want - count))) {
        count += slab_take(own->slab, end - count, want - count);
        if (count == want && !few) // slabs of few blocks are left at once, so that their last free gives them back
            break;
        if (slab_is_exhausted(own->slab))
            heap_leave_exhausted(&own->slab);
        else if (count < want)
            count += heap_take_rest(own, end - count, want - count);
    }
    return count;
}

// *zeroed: the blocks read as zero.
static unsigned heap_carve(struct heap *heap, unsigned class_index, void **end, unsigned want, bool *zeroed) {
    struct heap_class *own = &heap->classes[class_index];
    unsigned count = 0;
    while (count == 0) { // a second turn where the slab was carved already; a third where a block came back just then
        if (own->fresh == NULL) {
            store_relaxed(&own->fresh, slab_make(class_index, &heap->holder));
            own->fresh_drained = true;
        }
        if (own->fresh == NULL)
            break;
        count = slab_carve(own->fresh, end, want);
        *zeroed = count != 0 && own->fresh->zeroed;
        count = count != 0 ? count : slab_take(own->fresh, end, want);
        if (slab_is_carved(own->fresh))
            heap_leave_exhausted(&own->fresh);
    }
    return count;
}

unsigned heap_take(struct heap *heap, unsigned class_index, void **end, unsigned want) {
    bool zeroed;
    unsigned count = heap_take_used(heap, class_index, end, want);
    if (count == 0)
        count = heap_carve(heap, class_index, end, want, &zeroed);
    count_add(&heap->classes[class_index].counters.refilled_blocks, count);
    return count;
}

// A batch straight into the stack, above its top. The lowest address comes first, so that fresh memory is touched in
// order.
static unsigned heap_take_batch(struct heap *heap, unsigned class_index, void **bottom, unsigned want) {
    unsigned count = heap_take(heap, class_index, bottom + want, want);
    for (unsigned i = 0; count < want && i < count; i++) // a short batch moves down to the bottom
        bottom[i] = bottom[want - count + i];
    count_add(&heap->classes[class_index].counters.refills, count > 0);
    return count;
}

// Small blocks are for threads that free those of others, or hardly free any. One that frees and takes its own keeps to
// them: so it has its cache lines to itself.
static bool heap_is_passing(const struct heap_class *own) {
    return own->passes_on || own->fall > 2 * PARK_LEAST_SWING;
}

static void heap_note_refill(struct heap *heap, struct heap_class *own) {
    heap_end_phase(heap);
    own->last_turn = heap->refill_turn = ++heap->turn;
}

static void *heap_refill_stack(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    CHECK(heap_stack_blocks(heap, class_index) == 0);
    heap_note_refill(heap, own);
    own->fall += own->fall < UINT16_MAX;
    if (own->parked != NULL)
        return heap_unpark(heap, class_index);
    if (UNLIKELY(own->is_cut))
        heap_mend_stack(heap, class_index);
    heap_deepen_stack(heap, class_index);
    unsigned want = own->batch;
    CHECK(want >= 1 && want <= own->depth);
    void **bottom = heap_bottom(heap, class_index);
    own->flush_streak = 0;
    bool may_take = !class_is_held(class_index) || heap_is_passing(own);
    unsigned count = may_take ? transfer_take(class_index, bottom, want) : 0;
    if (count == 0)
        count = heap_take_batch(heap, class_index, bottom, want);
    if (count == 0)
        return NULL;
    store_relaxed(&heap->stacks->top[class_index], bottom + count - 1);
    return bottom[count - 1];
}

// One block without a stack.
static void *heap_take_one(struct heap *heap, unsigned class_index) {
    void *block;
    heap_note_refill(heap, &heap->classes[class_index]);
    return heap_take(heap, class_index, &block + 1, 1) == 1 ? block : NULL;
}

static void *heap_try_refill(struct heap *heap, unsigned class_index) {
    if (heap->classes[class_index].depth == 0 && !heap_grant_stack(heap, class_index))
        return heap_take_one(heap, class_index);
    return heap_refill_stack(heap, class_index);
}

// A block of a class up to STACK_NEAR_CLASSES larger, where the thread has one at hand: of blocks that don't share
// slabs, and are too large to be passed on. A program that uses many such sizes finds each stack empty half of the
// time, and the way to its slab and back goes through what all threads share.
static void *heap_take_near(struct heap *heap, unsigned class_index) {
    if (class_bytes(class_index) <= TRANSFER_BLOCK_BYTES)
        return NULL;
    for (unsigned near = class_index + 1; near <= class_index + STACK_NEAR_CLASSES && near < CLASS_COUNT; near++) {
        if (heap_stack_blocks(heap, near) == 0 || !class_is_aligned_as(near, class_index))
            continue;
        void **newest = heap->stacks->top[near] - 1;
        void *block = *newest;
        store_relaxed(&heap->stacks->top[near], newest);
        heap->classes[near].last_turn = heap->turn;
        return block;
    }
    return NULL;
}

// Of a stack that is not empty: another class served the request when its thread looked at the stack (H6).
static void *heap_take_stacked(struct heap *heap, unsigned class_index) {
    void **newest = heap->stacks->top[class_index] - 1;
    void *block = *newest;
    if (block != NULL)
        store_relaxed(&heap->stacks->top[class_index], newest);
    return block;
}

static void *heap_refill_own(struct heap *heap, unsigned class_index) {
    void *stacked = heap_take_stacked(heap, class_index);
    if (UNLIKELY(stacked != NULL))
        return stacked;
    if (UNLIKELY(load_relaxed(&registry.orphan_count) != 0))
        heap_adopt_orphan();
    heap_look_around(heap, class_index);
    void *block = heap_take_near(heap, class_index);
    if (block != NULL)
        return block;
    block = heap_try_refill(heap, class_index);
    if (UNLIKELY(block == NULL)) { // what this thread and the others can spare goes back first, then once more
        shared_add(&heap_trim_turn, 1);
        heap_empty(heap);
        transfer_empty_all(heap);
        heap_give_all_kept();
        block = heap_try_refill(heap, class_index);
    }
    return block;
}

// For a thread that has no heap: one block, from the heap that all such threads share.
static void *heap_refill_spare(unsigned class_index) {
    void *block;
    return registry.spare != NULL && heap_take(registry.spare, class_index, &block + 1, 1) == 1 ? block : NULL;
}

static void *heap_take_one_zeroed(struct heap *heap, unsigned class_index, bool *zeroed) {
    void *block;
    heap_look_around(heap, class_index);
    heap_note_refill(heap, &heap->classes[class_index]);
    unsigned count = heap_take_used(heap, class_index, &block + 1, 1);
    if (count == 0)
        count = heap_carve(heap, class_index, &block + 1, 1, zeroed);
    count_add(&heap->classes[class_index].counters.refilled_blocks, count);
    return count == 1 ? block : NULL;
}

void *heap_refill_zeroed(unsigned class_index, bool *zeroed) {
    *zeroed = false;
    struct heap *heap = heap_enter();
    void *block = NULL;
    if (heap != NULL) {
        block = heap_is_sampling(heap) ? heap_window_pop(heap, class_index) : NULL; // Y2
        heap_show_tops(heap);
        block = block != NULL ? block : heap_take_one_zeroed(heap, class_index, zeroed);
        heap_hide_tops(heap);
    }
    heap_leave(heap);
    return block != NULL ? block : heap_refill(class_index);
}

// Y2.
static NOINLINE void *heap_refill_in_window(struct heap *heap, unsigned class_index) {
    void *block = heap_window_pop(heap, class_index);
    if (block != NULL)
        return block;
    heap_show_tops(heap);
    block = heap_refill_own(heap, class_index);
    heap_hide_tops(heap);
    return block;
}

void *heap_refill(unsigned class_index) {
    struct heap *heap = heap_enter();
    void *block;
    if (UNLIKELY(heap == NULL))
        block = heap_refill_spare(class_index);
    else if (UNLIKELY(heap_is_sampling(heap)))
        block = heap_refill_in_window(heap, class_index);
    else
        block = heap_refill_own(heap, class_index);
    heap_leave(heap);
    return block;
}
