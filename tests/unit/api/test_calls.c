// The allocation calls without names: every size and alignment, content kept, errno, and what is no block.
#include "unit/decide.h"
#include "unit/unit.h"

#include "unit/api/calls.h"

#include "big/cache.h"
#include "hakmem/hakmem.h"
#include "heap/sampling.h"
#include "learn/learn.h"
#include "sample/sizes.h"

static void a_block_holds_what_was_asked_for(void **state) {
    void *blocks[COUNT_OF(sizes)];
    (void)state;
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        blocks[i] = call_malloc(sizes[i]);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % BLOCK_ALIGN, 0);
        size_t usable = call_usable_bytes(blocks[i]);
        assert_true(usable >= sizes[i] && usable <= sizes[i] + sizes[i] / 4 + SLICE_BYTES);
        fill_pattern(blocks[i], usable, (unsigned)i);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_true(holds_pattern(blocks[i], call_usable_bytes(blocks[i]), call_usable_bytes(blocks[i]), (unsigned)i));
        call_free(blocks[i]);
    }
    call_free(NULL);
    assert_int_equal(errno, UNTOUCHED);
}

static void what_cannot_be_had_is_null_with_enomem(void **state) {
    (void)state;
    uint64_t before = fault_times(FAULT_out_of_memory);
    for (size_t i = 0; i < COUNT_OF(impossible_sizes); i++) {
        errno = 0;
        assert_null(call_malloc(impossible_sizes[i]));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(call_calloc(1, impossible_sizes[i]));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(call_aligned(impossible_sizes[i], 64));
        assert_int_equal(errno, ENOMEM);
    }
    errno = 0;
    assert_null(call_aligned(1, (size_t)1 << 62));
    assert_int_equal(errno, ENOMEM);
    assert_true(fault_times(FAULT_out_of_memory) >= before + 3 * COUNT_OF(impossible_sizes) + 1);
}

static void calloc_zeroes_what_was_used_before(void **state) {
    (void)state;
    for (unsigned turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            char *block = call_calloc(1, sizes[i]);
            assert_non_null(block);
            assert_true(is_zero(block, sizes[i] < 100000 ? sizes[i] : 100000));
            for (size_t offset = 0; offset < sizes[i]; offset += 512)
                assert_int_equal(block[offset], 0);
            memset(block, 0xee, call_usable_bytes(block));
            call_free(block);
        }
}

static void calloc_knows_products_that_do_not_fit(void **state) {
    (void)state;
    const size_t factors[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX / 2 + 1, 2}, {(size_t)1 << 32, (size_t)1 << 32}, {3, SIZE_MAX / 2}};
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        errno = 0;
        assert_null(call_calloc(factors[i][0], factors[i][1]));
        assert_int_equal(errno, ENOMEM);
    }
    void *block = call_calloc(SIZE_MAX, 0);
    assert_non_null(block);
    call_free(block);
}

static void blocks_are_aligned_as_asked(void **state) {
    (void)state;
    for (size_t align = 1; align <= 128 * MIB; align *= 2)
        for (size_t i = 0; i < COUNT_OF(sizes); i += 1 + 2 * (align > MIB)) {
            void *first = call_aligned(sizes[i], align), *second = call_aligned(sizes[i], align);
            assert_non_null(first);
            assert_non_null(second);
            assert_ptr_not_equal(first, second);
            assert_int_equal((uintptr_t)first % align, 0);
            assert_int_equal((uintptr_t)second % align, 0);
            assert_true(call_usable_bytes(first) >= sizes[i]);
            fill_pattern(first, sizes[i], 1);
            fill_pattern(second, sizes[i], 2);
            assert_true(holds_pattern(first, sizes[i], sizes[i], 1));
            call_free(first);
            call_free(second);
        }
}

// One by one, as classes that serve them.
static void aligned_requests_are_seen_in_sampling_windows(void **state) {
    static const size_t bytes[] = {100, 1000, 5000, 40000};
    (void)state;
    for (size_t align = 64; align <= 4096; align *= 8)
        for (size_t i = 0; i < COUNT_OF(bytes); i++) {
            size_t served = class_bytes(class_of_aligned(bytes[i], align));
            uint32_t before = load_relaxed(&sizes_seen[sizes_entry(served)]);
            struct heap *heap = heap_enter();
            heap_open_window(heap, 1);
            heap_leave(heap);
            void *block = call_aligned(bytes[i], align);
            assert_false(heap_is_sampling(heap));
            assert_int_equal(load_relaxed(&sizes_seen[sizes_entry(served)]), before + 1);
            call_free(block);
        }
}

