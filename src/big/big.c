// Blocks above the slab classes.
//
// A run's slices say so in their info; no view shows them, so that every free of a run takes the cold path.
#include "big/big.h"

#include "base/bits.h"
#include "region/runs.h"
#include "sys/os.h"

static void run_mark(size_t first, size_t slices, size_t from) {
    for (size_t i = from; i < slices; i++)
        store_relaxed(&window.info[first + i], SLICE_RUN_INSIDE);
    store_relaxed(&window.info[first], -(intptr_t)slices);
}

static void run_give(size_t first, size_t slices) {
    for (size_t i = 0; i < slices; i++)
        store_relaxed(&window.info[first + i], 0);
    runs_give(first, slices);
}

// The slices of the run block that starts at an address; 0: none does.
static size_t run_slices(const void *block) {
    if (!window_contains(block) || ((uintptr_t)block & (SLICE_BYTES - 1)) != 0)
        return 0;
    intptr_t info = load_relaxed(&window.info[window_slice_of(block)]);
    return info < 0 && info != SLICE_RUN_INSIDE ? (size_t)-info : 0;
}

static void *run_take(size_t bytes, size_t align, bool *zeroed) {
    size_t slices = (bytes + SLICE_BYTES - 1) >> SLICE_SHIFT;
    size_t first = runs_take(slices, align > SLICE_BYTES ? align >> SLICE_SHIFT : 1, zeroed);
    if (first == NO_SLICE)
        return NULL;
    run_mark(first, slices, 0);
    return window_address(first);
}

void *big_take(size_t bytes, size_t align, bool *zeroed) {
    void *block = NULL;
    bytes = bytes == 0 ? 1 : bytes; // an aligned block of no bytes is a block nonetheless
    // A run's address is a multiple of what its slice's number is, up to the window's own alignment.
    if (bytes <= BIG_RUN_MAX_BYTES && align <= GROUP_BYTES)
        block = run_take(bytes, align, zeroed);
    if (block != NULL)
        return block;
    *zeroed = true;
    return mapping_make(bytes, align);
}

size_t big_usable_bytes(const void *block) {
    struct mapping found;
    if (window_contains(block))
        return run_slices(block) << SLICE_SHIFT;
    return mapping_find(block, &found) ? found.bytes : 0;
}

bool big_give(void *block) {
    if (!window_contains(block))
        return mapping_end(block);
    size_t slices = run_slices(block);
    if (slices == 0)
        return false;
    run_give(window_slice_of(block), slices);
    return true;
}

static void *run_resize(void *block, size_t bytes) {
    size_t first = window_slice_of(block);
    size_t old_slices = run_slices(block);
    size_t slices = (bytes + SLICE_BYTES - 1) >> SLICE_SHIFT;
    if (slices > old_slices && !runs_take_behind(first + old_slices, slices - old_slices))
        return NULL;
    if (slices > old_slices)
        run_mark(first, slices, old_slices);
    if (slices < old_slices) {
        store_relaxed(&window.info[first], -(intptr_t)slices);
        run_give(first + slices, old_slices - slices);
    }
    return block;
}

void *big_resize(void *block, size_t bytes) {
    if (!window_contains(block))
        return mapping_resize(block, bytes);
    return run_slices(block) == 0 ? NULL : run_resize(block, bytes);
}
