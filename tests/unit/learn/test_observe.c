// What is observed agrees with what the program does, by all threads, living and ended.
#include "unit/unit.h"

#include "learn/learn.h"
#include "region/runs.h"
#include "unit/heap/heaps.h"

enum { BLOCKS = 3000 };
static void *blocks[BLOCKS];
static struct observation seen;

static const struct observation *look(void) {
    struct heap *heap = heap_enter();
    observe(&seen, 4711);
    heap_leave(heap);
    return &seen;
}

static uint64_t out(unsigned class_index) {
    return observed_out_blocks(look(), class_index);
}

static void blocks_that_the_program_has_are_seen(void **state) {
    unsigned index = class_of(1000);
    (void)state;
    uint64_t before = out(index);
    allocate_many(index, blocks, BLOCKS);
    assert_int_equal(out(index), before + BLOCKS);
    release_many(blocks, BLOCKS / 3);
    assert_int_equal(out(index), before + BLOCKS - BLOCKS / 3);
    release_many(blocks + BLOCKS / 3, BLOCKS - BLOCKS / 3);
    assert_int_equal(out(index), before);
    assert_int_equal(seen.now_ns, 4711);
    assert_in_range(seen.busy_ns, 1, os_process_ns());
}

static void all_classes_add_up(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        allocate_many(i, blocks, 20);
        assert_int_equal(out(i), 20);
        assert_int_equal(seen.classes[i].cached_blocks + 20,
                         seen.classes[i].refilled_blocks - seen.classes[i].flushed_blocks);
        release_many(blocks, 20);
        assert_int_equal(out(i), 0);
    }
}

// Whoever else observes meanwhile takes nothing of it away.
static void between_looks_use_went_up_and_down(void **state) {
    unsigned index = class_of(32 * KIB);
    (void)state;
    observe_course(&seen);
    size_t before = seen.in_use_bytes;
    allocate_many(index, blocks, 1000);
    release_many(blocks, 1000);
    heap_trim(SIZE_MAX);
    look();
    assert_int_equal(seen.highest_retained_bytes, 0); // it does not say
    assert_in_range(seen.in_use_bytes, 0, before + MIB);
    assert_int_equal(seen.course.highest_bytes, seen.in_use_bytes);
    assert_int_equal(seen.course.lowest_bytes, seen.in_use_bytes);
    observe_course(&seen);
    assert_in_range(seen.course.highest_bytes, before + 30 * MIB, before + 36 * MIB);
    assert_in_range(seen.course.lowest_bytes, 0, before);
    runs_purge(0);
    observe_course(&seen);
    assert_true(seen.highest_retained_bytes > 8 * MIB); // before that
    observe_course(&seen);
    assert_int_equal(seen.course.highest_bytes, seen.in_use_bytes);
    assert_in_range(seen.highest_retained_bytes, 0, MIB);
}

static void batches_are_counted(void **state) {
    unsigned index = class_of(3000);
    (void)state;
    struct observed_class before = look()->classes[index];
    allocate_many(index, blocks, BLOCKS);
    release_many(blocks, BLOCKS);
    struct observed_class after = look()->classes[index];
    assert_in_range(after.refills - before.refills, BLOCKS / STACK_MAX_BATCH, BLOCKS);
    assert_in_range(after.flushes - before.flushes, BLOCKS / STACK_MAX_DEPTH, BLOCKS);
    assert_in_range(after.refilled_blocks - before.refilled_blocks, BLOCKS - STACK_MAX_DEPTH, BLOCKS + STACK_MAX_DEPTH);
}

static void slabs_of_each_class_are_seen(void **state) {
    unsigned index = class_of(1000);
    (void)state;
    size_t other = look()->classes[class_of(5000)].slab_bytes;
    allocate_many(index, blocks, BLOCKS);
    assert_in_range(look()->classes[index].slab_bytes, BLOCKS * class_bytes(index), 2 * BLOCKS * class_bytes(index));
    assert_int_equal(seen.classes[index].slab_bytes % SLICE_BYTES, 0);
    assert_int_equal(seen.classes[class_of(5000)].slab_bytes, other);
    release_many(blocks, BLOCKS);
}