static void realloc_keeps_the_content_from_any_size_to_any(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            if (sizes[k] == 0 || (SANITIZED && (i + k) % 3 != 0))
                continue;
            char *block = call_malloc(sizes[i]);
            fill_pattern(block, sizes[i], 9);
            errno = UNTOUCHED;
            char *moved = call_realloc(block, sizes[k]);
            assert_int_equal(errno, UNTOUCHED);
            assert_non_null(moved);
            assert_true(call_usable_bytes(moved) >= sizes[k]);
            assert_true(holds_pattern(moved, sizes[i], sizes[i] < sizes[k] ? sizes[i] : sizes[k], 9));
            fill_pattern(moved, sizes[k], 3);
            call_free(moved);
        }
}

static void realloc_stays_where_the_block_fits_and_moves_where_much_lies_idle(void **state) {
    (void)state;
    for (size_t i = 6; i < COUNT_OF(sizes); i++) {
        char *block = call_malloc(sizes[i]);
        size_t usable = call_usable_bytes(block);
        assert_ptr_equal(call_realloc(block, usable), block);
        size_t less = usable - usable / 4;
        if (usable > CLASS_LARGE_MAX && less <= CLASS_LARGE_MAX)
            less = CLASS_LARGE_MAX + 1; // below it is another kind of block
        assert_ptr_equal(call_realloc(block, less), block);
        char *small = call_realloc(block, 64);
        assert_true(call_usable_bytes(small) <= 128);
        call_free(small);
    }
}

static void a_block_that_grows_in_small_steps_moves_seldom(void **state) {
    (void)state;
    unsigned moves = 0;
    char *block = call_malloc(16);
    for (size_t bytes = 32; bytes <= 4096; bytes += 16) {
        size_t before = call_usable_bytes(block);
        block = call_realloc(block, bytes);
        moves += call_usable_bytes(block) != before;
    }
    assert_int_equal(moves, 19); // 47 classes lie between
    call_free(block);
    block = call_realloc(call_malloc(1000), 2000); // not a small step
    assert_int_equal(call_usable_bytes(block), class_bytes(class_of(2000)));
    call_free(block);
}

static void copies_of_growing_blocks_are_counted_while_something_is_learned(void **state) {
    char *block = call_malloc(1024);
    (void)state;
    learn_is_on = LEARN_ON;
    uint64_t blocks = observed_grown_blocks, bytes = observed_grown_bytes;
    block = call_realloc(block, 1040);
    block = call_realloc(block, 4096); // no small step
    block = call_realloc(block, 100);
    learn_is_on = LEARN_OFF;
    assert_int_equal(observed_grown_blocks, blocks + 1);
    assert_int_equal(observed_grown_bytes, bytes + 1024);
    block = call_realloc(block, 120);
    assert_int_equal(observed_grown_blocks, blocks + 1);
    call_free(block);
}

static void realloc_of_null_allocates_and_to_nothing_frees(void **state) {
    (void)state;
    char *block = call_realloc(NULL, 100);
    assert_non_null(block);
    assert_null(call_realloc(block, 0));
    block = call_realloc(NULL, 0);
    assert_non_null(block);
    call_free(block);
}

static void a_realloc_that_fails_leaves_the_block_as_it_was(void **state) {
    (void)state;
    for (size_t i = 1; i < COUNT_OF(sizes); i++)
        for (size_t k = 0; k < COUNT_OF(impossible_sizes); k++) {
            char *block = call_malloc(sizes[i]);
            fill_pattern(block, sizes[i], 5);
            errno = 0;
            assert_null(call_realloc(block, impossible_sizes[k]));
            assert_int_equal(errno, ENOMEM);
            assert_true(holds_pattern(block, sizes[i], sizes[i], 5));
            call_free(block);
        }
}

static void a_growing_block_is_copied_rarely(void **state) {
    (void)state;
    unsigned moves = 0;
    char *block = call_malloc(1);
    for (size_t bytes = 1; bytes < 80 * MIB; bytes += bytes / 8 + 1) {
        char *grown = call_realloc(block, bytes);
        assert_non_null(grown);
        moves += grown != block && bytes > 2 * MIB && window_contains(grown);
        block = grown;
        block[bytes - 1] = 1;
    }
    assert_true(moves <= 2); // from some megabytes on the kernel moves its pages
    call_free(block);
}

// ---- what is no block

