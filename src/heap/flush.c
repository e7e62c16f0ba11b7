// Empties a thread's stacks into slabs.
#include "heap/registry.h"
#include "heap/sampling.h"
#include "heap/transfer.h"
#include "sample/lives.h"
#include "sys/options.h"

unsigned heap_stack_blocks(const struct heap *heap, unsigned class_index) {
    const struct heap_class *own = &heap->classes[class_index];
    if (own->depth == 0)
        return 0;
    void *const *bottom = own->cell + STACK_SLOTS - own->depth;
    return (unsigned)(heap_real_top(heap, class_index) - bottom);
}

unsigned heap_cached_blocks(const struct heap *heap, unsigned class_index) {
    unsigned parked = load_relaxed(&heap->classes[class_index].parked_count) * PARK_BLOCKS;
    if (heap->stacks == NULL) // in a fork child: what its thread left
        return (heap->classes[class_index].depth > 0 ? heap->classes[class_index].idle_blocks : 0) + parked;
    // Top and depth may move meanwhile. The top alone says where the stack ends.
    uintptr_t top = (uintptr_t)heap_real_top(heap, class_index);
    unsigned depth = load_relaxed(&heap->classes[class_index].depth);
    if (depth == 0 || top == (uintptr_t)CONSTANT_TOP) // a window was just opened
        return parked;
    uintptr_t end = bits_align_up(top, STACK_BYTES);
    uintptr_t bottom = end - depth * sizeof(void *);
    return top >= bottom && top <= end ? (unsigned)((top - bottom) / sizeof(void *)) + parked : parked;
}

// Takes the `count` oldest blocks off a stack, those least likely to be in the cache; `keep` are left. Returns where
// they are, in `copy` or below the stack.
static void **heap_lift(struct heap *heap, unsigned class_index, unsigned count, unsigned keep, void **copy) {
    void **bottom = heap_bottom(heap, class_index);
    void **blocks = bottom;
    if (keep > 0) {
        blocks = copy;
        for (unsigned i = 0; i < count; i++)
            copy[i] = bottom[i];
        for (unsigned i = 0; i < keep; i++)
            bottom[i] = bottom[count + i];
    }
    store_relaxed(&heap->stacks->top[class_index], bottom + keep); // T4
    return blocks;
}

static void heap_put(struct heap *heap, unsigned class_index, void *const *blocks, unsigned count) {
    struct heap_class *own = &heap->classes[class_index];
    own->fresh_drained = false;
    count_add(&own->counters.flushes, 1);
    count_add(&own->counters.flushed_blocks, count);
    put_blocks(blocks, count, class_index);
}

void heap_flush(struct heap *heap, unsigned class_index, unsigned keep) {
    void *copy[STACK_SLOTS];
    unsigned have = heap_stack_blocks(heap, class_index);
    if (have > keep)
        heap_put(heap, class_index, heap_lift(heap, class_index, have - keep, keep, copy), have - keep);
}

void heap_flush_outbox(struct heap *heap) {
    unsigned count = heap->outbox_blocks;
    if (count == 0)
        return;
    heap->outbox_blocks = 0;
    put_mixed_blocks(heap->outbox, count);
}

void heap_unlease(struct slab **lease) {
    struct slab *slab = *lease;
    if (slab == NULL)
        return;
    store_relaxed(lease, NULL);
    depot_unlease(slab);
}

void heap_empty(struct heap *heap) {
    heap_end_window(heap);
    heap_flush_outbox(heap);
    big_let_go(&heap->kept);
    kept_end(&heap->kept);
    for (unsigned i = 0; i < CLASS_END; i++) {
        while (heap->classes[i].parked != NULL)
            heap_flush_parked(heap, i);
        heap_flush(heap, i, 0);
        heap_unlease(&heap->classes[i].slab);
        heap_unlease(&heap->classes[i].fresh);
    }
}

