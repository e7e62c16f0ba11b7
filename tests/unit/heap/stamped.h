// What tests of sampling windows and of changing classes share: requests by size as the interface serves them, windows,
// and blocks that know what they are.
#ifndef HAKMEM_TESTS_STAMPED_H
#define HAKMEM_TESTS_STAMPED_H

#include "unit/heap/heaps.h"

#include "heap/sampling.h"
#include "sample/lives.h"

#define MOST_STAMPED_BYTES (200 * KIB)

UNUSED static void open_window(unsigned calls) {
    struct heap *heap = heap_enter();
    heap_open_window(heap, calls);
    heap_leave(heap);
}

UNUSED static void end_window(void) {
    struct heap *heap = heap_enter();
    heap_end_window(heap);
    heap_leave(heap);
}

UNUSED static bool is_sampling(void) {
    return heap_is_sampling(heap_mine());
}

// A request as the interface serves it (api/calls.c).
UNUSED static void *ask(size_t bytes) {
    void *block = stack_pop(class_of(bytes));
    if (block != NULL)
        return block;
    struct heap *heap = heap_enter();
    bool sampled = heap != NULL && heap_is_sampling(heap);
    if (sampled)
        sizes_note(bytes);
    block = heap_refill(class_of(bytes));
    if (sampled)
        heap_note_request(heap, block, bytes);
    heap_leave(heap);
    MUST(block != NULL);
    return block;
}

UNUSED static unsigned class_of_block(const void *block) {
    return slab_of_slice(window_slice_of(block))->class_index;
}

// ---- blocks that know what they are

struct stamp {
    size_t bytes;
    uintptr_t check;
};

UNUSED static uintptr_t check_of(const struct stamp *stamp, size_t bytes) {
    return (uintptr_t)stamp ^ bytes * 0x9e3779b97f4a7c15u;
}

// As many small ones as large ones at every scale, not below a stamp's size.
UNUSED static size_t random_bytes(struct random *random) {
    size_t bytes = sizeof(struct stamp) << random_below(random, 14);
    bytes += random_below(random, bytes);
    return bytes < MOST_STAMPED_BYTES ? bytes : MOST_STAMPED_BYTES;
}

UNUSED static void *make(struct random *random) {
    size_t bytes = random_bytes(random);
    struct stamp *stamp = (struct stamp *)ask(bytes);
    MUST(class_bytes(class_of_block(stamp)) >= bytes);
    *stamp = (struct stamp){bytes, check_of(stamp, bytes)};
    if (bytes > sizeof *stamp)
        ((char *)stamp)[bytes - 1] = 'e';
    return stamp;
}

UNUSED static void drop(void *block) {
    struct stamp *stamp = (struct stamp *)block;
    if (stamp == NULL)
        return;
    MUST(stamp->check == check_of(stamp, stamp->bytes)); // else somebody else has it too
    MUST(stamp->bytes == sizeof *stamp || ((char *)block)[stamp->bytes - 1] == 'e');
    MUST(class_bytes(class_of_block(stamp)) >= stamp->bytes);
    stamp->check = 0;
    release(block);
}

// ---- what a test has, and that nothing is left of it

enum { HELD = 1000 };
UNUSED static void *held[HELD];

// One call: a request or a free.
UNUSED static void call(struct random *random) {
    void **slot = &held[random_below(random, HELD)];
    if (*slot != NULL) {
        drop(*slot);
        *slot = NULL;
    } else {
        *slot = make(random);
    }
}

UNUSED static void drop_all(void) {
    for (unsigned i = 0; i < HELD; i++) {
        drop(held[i]);
        held[i] = NULL;
    }
}

UNUSED static void expect_nothing_out(void) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        MUST(slabs_with_blocks_out(i) == 0);
        MUST(blocks_out(i) == 0);
    }
}

UNUSED static void expect_hidden(const struct heap *heap) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        MUST(heap->stacks->top[i] == CONSTANT_TOP); // Y1
    MUST(heap->tops_shown == 0);
}

UNUSED static int start_each(void **state) {
    (void)state;
    memset(sizes_seen, 0, sizeof sizes_seen);
    return 0;
}

// After each test nobody has anything, and no window is open.
UNUSED static int end_each(void **state) {
    (void)state;
    drop_all();
    expect_nothing_out();
    expect_nobody_inside();
    return is_sampling();
}

#endif