static void nothing_is_usable_of_what_is_no_block(void **state) {
    static int variable;
    (void)state;
    char *run = call_malloc(3 * MIB), *mapping = call_malloc(100 * MIB);
    assert_int_equal(call_usable_bytes(NULL), 0);
    assert_int_equal(call_usable_bytes(&variable), 0);
    assert_int_equal(call_usable_bytes(run + SLICE_BYTES), 0);
    assert_int_equal(call_usable_bytes(mapping + 4096), 0);
    assert_int_equal(call_usable_bytes(window_address(window.limit - 1)), 0);
    call_free(run);
    assert_int_equal(call_usable_bytes(run), 0);
    call_free(mapping);
    assert_int_equal(call_usable_bytes(mapping), 0);
}

static void freeing_what_is_no_block_is_a_fault_of_its_kind(void **state) {
    static int variable;
    (void)state;
    char *run = call_malloc(3 * MIB), *mapping = call_malloc(100 * MIB);
    assert_one_fault(FAULT_foreign_pointer, call_free(&variable));
    assert_one_fault(FAULT_misaligned_pointer, call_free(run + SLICE_BYTES));
    assert_one_fault(FAULT_misaligned_pointer, call_free(run + 16));
    assert_one_fault(FAULT_foreign_pointer, call_free(mapping + 4096));
    assert_one_fault(FAULT_invalid_pointer, call_free(window_address(window.limit - 1)));
    call_free(run);
    assert_one_fault(FAULT_invalid_pointer, call_free(run));
    call_free(mapping);
    assert_one_fault(FAULT_foreign_pointer, call_free(mapping));
}

static void a_misplaced_pointer_into_a_slab_is_seen_when_the_stack_is_emptied(void **state) {
    (void)state;
    char *block = call_malloc(500);
    call_free(block + 32);
    assert_one_fault(FAULT_misaligned_pointer, heap_empty(heap_mine()));
    call_free(block);
    call_free(block);
    assert_one_fault(FAULT_double_free, heap_empty(heap_mine()));
}

// As free does; nothing is allocated for it.
static void resizing_what_is_no_block_is_a_fault_of_its_kind(void **state) {
    static int variable;
    (void)state;
    char *run = call_malloc(3 * MIB);
    errno = 0;
    assert_one_fault(FAULT_foreign_pointer, assert_null(call_realloc(&variable, 100)));
    assert_int_equal(errno, ENOMEM);
    assert_one_fault(FAULT_misaligned_pointer, assert_null(call_realloc(run + SLICE_BYTES, 100)));
    assert_one_fault(FAULT_invalid_pointer, assert_null(call_realloc(window_address(window.limit - 1), 100)));
    call_free(run);
    assert_one_fault(FAULT_invalid_pointer, assert_null(call_realloc(run, 100)));
}

static void call_under_a_limit(void *context) {
    struct rlimit limit = {300 * MIB, 300 * MIB};
    static void *blocks[10000];
    size_t count = 0;
    (void)context;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    while ((blocks[count] = call_malloc(1000000)) != NULL)
        count++;
    MUST(errno == ENOMEM && count > 150);
    MUST(call_malloc(3 * MIB) == NULL && call_aligned(100, 4096) == NULL);
    void *old = blocks[count - 1];
    MUST(call_realloc(old, 10 * MIB) == NULL);
    memset(old, 1, 1000000);
    for (size_t i = 0; i < count; i++)
        call_free(blocks[i]);
    void *large = call_malloc(30 * MIB); // what was freed is given back before NULL is the answer
    MUST(large != NULL);
    call_free(large);
}

static void memory_that_was_freed_serves_any_size_before_null(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    child_must_succeed(call_under_a_limit, NULL);
}

static size_t cached_bytes_after(unsigned big_blocks) {
    struct hakmem_stats stats = {.size = sizeof stats};
    for (unsigned i = 0; i < big_blocks; i++)
        call_free(call_malloc(CLASS_LARGE_MAX + 1));
    assert_int_equal(hakmem_stats(&stats), 0);
    return stats.cached_bytes;
}

static void blocks_above_the_classes_let_idle_stacks_go(void **state) {
    void *blocks[30];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = call_malloc(100000);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        call_free(blocks[i]);
    size_t at_first = cached_bytes_after(1); // the last one is kept, too
    size_t stacked = at_first - cached_bytes_after(8 * CLASS_END * LOOK_AROUND_TURNS);
    assert_in_range(stacked, 100000, at_first);
}

