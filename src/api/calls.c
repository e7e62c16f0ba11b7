// The allocation calls' cold halves.
#include "api/calls.h"

#include <errno.h>
#include <string.h>

#include "api/foreign.h"
#include "big/big.h"
#include "big/routes.h"
#include "heap/helper.h"
#include "heap/sampling.h"
#include "learn/learn.h"
#include "policy/snapshot.h"
#include "sample/sizes.h"
#include "sys/fault.h"

void *call_no_memory(void) {
    fault_count(FAULT_out_of_memory);
    errno = ENOMEM;
    return NULL;
}

// The slab class that serves a request; CLASS_NONE: none does, it is closed (big_threshold), or the site has a rule.
static unsigned open_class(unsigned class_index, uintptr_t site) {
    size_t bytes = class_bytes(class_index);
    if (bytes >= routes_threshold(site, bytes, DECIDED(big_threshold)))
        return CLASS_NONE;
    return class_index;
}

// A block above the slab classes.
static void *take_big(size_t bytes, size_t align, uintptr_t site, bool *zeroed) {
    if (bytes > PTRDIFF_MAX)
        return NULL;
    learn_note_caller(site, bytes);
    learn_note_big(site, bytes);
    struct heap *heap = heap_enter();
    struct kept *kept = heap != NULL ? &heap->kept : NULL;
    if (LIKELY(heap != NULL))
        heap_look_around(heap, CLASS_NONE);
    void *block = big_take(bytes, align, site, zeroed, kept);
    if (UNLIKELY(block == NULL) && heap_trim(0))
        block = big_take(bytes, align, site, zeroed, kept);
    if (heap != NULL && block != NULL && *zeroed)
        heap_pay_for_growth(heap);
    heap_leave(heap);
    learn_look(0);
    helper_look();
    return block;
}

// False: no big block starts there.
static bool give_big(void *block) {
    struct heap *heap = heap_enter();
    bool given = big_give(block, heap != NULL ? &heap->kept : NULL);
    heap_leave(heap);
    learn_look(0);
    return given;
}

// In place or moved by the kernel; NULL: neither.
static void *resize_big(void *block, size_t bytes) {
    struct heap *heap = heap_enter();
    void *resized = big_resize(block, bytes);
    heap_leave(heap);
    learn_look(0);
    return resized;
}

// A block for a request of at most CLASS_LARGE_MAX bytes.
static void *take_small(size_t bytes, uintptr_t site) {
    bool zeroed;
    uint64_t begin = learn_begin();
    struct heap *heap = heap_enter(); // H6
    bool sampled = heap != NULL && heap_is_sampling(heap);
    if (UNLIKELY(sampled))
        sizes_note(bytes);
    unsigned class_index = open_class(class_of(bytes), site);
    void *block = LIKELY(class_index != CLASS_NONE) ? heap_refill(class_index) : take_big(bytes, 1, site, &zeroed);
    if (UNLIKELY(sampled) && class_index != CLASS_NONE)
        heap_note_request(heap, block, bytes);
    heap_leave(heap);
    learn_look(begin);
    helper_look();
    return block;
}

void *call_malloc_slow(size_t bytes) {
    bool zeroed;
    void *block = NULL;
    if (heap_process_start())
        block =
            LIKELY(bytes <= CLASS_LARGE_MAX) ? take_small(bytes, CALL_SITE) : take_big(bytes, 1, CALL_SITE, &zeroed);
    return LIKELY(block != NULL) ? block : call_no_memory();
}

void *call_malloc_big(size_t bytes, uintptr_t site) {
    bool zeroed;
    void *block = heap_process_start() ? take_big(bytes, 1, site, &zeroed) : NULL;
    return LIKELY(block != NULL) ? block : call_no_memory();
}

// A pointer in the window where no block starts.
static COLD void report_no_block(const void *block) {
    intptr_t info = load_relaxed(&window.info[window_slice_of(block)]);
    bool inside = info != 0 && !window_is_kept(info);
    fault_report(inside ? FAULT_misaligned_pointer : FAULT_invalid_pointer, block, 0);
}

// A pointer in the window that lies in no slab.
static COLD void free_in_window(void *block) {
    if (!give_big(block))
        report_no_block(block);
}

void call_free_slow(void *block) {
    if (block == NULL)
        return;
    if (!window_contains(block)) {
        if (!give_big(block))
            foreign_free(block);
        return;
    }
    struct slab *slab = slab_of_slice(window_slice_of(block));
    if (LIKELY(slab != NULL)) {
        heap_take_back(block, slab);
        learn_look(0);
    } else {
        free_in_window(block);
    }
}

size_t call_usable_bytes(const void *block) {
    if (block == NULL)
        return 0;
    if (window_contains(block)) {
        const struct slab *slab = slab_of_slice(window_slice_of(block));
        if (LIKELY(slab != NULL))
            return class_bytes(slab->class_index);
    }
    return big_usable_bytes(block);
}

// A block of more than CLASS_FINE_MAX: clearing one that reads as zero would cost more than the cold path.
static void *take_zeroed(size_t bytes, uintptr_t site, bool *zeroed) {
    void *block = stack_pop(bytes <= CLASS_LARGE_MAX ? class_of_large(bytes) : CLASS_NONE);
    if (block != NULL || !heap_process_start())
        return block;
    struct heap *heap = heap_enter(); // H6
    bool sampled = heap != NULL && heap_is_sampling(heap) && bytes <= CLASS_LARGE_MAX;
    if (UNLIKELY(sampled))
        sizes_note(bytes);
    unsigned class_index = bytes <= CLASS_LARGE_MAX ? open_class(class_of_large(bytes), site) : CLASS_NONE;
    if (class_index != CLASS_NONE)
        block = heap_refill_zeroed(class_index, zeroed);
    else
        block = take_big(bytes, 1, site, zeroed);
    if (UNLIKELY(sampled) && class_index != CLASS_NONE)
        heap_note_request(heap, block, bytes);
    heap_leave(heap);
    learn_look(0);
    helper_look();
    return block;
}

