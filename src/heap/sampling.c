// Opens and closes sampling windows, and serves calls inside of them.
#include "heap/sampling.h"

#include "heap/registry.h"
#include "sample/lives.h"

void heap_show_tops(struct heap *heap) {
    if (!heap_is_sampling(heap))
        return;
    store_relaxed(&heap->tops_shown, heap->tops_shown + 1); // others read it
    if (heap->tops_shown > 1)
        return;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        store_relaxed(&heap->stacks->top[i], load_relaxed(&heap->shadow[i]));
}

void heap_hide_tops(struct heap *heap) {
    if (!heap_is_sampling(heap))
        return;
    if (heap->tops_shown > 1) {
        store_relaxed(&heap->tops_shown, heap->tops_shown - 1); // as above
        return;
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        store_relaxed(&heap->shadow[i], load_relaxed(&heap->stacks->top[i]));
        store_relaxed(&heap->stacks->top[i], CONSTANT_TOP);
    }
    store_relaxed(&heap->tops_shown, 0u);
}

void heap_open_window(struct heap *heap, unsigned calls) {
    if (heap_is_sampling(heap) || heap->stacks == NULL || calls == 0)
        return;
    store_relaxed(&heap->tops_shown, 1u);
    store_relaxed(&heap->window_calls, calls);
    heap_hide_tops(heap);
    lives_begin(heap);
}

static void window_close(struct heap *heap, unsigned calls_left) {
    heap_show_tops(heap);
    store_relaxed(&heap->window_calls, 0u);
    lives_end(heap, calls_left);
}

void heap_end_window(struct heap *heap) {
    if (heap_is_sampling(heap))
        window_close(heap, heap->window_calls);
}

// The window's last call ends it.
static void window_count(struct heap *heap) {
    if (heap->window_calls == 1)
        window_close(heap, 0);
    else
        store_relaxed(&heap->window_calls, heap->window_calls - 1);
}

void heap_note_request(const struct heap *heap, const void *block, size_t bytes) {
    if (block != NULL)
        lives_note_request(heap, block, bytes, heap->window_calls);
}

void *heap_window_pop(struct heap *heap, unsigned class_index) {
    void **newest = load_relaxed(&heap->shadow[class_index]) - 1;
    void *block = *newest;
    if (block != NULL)
        store_relaxed(&heap->shadow[class_index], newest);
    window_count(heap);
    return block;
}

bool heap_window_push(struct heap *heap, unsigned class_index, void *block) {
    void **top = load_relaxed(&heap->shadow[class_index]);
    bool has_room = ((uintptr_t)top & STACK_MASK) != 0;
    if (has_room) {
        *top = block; // T4
        store_relaxed(&heap->shadow[class_index], top + 1);
    }
    window_count(heap);
    return has_room;
}

void **heap_real_top(const struct heap *heap, unsigned class_index) {
    bool is_hidden = heap_is_sampling(heap) && load_relaxed(&heap->tops_shown) == 0;
    return load_relaxed(is_hidden ? &heap->shadow[class_index] : &heap->stacks->top[class_index]);
}