static void what_was_asked_for_is_counted_in_bytes(void **state) {
    (void)state;
    uint64_t before = observed_asked_bytes(look()), big_before = seen.big_bytes;
    allocate_many(class_of(3000), blocks, BLOCKS);
    release_many(blocks, BLOCKS);
    uint64_t class_of_3000 = class_bytes(class_of(3000));
    assert_in_range(observed_asked_bytes(look()), before + (BLOCKS - STACK_MAX_DEPTH) * class_of_3000,
                    before + (BLOCKS + STACK_MAX_DEPTH) * class_of_3000);
    assert_int_equal(seen.big_bytes, big_before);
    before = observed_asked_bytes(&seen);
    learn_is_on = LEARN_ON;
    learn_note_big(4711, 3 * MIB);
    learn_note_big(4711, CLASS_LARGE_MAX); // from a class
    learn_is_on = LEARN_OFF;
    assert_int_equal(look()->big_bytes, big_before + 3 * MIB);
    assert_int_equal(observed_asked_bytes(&seen), before + 3 * MIB);
    struct tryout_seen tried = observed_for_tryout(&seen, 17);
    assert_true(tried.now_ns == seen.now_ns && tried.busy_ns == seen.busy_ns && tried.done_bytes == 17);
    assert_int_equal(tried.idle_bytes, observed_idle_bytes(&seen));
    assert_int_equal(tried.price, options.memory_price);
}

static void *grow_blocks(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 1000; i++)
        learn_note_growth(100);
    return NULL;
}

static void blocks_that_grow_are_counted_while_something_is_learned(void **state) {
    (void)state;
    grow_blocks(NULL);
    assert_int_equal(look()->grown_blocks, 0);
    learn_is_on = LEARN_ON;
    threads_run(4, grow_blocks);
    learn_is_on = LEARN_OFF;
    assert_int_equal(look()->grown_blocks, 4000);
    assert_int_equal(seen.grown_bytes, 400000);
}

// ---- several threads

static pthread_barrier_t barrier;

static void *allocate_and_wait(void *number) {
    allocate_many(class_of(700), blocks + 100 * (uintptr_t)number, 100);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void threads_are_counted_while_they_live_and_their_blocks_longer(void **state) {
    pthread_t threads[4];
    unsigned index = class_of(700);
    (void)state;
    pthread_barrier_init(&barrier, NULL, 5);
    unsigned alone = look()->threads;
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_wait, (void *)i), 0);
    pthread_barrier_wait(&barrier);
    assert_int_equal(out(index), 400);
    assert_int_equal(seen.threads, alone + 4);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(out(index), 400);
    assert_int_equal(seen.threads, alone);
    release_many(blocks, 400);
    assert_int_equal(out(index), 0);
}

static void *free_all(void *unused) {
    (void)unused;
    release_many(blocks, BLOCKS);
    return NULL;
}