// A full stack passes its older half on to other threads; what they don't want goes to the slabs.
// A stack that only flushes keeps less each time: its thread is in a phase of freeing.
static void heap_flush_full(struct heap *heap, unsigned class_index) {
    void *copy[STACK_SLOTS];
    struct heap_class *own = &heap->classes[class_index];
    own->last_turn = ++heap->turn;
    if (own->batch > own->depth / 2u)
        own->batch = (own->depth + 1) / 2;
    bool freeing = own->flush_streak >= 3;
    bool mends = own->is_cut;
    unsigned keep = freeing || mends ? 0 : own->depth / 2;
    unsigned have = heap_stack_blocks(heap, class_index);
    if (have <= keep) // a request to trim has emptied it
        return;
    unsigned count = have - keep;
    void **blocks = heap_lift(heap, class_index, count, keep, copy);
    bool passed = heap_passes_on(heap, class_index) && transfer_give(heap, class_index, blocks, count);
    if (!passed)
        heap_put(heap, class_index, blocks, count);
    if (UNLIKELY(mends))
        heap_mend_stack(heap, class_index);
    if (passed)
        return;
    own->flush_streak += own->flush_streak < UINT8_MAX;
    if (own->flush_streak % STACK_SHRINK_FLUSHES == 0)
        heap_flatten_stack(heap, class_index);
    if (freeing)
        heap_let_idle_go(heap, class_index, count);
}

// A thread that frees this many blocks of others is one of several that pass blocks around: sending each home costs
// more than the cache lines it keeps apart. The slabs they came from are shown to it from now on, until their holder
// changes; the first blocks still went home, so a thread that was handed a few does not write to lines of others.
static void heap_open_slabs(struct heap *heap) {
    for (unsigned i = 0; i < heap->outbox_blocks; i++) {
        size_t slice = window_slice_of(heap->outbox[i]);
        const struct slab *slab = slab_of_slice(slice);
        if (slab == NULL)
            continue;
        window_open_tag(slice, slab->class_index, heap->holder.tag);
        heap->classes[slab->class_index].passes_on = true;
    }
}

static void heap_send_home(struct heap *heap, void *block, unsigned class_index) {
    if (heap->outbox_blocks == OUTBOX_BLOCKS) {
        heap_look_around(heap, class_index);
        heap_open_slabs(heap);
        heap_flush_outbox(heap);
    }
    heap->outbox[heap->outbox_blocks++] = block;
    count_add(&heap->classes[class_index].counters.remote_flushed_blocks, 1);
}

// Without a stack: straight to its slab.
static void heap_put_one(struct heap *heap, void *block, unsigned class_index) {
    count_add(&heap->classes[class_index].counters.flushed_blocks, 1);
    put_blocks(&block, 1, class_index);
}

static unsigned heap_view_of(const struct heap *heap, const void *block) {
    return load_relaxed(&window.views[window_slice_of(block) * TAG_COUNT + heap->holder.tag]);
}

static void heap_take_back_own(struct heap *heap, void *block, unsigned class_index) {
    if (heap_view_of(heap, block) == CLASS_NONE && options.fastlane == OPTION_FASTLANE_ON) {
        heap_send_home(heap, block, class_index);
        return;
    }
    struct heap_class *own = &heap->classes[class_index];
    bool straight_home = own->depth == 0 && class_is_large(class_index) && heap_only_frees(heap, class_index);
    if (straight_home || (own->depth == 0 && !heap_grant_stack(heap, class_index))) {
        if (straight_home)
            heap_look_around(heap, class_index);
        own->last_turn = ++heap->turn;
        heap_put_one(heap, block, class_index);
        if (straight_home)
            heap_let_idle_go(heap, class_index, 1);
        return;
    }
    if (heap->stacks->top[class_index] == heap_cell_end(heap, class_index)) {
        heap_look_around(heap, class_index);
        heap_note_full(heap, class_index);
        if (!heap_park(heap, class_index))
            heap_flush_full(heap, class_index);
    }
    void **top = heap->stacks->top[class_index];
    *top = block;
    store_relaxed(&heap->stacks->top[class_index], top + 1);
}

// Y2.
static NOINLINE void heap_take_back_in_window(struct heap *heap, void *block, unsigned class_index) {
    lives_note_free(heap, block, heap->window_calls);
    if (heap_view_of(heap, block) == class_index && heap_window_push(heap, class_index, block))
        return;
    heap_show_tops(heap);
    heap_take_back_own(heap, block, class_index);
    heap_hide_tops(heap);
}

void heap_take_back(void *block, const struct slab *slab) {
    unsigned class_index = slab->class_index; // before the block goes: the slab may go with it
    struct heap *heap = heap_enter();
    if (UNLIKELY(heap != NULL && heap_is_sampling(heap)))
        heap_take_back_in_window(heap, block, class_index);
    else if (LIKELY(heap != NULL))
        heap_take_back_own(heap, block, class_index);
    else
        heap_put_one(registry.spare, block, class_index);
    heap_leave(heap);
}