// N3. Blocks of a phase that is over, in a stack deep enough for all of them, when the next phase takes memory anew.
static void grow_beside_a_full_stack(void *context) {
    void *blocks[64];
    unsigned class_index = class_of(512 * KIB);
    (void)context;
    DECIDE(thread_bytes, COUNT_OF(blocks) * class_bytes(class_index));
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = call_malloc(512 * KIB);
    struct heap *heap = heap_mine();
    heap_flush(heap, class_index, 0);
    heap_set_depth(heap, class_index, COUNT_OF(blocks));
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        call_free(blocks[i]);
    MUST(heap_stack_blocks(heap, class_index) == COUNT_OF(blocks));
    void *block = call_malloc(40 * MIB);
    MUST(block != NULL && heap_stack_blocks(heap, class_index) == 0);
    call_free(block);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = call_malloc(512 * KIB);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        call_free(blocks[i]);
    MUST(call_malloc(40 * MIB) != NULL); // nothing was taken anew
    MUST(heap_stack_blocks(heap, class_index) > COUNT_OF(blocks) / 2);
}

static void growth_takes_what_deep_stacks_hold(void **state) {
    (void)state;
    child_must_succeed(grow_beside_a_full_stack, NULL);
}

static void *take_big_block(void) {
    return call_malloc(10 * MIB);
}

static void *take_small_block(void) {
    return call_malloc(5000);
}

static void *take_aligned_block(void) {
    return call_aligned(5000, 4096);
}

static void *take_zeroed_block(void) {
    return call_calloc(100000, 1);
}

// Big blocks alone, of which the cache keeps one: the helper looks after it (option purge_delay) as soon as anything is
// allocated in any way.
static void two_big_blocks(void *context) {
    void *(*const *take)(void) = context;
    void *one = call_malloc(12 * MIB), *other = call_malloc(12 * MIB);
    MUST(one != NULL && other != NULL);
    memset(one, 1, 12 * MIB);
    call_free(one);
    MUST(cache_count().bytes >= 12 * MIB);
    DECIDE(purge_delay, 30);
    MUST((*take)() != NULL);
    for (unsigned i = 0; i < 60 * 1000 && cache_count().bytes > 0; i++)
        os_sleep(1000); // at most a minute
    MUST(cache_count().bytes == 0);
    call_free(other);
}

static void big_blocks_that_nobody_takes_go_back(void **state) {
    void *(*const ways[])(void) = {take_big_block, take_small_block, take_aligned_block, take_zeroed_block};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(ways); i++)
        child_must_succeed(two_big_blocks, (void *)&ways[i]);
}

int main(void) {
    const struct CMUnitTest before_start[] = {
        cmocka_unit_test(memory_that_was_freed_serves_any_size_before_null),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_holds_what_was_asked_for),
        cmocka_unit_test(what_cannot_be_had_is_null_with_enomem),
        cmocka_unit_test(calloc_zeroes_what_was_used_before),
        cmocka_unit_test(calloc_knows_products_that_do_not_fit),
        cmocka_unit_test(blocks_are_aligned_as_asked),
        cmocka_unit_test(aligned_requests_are_seen_in_sampling_windows),
        cmocka_unit_test(realloc_keeps_the_content_from_any_size_to_any),
        cmocka_unit_test(realloc_stays_where_the_block_fits_and_moves_where_much_lies_idle),
        cmocka_unit_test(a_block_that_grows_in_small_steps_moves_seldom),
        cmocka_unit_test(copies_of_growing_blocks_are_counted_while_something_is_learned),
        cmocka_unit_test(realloc_of_null_allocates_and_to_nothing_frees),
        cmocka_unit_test(a_realloc_that_fails_leaves_the_block_as_it_was),
        cmocka_unit_test(a_growing_block_is_copied_rarely),
        cmocka_unit_test(blocks_above_the_classes_let_idle_stacks_go),
        cmocka_unit_test(nothing_is_usable_of_what_is_no_block),
        cmocka_unit_test(freeing_what_is_no_block_is_a_fault_of_its_kind),
        cmocka_unit_test(a_misplaced_pointer_into_a_slab_is_seen_when_the_stack_is_emptied),
        cmocka_unit_test(resizing_what_is_no_block_is_a_fault_of_its_kind),
        cmocka_unit_test(growth_takes_what_deep_stacks_hold),
        cmocka_unit_test(big_blocks_that_nobody_takes_go_back),
    };
    int failed = cmocka_run_group_tests_name("calls under a limit", before_start, NULL, NULL);
    return failed + cmocka_run_group_tests_name("calls", tests, start_calls, NULL);
}
