// Refills: what a thread's stack gets, from which slabs, in which order, and what happens when there is nothing.
#include "unit/unit.h"

#include "unit/heap/heaps.h"

enum { MANY = 20000 };
static void *blocks[MANY];

static int compare_addresses(const void *left, const void *right) {
    uintptr_t a = (uintptr_t) * (void *const *)left, b = (uintptr_t) * (void *const *)right;
    return a < b ? -1 : a > b;
}

static void expect_apart(void **some, size_t count, size_t bytes) {
    qsort(some, count, sizeof *some, compare_addresses);
    for (size_t i = 1; i < count; i++)
        assert_true((char *)some[i - 1] + bytes <= (char *)some[i]);
}

static void the_first_block_of_a_class_brings_a_stack(void **state) {
    unsigned class_index = class_of(176);
    (void)state;
    struct heap *heap = heap_mine();
    assert_non_null(heap);
    assert_ptr_equal(thread_stacks.heap, heap);
    assert_ptr_equal(thread_stacks.top[class_index], CONSTANT_TOP);
    assert_null(stack_pop(class_index));
    void *block = heap_refill(class_index);
    assert_non_null(block);
    assert_true(heap->classes[class_index].depth > 0); // H1
    assert_ptr_not_equal(thread_stacks.top[class_index], CONSTANT_TOP);
    assert_null(heap_bottom(heap, class_index)[-1]); // T1
    release(block);
}

static void a_refill_leaves_blocks_of_its_class_lowest_on_top(void **state) {
    (void)state;
    struct heap *heap = heap_mine();
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        char *block = allocate(i);
        assert_int_equal(slab_of_slice(window_slice_of(block))->class_index, i);
        unsigned stacked = heap_stack_blocks(heap, i);
        assert_true(stacked <= heap->classes[i].depth);
        for (char *last = block; stacked > 0; stacked--) {
            char *next = stack_pop(i);
            assert_true(next > last); // fresh memory is touched in order
            assert_int_equal(slab_of_slice(window_slice_of(next))->class_index, i);
            last = next;
        }
        assert_null(stack_pop(i));
    }
}

static void blocks_never_overlap(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i += 3) {
        size_t count = class_bytes(i) > 32 * KIB ? 100 : class_bytes(i) > KIB ? 2000 : MANY;
        allocate_many(i, blocks, count);
        expect_apart(blocks, count, class_bytes(i));
        release_many(blocks, count);
    }
}

static void batches_grow_so_that_refills_become_rare(void **state) {
    unsigned class_index = class_of(48);
    (void)state;
    struct counts before = counts_of(class_index);
    allocate_many(class_index, blocks, MANY);
    struct counts after = counts_of(class_index);
    uint64_t refilled = after.counters.refilled_blocks - before.counters.refilled_blocks;
    assert_true(after.counters.refills - before.counters.refills < MANY / 25);
    assert_true(refilled >= MANY - STACK_MAX_DEPTH && refilled <= MANY + STACK_MAX_DEPTH); // no more than asked for
    release_many(blocks, MANY);
}

static void a_thread_that_needs_little_takes_little(void **state) {
    unsigned class_index = class_of(640);
    (void)state;
    struct counts before = counts_of(class_index);
    void *block = allocate(class_index);
    struct counts after = counts_of(class_index);
    assert_true(after.counters.refilled_blocks - before.counters.refilled_blocks <= 8);
    release(block);
}

static void used_blocks_are_taken_before_new_ones(void **state) {
    unsigned class_index = class_of(112);
    (void)state;
    allocate_many(class_index, blocks, MANY);
    uint64_t made = slab_count(class_index).made;
    for (size_t turn = 0; turn < 5; turn++) {
        for (size_t i = turn; i < MANY; i += 2)
            release(blocks[i]);
        for (size_t i = turn; i < MANY; i += 2)
            blocks[i] = allocate(class_index);
    }
    assert_true(slab_count(class_index).made <= made + 1);
    expect_apart(blocks, MANY, class_bytes(class_index));
    release_many(blocks, MANY);
}

// Large blocks: one that is a little larger, and at hand, serves rather than a slab; not one that is passed on.
static void a_larger_block_at_hand_serves(void **state) {
    unsigned served = class_of(512 * KIB);
    (void)state;
    for (unsigned away = 1; away <= STACK_NEAR_CLASSES + 1; away++) {
        void *larger = allocate(served + away);
        release(larger);
        void *block = allocate(served);
        assert_int_equal(block == larger, away <= STACK_NEAR_CLASSES);
        release(block);
        heap_empty(heap_mine());
    }
    for (size_t align = 64; align <= SLICE_BYTES; align *= 2) // aligned blocks stay aligned
        for (unsigned i = CLASS_FIRST_LARGE; i < CLASS_COUNT - STACK_NEAR_CLASSES; i++) {
            unsigned aligned = class_of_aligned(class_bytes(i), align);
            void *near[4];
            for (unsigned away = 1; away <= STACK_NEAR_CLASSES && aligned + away < CLASS_COUNT; away++) {
                allocate_many(aligned + away, near, COUNT_OF(near));
                release_many(near, COUNT_OF(near));
                allocate_many(aligned, near, COUNT_OF(near));
                for (size_t k = 0; k < COUNT_OF(near); k++)
                    assert_int_equal((uintptr_t)near[k] % align, 0);
                release_many(near, COUNT_OF(near));
                heap_empty(heap_mine());
            }
        }
    unsigned passed_on = class_of(96 * KIB);
    void *larger = allocate(passed_on + 1);
    release(larger);
    void *block = allocate(passed_on);
    assert_ptr_not_equal(block, larger);
    release(block);
}

