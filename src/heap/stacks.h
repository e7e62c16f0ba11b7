// A thread's stacks as the fast path sees them: per class a pointer to just above the top block.
//
//   a stack's cell, 1 KiB, aligned:                          top
//   | ... unused ... | NULL | oldest | ... | newest |        v free slots ... |  end of the cell
//                      ^      ^ bottom                                        ^ (top & mask) == 0: full
//                      the slot below the bottom: reading it as the top says "empty"
//
// T1. The slot below the bottom holds NULL. A stack's capacity is where its bottom lies.
// T2. The constant stack is empty and full at once. Tops that point to it send every call to the cold path.
// T3. Only the thread itself writes its tops and slots; others read tops for statistics, a fork child to take them
//     over. Who changes size classes takes empty stacks away (H6). A visitor replaces blocks by NULL (heap/visit.h).
// T4. A block is in the slot before the top covers it, and the top is lowered before the block goes elsewhere.
#ifndef HEAP_STACKS_H
#define HEAP_STACKS_H

#include "base/atomics.h"
#include "base/tuning.h"

struct heap;

struct stacks {
    void **top[CLASS_END]; // that of CLASS_NONE is always the constant stack
    size_t limit;          // slices that this thread's free() looks up; 0 while it has no heap
    const uint8_t *view;   // what threads of this one's tag see: view[slice * TAG_COUNT]
    struct heap *heap;     // NULL until the thread's first slow call
    bool ended;            // the thread's heap has been given up
};

#define STACK_MASK (STACK_BYTES - 1)

// T2: the NULL right below a multiple of the cell size.
struct constant_stack {
    void *slots[STACK_SLOTS];
    void *end[1];
};
SHARED struct constant_stack constant_stack;
#define CONSTANT_TOP (constant_stack.end)

// The variant for dlopen has one pointer of thread-local storage in place of the stacks.
#ifdef HAKMEM_TLS_POINTER
SHARED __thread struct stacks *thread_stacks_pointer __attribute__((tls_model("initial-exec")));
#define thread_stacks (*thread_stacks_pointer)
#else
SHARED __thread struct stacks thread_stacks __attribute__((tls_model("initial-exec")));
#endif

// Points the thread's tops to the constant stack where they are still zero; for api/early.c.
INTERNAL void stacks_set_early(void);

#endif
