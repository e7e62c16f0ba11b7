// What a thread does not use goes home: stacks that did not move for a while, and all that a thread holds that only
// frees.
//
// A block in a stack keeps its page, and its slab with all others in it. So a thread in a phase of frees holds ever
// less: a stack each turn goes home, large blocks go straight to their slabs, and leases are given up, so that slabs
// can end or be purged page by page (slab/sparse.h). Classes that other threads refill from what this one frees are
// left alone.
#include "big/cache.h"
#include "heap/registry.h"
#include "heap/sampling.h"
#include "heap/transfer.h"
#include "region/runs.h"
#include "slab/sparse.h"

static bool heap_is_freeing(const struct heap *heap) {
    return heap->turn - heap->refill_turn >= heap->phase_turns;
}

void heap_end_phase(struct heap *heap) {
    if (heap_is_freeing(heap) && heap->phase_turns < FREE_PHASE_MOST_TURNS)
        heap->phase_turns *= 2;
}

static bool heap_has_freed_most(const struct heap *heap) {
    return heap_is_freeing(heap) && runs_in_use_bytes() < heap->phase_bytes / FREE_PHASE_SHARE;
}

bool heap_passes_on(const struct heap *heap, unsigned class_index) {
    bool is_small_enough = class_bytes(class_index) <= TRANSFER_BLOCK_BYTES;
    bool passes = class_is_held(class_index) ? heap->classes[class_index].passes_on : is_small_enough;
    return passes && load_relaxed(&registry.threads) > 1;
}

bool heap_only_frees(const struct heap *heap, unsigned class_index) {
    return heap_is_freeing(heap) && (!heap_passes_on(heap, class_index) || transfer_is_closed(class_index));
}

void heap_let_idle_go(struct heap *heap, unsigned class_index, unsigned freed_blocks) {
    struct heap_class *own = &heap->classes[class_index];
    bool due = sparse_is_due(class_index, freed_blocks);
    if (own->slab != NULL && (due || slab_is_wholly_free(own->slab)))
        heap_unlease(&own->slab);
    if (own->fresh != NULL && (due || slab_is_wholly_free(own->fresh)))
        heap_unlease(&own->fresh);
    if (due)
        sparse_look(class_index, heap_has_freed_most(heap) ? SPARSE_SOME_IDLE : SPARSE_MOSTLY_IDLE);
}

static void heap_flush_idle_parked(struct heap *heap, unsigned class_index) {
    for (unsigned i = 0; i < PARK_IDLE_CELLS && heap->classes[class_index].parked != NULL; i++)
        heap_flush_parked(heap, class_index);
}

// All of a stack, and its grant.
static void heap_empty_stack(struct heap *heap, unsigned class_index) {
    unsigned blocks = heap_stack_blocks(heap, class_index);
    heap_flush_idle_parked(heap, class_index);
    heap_flush(heap, class_index, 0);
    heap_take_grant(heap, class_index);
    heap_let_idle_go(heap, class_index, blocks);
}

static void heap_look_at(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    unsigned blocks = heap_stack_blocks(heap, class_index);
    if (heap_only_frees(heap, class_index) || !size_class_is_open(class_index)) // C3
        heap_empty_stack(heap, class_index);
    else if (blocks == own->idle_blocks && own->parked != NULL)
        heap_flush_idle_parked(heap, class_index);
    else if (blocks > 0 && blocks == own->idle_blocks)
        heap_flush(heap, class_index, blocks / 2);
    else if (blocks == 0 && own->parked == NULL)
        heap_lend_idle(heap, class_index);
    own->idle_blocks = (uint8_t)heap_stack_blocks(heap, class_index);
}

// What large blocks' stacks hold: of small ones they hold hardly anything.
static size_t heap_stacked_bytes(const struct heap *heap) {
    size_t bytes = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        if (class_is_large(i))
            bytes += heap_stack_blocks(heap, i) * class_bytes(i);
    return bytes;
}

void heap_pay_for_growth(struct heap *heap) {
    if (LIKELY(heap->granted_bytes <= STACK_THREAD_BYTES))
        return;
    heap_show_tops(heap);
    bool pays = heap_stacked_bytes(heap) > STACK_THREAD_BYTES;
    for (unsigned i = CLASS_FIRST; pays && i < CLASS_END; i++)
        if (class_is_large(i))
            heap_flush(heap, i, 0);
    heap_hide_tops(heap);
}

void heap_look_around(struct heap *heap, unsigned busy_class) {
    uint32_t trim_turn = load_relaxed(&heap_trim_turn);
    if (UNLIKELY(heap->trim_turn != trim_turn)) {
        heap->trim_turn = trim_turn;
        heap_empty(heap);
        return;
    }
    heap->look_wait = (uint8_t)((heap->look_wait + 1) % LOOK_AROUND_TURNS);
    if (heap->look_wait != 0 && !heap_is_freeing(heap))
        return;
    if (heap->turn - heap->refill_turn == heap->phase_turns)
        heap->phase_bytes = runs_in_use_bytes();
    transfer_look(heap);
    if (kept_is_idle(&heap->kept)) {
        big_let_go(&heap->kept);
        kept_end(&heap->kept);
    }
    if (UNLIKELY(runs_outside_is_over()))
        cache_settle();
    if (heap->stacks_granted == 0)
        return;
    heap->stack_look = heap->stack_look + 1 < heap->stacks_granted ? heap->stack_look + 1 : 0;
    if (heap->stack_classes[heap->stack_look] == busy_class)
        return;
    heap_show_tops(heap);
    heap_look_at(heap, heap->stack_classes[heap->stack_look]);
    heap_hide_tops(heap);
}
