// The fast path, the whole of it: a thread's own stacks and one table. Nothing else belongs here.
#ifndef HEAP_HEAP_FAST_H
#define HEAP_HEAP_FAST_H

#include "heap/stacks.h"
#include "region/window.h"
#include "slab/size_class.h"

// Pops a block of the class; NULL: the cold path's turn.
ALWAYS_INLINE void *stack_pop(unsigned class_index) {
    void **newest = load_fast(&thread_stacks.top[class_index]) - 1;
    void *block = load_fast(newest);
    if (LIKELY(block != NULL))
        store_fast_last(&thread_stacks.top[class_index], newest);
    return block;
}

// Pushes a block of the class; false: the stack is full, the cold path's turn.
ALWAYS_INLINE bool stack_push(unsigned class_index, void *block) {
    void **top = load_fast(&thread_stacks.top[class_index]);
    if (UNLIKELY(((uintptr_t)top & STACK_MASK) == 0))
        return false;
    store_fast(top,
               block); // T4: before the top covers it; a fence costs an instruction, so tests/asm looks at the order
    store_fast_last(&thread_stacks.top[class_index], top + 1); // release; pairs with heap/visit.c
    return true;
}

// Frees a block that this thread may keep; false: everything else.
ALWAYS_INLINE bool stack_free(void *block) {
    size_t slice = window_slice_of(block);
    if (UNLIKELY(slice >= thread_stacks.limit))
        return false;
    return stack_push(load_fast(&thread_stacks.view[slice * TAG_COUNT]), block);
}

#endif