// Of small blocks too, which go back to the thread that holds them, and are counted by one that never refilled.
static void blocks_freed_by_a_thread_that_only_frees_are_seen(void **state) {
    const size_t sizes[] = {16, 32, 48, 64, 1000, 20000};
    pthread_t thread;
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        unsigned index = class_of(sizes[i]);
        uint64_t before = out(index);
        allocate_many(index, blocks, BLOCKS);
        assert_int_equal(pthread_create(&thread, NULL, free_all, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(out(index), before);
    }
}

static void *free_few_and_wait(void *unused) {
    (void)unused;
    release_many(blocks, 10);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

// It has neither refilled nor flushed any: they lie in its stack or its outbox.
static void blocks_that_a_thread_keeps_after_its_first_frees_are_seen(void **state) {
    const size_t sizes[] = {32, 64, 1000};
    pthread_t thread;
    (void)state;
    pthread_barrier_init(&barrier, NULL, 2);
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        unsigned index = class_of(sizes[i]);
        uint64_t before = out(index);
        allocate_many(index, blocks, 10);
        assert_int_equal(pthread_create(&thread, NULL, free_few_and_wait, NULL), 0);
        pthread_barrier_wait(&barrier);
        uint64_t after = out(index);
        pthread_barrier_wait(&barrier);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(after, before);
    }
}

static void blocks_on_their_way_between_threads_are_nobodys(void **state) {
    unsigned index = class_of(1000);
    (void)state;
    uint64_t before = out(index);
    allocate_many(index, blocks, BLOCKS); // so much that some may be on their way
    struct heap *heap = heap_enter();
    assert_true(transfer_give(heap, index, blocks, 10));
    heap_leave(heap);
    assert_int_equal(transfer_blocks(index), 10);
    assert_int_equal(out(index), before + BLOCKS - 10);
    release_many(blocks + 10, BLOCKS - 10);
    assert_int_equal(out(index), before);
}

// ---- memory

static void memory_in_use_and_retained_is_seen(void **state) {
    bool clean;
    (void)state;
    size_t in_use = look()->in_use_bytes;
    size_t first = runs_take(64, 1, &clean);
    assert_int_equal(look()->in_use_bytes, in_use + 64 * SLICE_BYTES);
    memset(window_address(first), 1, 64 * SLICE_BYTES);
    runs_give(first, 64);
    assert_int_equal(look()->in_use_bytes, in_use);
    assert_true(seen.retained_bytes >= 64 * SLICE_BYTES);
    heap_trim(0);
    assert_int_equal(look()->retained_bytes, 0);
    assert_true(seen.purged_bytes >= 64 * SLICE_BYTES);
}

// In a fork child the system counts page faults from the beginning.
static void fewer_faults_than_before_are_none(void **state) {
    static struct observation before, after;
    (void)state;
    before.now_ns = SECOND_NS;
    after.now_ns = 2 * SECOND_NS;
    after.page = (struct cost_page){1234, 5};
    before.faults = 1000000;
    after.faults = 5;
    assert_true(observed_cost(&after, &before) == 0);
    after.faults = 1000010;
    assert_true(observed_cost(&after, &before) == 10 * 1234);
}

static void more_gone_than_came_is_none(void **state) {
    struct observation odd = {0};
    (void)state;
    odd.classes[CLASS_FIRST].flushed_blocks = 5; // counted while others went on
    assert_int_equal(observed_out_blocks(&odd, CLASS_FIRST), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_a_thread_keeps_after_its_first_frees_are_seen), // in a heap nobody used before
        cmocka_unit_test(all_classes_add_up),
        cmocka_unit_test(blocks_that_the_program_has_are_seen),
        cmocka_unit_test(between_looks_use_went_up_and_down),
        cmocka_unit_test(batches_are_counted),
        cmocka_unit_test(slabs_of_each_class_are_seen),
        cmocka_unit_test(what_was_asked_for_is_counted_in_bytes),
        cmocka_unit_test(blocks_that_grow_are_counted_while_something_is_learned),
        cmocka_unit_test(threads_are_counted_while_they_live_and_their_blocks_longer),
        cmocka_unit_test(blocks_freed_by_a_thread_that_only_frees_are_seen),
        cmocka_unit_test(blocks_on_their_way_between_threads_are_nobodys),
        cmocka_unit_test(memory_in_use_and_retained_is_seen),
        cmocka_unit_test(more_gone_than_came_is_none),
        cmocka_unit_test(fewer_faults_than_before_are_none),
    };
    return cmocka_run_group_tests_name("observe", tests, start_heap, NULL);
}