void *call_calloc(size_t count, size_t bytes) {
    size_t total;
    if (UNLIKELY(__builtin_mul_overflow(count, bytes, &total)))
        return call_no_memory();
    bool zeroed = false;
    void *block = LIKELY(total <= CLASS_FINE_MAX) ? call_malloc(total) : take_zeroed(total, CALL_SITE, &zeroed);
    if (UNLIKELY(block == NULL))
        return call_no_memory();
    return zeroed ? block : memset(block, 0, total);
}

// What is seen of it in a window (Y2) is a request for all of a block: one of another length would not do.
static NOINLINE void *take_aligned(size_t bytes, size_t align, uintptr_t site) {
    bool zeroed;
    uint64_t begin = learn_begin();
    struct heap *heap = heap_enter(); // H6
    unsigned fits = class_of_aligned(bytes, align);
    bool sampled = heap != NULL && heap_is_sampling(heap) && fits != CLASS_NONE;
    if (UNLIKELY(sampled))
        sizes_note(class_bytes(fits));
    unsigned class_index = fits != CLASS_NONE ? open_class(fits, site) : CLASS_NONE;
    void *block = class_index != CLASS_NONE ? heap_refill(class_index) : take_big(bytes, align, site, &zeroed);
    if (UNLIKELY(sampled) && class_index != CLASS_NONE)
        heap_note_request(heap, block, class_bytes(class_index));
    heap_leave(heap);
    learn_look(begin);
    helper_look();
    return block;
}

void *call_aligned(size_t bytes, size_t align) {
    if (align <= BLOCK_ALIGN)
        return call_malloc(bytes);
    void *block = stack_pop(class_of_aligned(bytes, align)); // of no class before the start: it is empty
    if (LIKELY(block != NULL))
        return block;
    if (align <= PTRDIFF_MAX && heap_process_start()) // take_big looks at bytes
        block = take_aligned(bytes, align, CALL_SITE);
    return block != NULL ? block : call_no_memory();
}

// What to ask for in place of `bytes`: a block that outgrows its own by a small step is likely to go on growing by
// such steps, and gets room for some.
static size_t with_headroom(size_t old_bytes, size_t bytes) {
    size_t step = old_bytes / REALLOC_STEP_SHARE < BLOCK_ALIGN ? BLOCK_ALIGN : old_bytes / REALLOC_STEP_SHARE;
    size_t parts = DECIDED(headroom_share);
    size_t more = old_bytes + old_bytes / (parts > 0 ? parts : 1); // P1
    bool steps = bytes > old_bytes && bytes - old_bytes <= step;
    if (steps)
        learn_note_growth(old_bytes);
    return steps && more > bytes && more <= CLASS_LARGE_MAX ? more : bytes;
}

// A new block with the old one's content.
static void *move_block(void *block, size_t old_bytes, size_t bytes) {
    void *moved = call_malloc(with_headroom(old_bytes, bytes));
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    call_free(block);
    return moved;
}

// A large run that can't grow moves once into a mapping of its own, which the kernel can move without copying from then
// on.
static void *move_run(void *block, size_t old_bytes, size_t bytes, uintptr_t site) {
    bool zeroed;
    struct heap *heap = heap_enter();
    void *moved = big_take_mapping(bytes, 1, site, &zeroed);
    heap_leave(heap);
    if (moved == NULL)
        return move_block(block, old_bytes, bytes);
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    call_free(block);
    return moved;
}

static COLD void *realloc_no_block(void *block, size_t bytes) {
    if (!window_contains(block))
        return foreign_realloc(block, bytes);
    report_no_block(block);
    errno = ENOMEM;
    return NULL;
}

// In place while the block fits and at most half of it would lie idle.
static bool stays(size_t old_bytes, size_t bytes) {
    return bytes - 1 < old_bytes && (bytes > old_bytes / 2 || old_bytes <= 4 * BLOCK_ALIGN); // 0 is no size
}

// Usable bytes of a block whose class this thread sees, else 0: without a look at its slab.
static size_t bytes_in_view(const void *block) {
    size_t slice = window_slice_of(block);
    if (UNLIKELY(slice >= thread_stacks.limit))
        return 0;
    return class_bytes(load_fast(&thread_stacks.view[slice * TAG_COUNT]));
}

// Everything else.
static __attribute__((noinline)) void *realloc_otherwise(void *block, size_t bytes, uintptr_t site) {
    if (block == NULL)
        return call_malloc(bytes);
    if (bytes == 0) {
        call_free(block);
        return NULL;
    }
    if (UNLIKELY(bytes > PTRDIFF_MAX))
        return call_no_memory();
    size_t old_bytes = call_usable_bytes(block);
    if (UNLIKELY(old_bytes == 0))
        return realloc_no_block(block, bytes);
    if (old_bytes <= CLASS_LARGE_MAX) {
        return stays(old_bytes, bytes) ? block : move_block(block, old_bytes, bytes);
    }
    if (bytes > CLASS_LARGE_MAX) {
        void *resized = resize_big(block, bytes);
        if (resized != NULL)
            return resized;
        if (bytes < REALLOC_MAPPING_BYTES)
            return move_block(block, old_bytes, bytes);
        return move_run(block, old_bytes, bytes, site);
    }
    return move_block(block, old_bytes, bytes);
}

void *call_realloc(void *block, size_t bytes) {
    if (LIKELY(stays(bytes_in_view(block), bytes)))
        return block;
    return realloc_otherwise(block, bytes, CALL_SITE);
}
