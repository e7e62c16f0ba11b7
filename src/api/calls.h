// What every name of the interface shares: the allocation calls themselves, without names.
//
// On failure they return NULL and set errno to ENOMEM; on success errno stays as it was.
#ifndef API_CALLS_H
#define API_CALLS_H

#include "heap/heap_fast.h"

// The return address of the function that takes it: the program's call, where the compiler turned the calls before into
// jumps. A hint by which big blocks are found again.
#define CALL_SITE ((uintptr_t)__builtin_return_address(0))

INTERNAL void *call_malloc_slow(size_t bytes);
// More than CLASS_LARGE_MAX, for a call that returns to `site`.
INTERNAL void *call_malloc_big(size_t bytes, uintptr_t site);
INTERNAL void call_free_slow(void *block);
INTERNAL void *call_calloc(size_t count, size_t bytes);
INTERNAL void *call_realloc(void *block, size_t bytes);
// `align`: a power of two.
INTERNAL void *call_aligned(size_t bytes, size_t align);
// Bytes that may be used of a block; 0 for NULL and for what is no block.
INTERNAL size_t call_usable_bytes(const void *block);
// NULL with ENOMEM.
INTERNAL COLD void *call_no_memory(void);

// Above the sizes that the class map lists in steps of 16 bytes.
static NOINLINE void *call_malloc_large(size_t bytes) {
    if (LIKELY(bytes <= CLASS_LARGE_MAX)) {
        void *block = stack_pop(class_of_large(bytes));
        if (LIKELY(block != NULL))
            return block;
    }
    return call_malloc_slow(bytes);
}

ALWAYS_INLINE void *call_malloc(size_t bytes) {
    if (UNLIKELY(bytes > CLASS_FINE_MAX))
        return call_malloc_large(bytes);
    void *block = stack_pop(class_of_fine(bytes));
    if (LIKELY(block != NULL))
        return block;
    return call_malloc_slow(bytes);
}

ALWAYS_INLINE void call_free(void *block) {
    if (UNLIKELY(!stack_free(block)))
        call_free_slow(block);
}

#endif