static void what_is_said_to_be_zero_is(void **state) {
    enum { FEW = 64 };
    unsigned class_index = class_of(40000), known = 0;
    (void)state;
    uint64_t before = blocks_out(class_index);
    heap_empty(heap_mine());
    runs_purge(0);
    for (unsigned turn = 0; turn < 3; turn++) { // purged, then used memory
        for (unsigned i = 0; i < FEW; i++) {
            bool zeroed;
            blocks[i] = heap_refill_zeroed(class_index, &zeroed);
            assert_non_null(blocks[i]);
            assert_true(!zeroed || is_zero(blocks[i], class_bytes(class_index)));
            known += zeroed;
            memset(blocks[i], 1, class_bytes(class_index));
        }
        assert_true(turn > 0 || known > FEW / 2);
        expect_apart(blocks, FEW, class_bytes(class_index));
        release_many(blocks, FEW);
    }
    assert_true(known < 3 * FEW);
    assert_int_equal(blocks_out(class_index), before);
}

static void the_books_say_what_the_program_has(void **state) {
    unsigned class_index = class_of(352);
    struct random random = random_start();
    size_t count = 0;
    (void)state;
    uint64_t before = blocks_out(class_index);
    for (unsigned step = 0; step < 50000; step++) {
        if (count < MANY && random_below(&random, 100) < 52)
            blocks[count++] = allocate(class_index);
        else if (count > 0)
            release(blocks[--count]);
        if (step % 1000 == 0)
            assert_int_equal(blocks_out(class_index), before + count);
    }
    release_many(blocks, count);
    assert_int_equal(blocks_out(class_index), before);
}

static void errno_is_kept(void **state) {
    (void)state;
    errno = UNTOUCHED;
    allocate_many(class_of(3000), blocks, 3000);
    release_many(blocks, 3000);
    assert_int_equal(errno, UNTOUCHED);
}

static void without_the_fast_lane_nothing_is_stacked(void *context) {
    (void)context;
    options.fastlane = OPTION_FASTLANE_OFF;
    struct heap *heap = heap_mine();
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        void *block = allocate(i), *other = allocate(i);
        MUST(block != NULL && other != NULL && block != other);
        MUST(heap->classes[i].depth == 0 && thread_stacks.top[i] == CONSTANT_TOP);
        memset(block, 1, class_bytes(i));
        MUST(!stack_free(block)); // every call by the cold path
        release(block);
        release(other);
        MUST(heap_stack_blocks(heap, i) == 0 && blocks_out(i) == 0);
    }
}

static void *in_a_new_thread(void *context) {
    without_the_fast_lane_nothing_is_stacked(context);
    return NULL;
}

static void run_without_the_fast_lane(void *context) {
    pthread_t thread;
    setenv("HAKMEM_FASTLANE", "off", 1);
    options.fastlane = OPTION_FASTLANE_OFF; // whether this process has started or not
    MUST(pthread_create(&thread, NULL, in_a_new_thread, context) == 0);
    pthread_join(thread, NULL);
}

static void the_fast_lane_can_be_off(void **state) {
    (void)state;
    child_must_succeed(run_without_the_fast_lane, NULL);
}

static void allocate_all_memory(void *context) {
    struct rlimit limit = {128 * MIB, 128 * MIB};
    unsigned class_index, count = 0;
    (void)context;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    MUST(heap_process_start());
    class_index = class_of(8000);
    errno = UNTOUCHED;
    while (count < MANY && (blocks[count] = allocate(class_index)) != NULL)
        count++;
    MUST(errno == UNTOUCHED && count > 1000 && count < MANY);
    MUST(allocate(CLASS_COUNT - 1) == NULL);
    release_many(blocks, count); // and then there is room again, also for other classes
    MUST(allocate(CLASS_COUNT - 1) != NULL);
    MUST(allocate(class_index) != NULL);
}

static void without_memory_the_answer_is_null_until_there_is_some(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    child_must_succeed(allocate_all_memory, NULL);
}

int main(void) {
    const struct CMUnitTest before_start[] = {
        cmocka_unit_test(without_memory_the_answer_is_null_until_there_is_some),
        cmocka_unit_test(the_fast_lane_can_be_off),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_block_of_a_class_brings_a_stack),
        cmocka_unit_test(a_refill_leaves_blocks_of_its_class_lowest_on_top),
        cmocka_unit_test(blocks_never_overlap),
        cmocka_unit_test(batches_grow_so_that_refills_become_rare),
        cmocka_unit_test(a_thread_that_needs_little_takes_little),
        cmocka_unit_test(used_blocks_are_taken_before_new_ones),
        cmocka_unit_test(a_larger_block_at_hand_serves),
        cmocka_unit_test(what_is_said_to_be_zero_is),
        cmocka_unit_test(the_books_say_what_the_program_has),
        cmocka_unit_test(errno_is_kept),
    };
    int failed = cmocka_run_group_tests_name("refill in processes of its own", before_start, NULL, NULL);
    return failed + cmocka_run_group_tests_name("refill", tests, start_heap, NULL);
}
