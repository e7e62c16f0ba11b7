// Sampling windows: for so many calls all of a thread's mallocs and frees take the cold path, which sees their sizes.
//
// Y1. While one is open every visible top is the constant stack, and the stacks' real tops stand in the heap
//     (shadow). The fast path does not know of it: it finds every stack empty and full (T2).
// Y2. Inside a window every request is seen, whatever its size and class; where windows begin and end does not depend
//     on sizes, but on refills and flushes gone by: a thread that never leaves its stacks is not seen.
// Y3. What moves batches or looks at other stacks does it with the visible tops, which are put back for that long.
#ifndef HEAP_SAMPLING_H
#define HEAP_SAMPLING_H

#include "heap/heap.h"

ALWAYS_INLINE bool heap_is_sampling(const struct heap *heap) {
    return load_relaxed(&heap->window_calls) != 0;
}

// Opens a window of so many calls, if none is open. By the heap's thread, inside of it.
INTERNAL void heap_open_window(struct heap *heap, unsigned calls);
// Ends it early.
INTERNAL void heap_end_window(struct heap *heap);
// A block of the class from the real stack; NULL: it is empty. In a window.
INTERNAL void *heap_window_pop(struct heap *heap, unsigned class_index);
// A slab's block (or NULL: there was no memory) was taken for a request of so many bytes that began in a window.
INTERNAL void heap_note_request(const struct heap *heap, const void *block, size_t bytes);
// Puts a block onto the real stack; false: it is full. In a window.
INTERNAL bool heap_window_push(struct heap *heap, unsigned class_index, void *block);
// Around all that moves batches (Y3); nothing where there is no window.
INTERNAL void heap_show_tops(struct heap *heap);
INTERNAL void heap_hide_tops(struct heap *heap);
// The real top of a stack, for others too: a hint.
INTERNAL void **heap_real_top(const struct heap *heap, unsigned class_index);

#endif
