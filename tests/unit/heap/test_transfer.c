// Transfer caches: what is given is taken, within the room there is; what nobody takes goes home.
#include "unit/unit.h"

#include "unit/heap/heaps.h"

#include <pthread.h>

enum { MANY = 20000, BATCH = STACK_MAX_BATCH };
static void *blocks[MANY];

// Blocks of the class, as a thread that flushes has them in hand: in no stack and no slab.
static void lift(unsigned class_index, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        MUST(heap_take(heap_mine(), class_index, blocks + i + 1, 1) == 1);
}

static unsigned room_blocks(unsigned class_index) {
    size_t in_use = slabs_alive(class_index) * size_classes[class_index].slices * SLICE_BYTES;
    size_t bytes = in_use / TRANSFER_SHARE < TRANSFER_LEAST_BYTES ? TRANSFER_LEAST_BYTES : in_use / TRANSFER_SHARE;
    return (unsigned)(bytes / class_bytes(class_index));
}

// The first test: the process has one thread.
static void a_thread_that_is_alone_passes_nothing_on(void **state) {
    unsigned class_index = class_of(96);
    (void)state;
    assert_true(os_is_single_threaded());
    allocate_many(class_index, blocks, MANY);
    release_many(blocks, MANY);
    assert_int_equal(transfer_blocks(class_index), 0);
}

static void what_came_last_is_taken_first(void **state) {
    unsigned class_index = class_of(112);
    void *got[BATCH];
    (void)state;
    lift(class_index, 10);
    assert_true(transfer_give(heap_mine(), class_index, blocks, 10));
    assert_int_equal(transfer_blocks(class_index), 10);
    assert_int_equal(blocks_out(class_index), 0);
    assert_int_equal(transfer_take(class_index, got, 4), 4);
    for (unsigned i = 0; i < 4; i++)
        assert_ptr_equal(got[i], blocks[6 + i]);
    assert_int_equal(transfer_take(class_index, got, BATCH), 6);
    for (unsigned i = 0; i < 6; i++)
        assert_ptr_equal(got[i], blocks[i]);
    assert_int_equal(transfer_take(class_index, got, BATCH), 0);
    put_blocks(blocks, 10, class_index);
}

static void it_holds_no_more_than_its_room(void **state) {
    unsigned class_index = class_of(128), given = 0;
    (void)state;
    lift(class_index, 2000);
    unsigned room = room_blocks(class_index);
    assert_true(room >= BATCH && room < 2000 && room < TRANSFER_BLOCKS);
    while (given + BATCH <= room) {
        assert_true(transfer_give(heap_mine(), class_index, blocks + given, BATCH));
        given += BATCH;
    }
    assert_false(transfer_give(heap_mine(), class_index, blocks + given, BATCH));
    assert_int_equal(transfer_blocks(class_index), given);
    transfer_empty(heap_mine(), class_index);
    put_blocks(blocks + given, 2000 - given, class_index);
}

static void a_batch_larger_than_its_room_stays_where_it_is(void **state) {
    unsigned class_index = class_of(4096);
    (void)state;
    lift(class_index, 16);
    assert_true(room_blocks(class_index) < 16);
    assert_false(transfer_give(heap_mine(), class_index, blocks, 16));
    assert_int_equal(transfer_blocks(class_index), 0);
    put_blocks(blocks, 16, class_index);
}

static void a_class_that_is_freed_keeps_nothing(void **state) {
    unsigned class_index = class_of(144);
    void *got[BATCH];
    unsigned given = 0, at = 0;
    (void)state;
    lift(class_index, 2000);
    while (transfer_give(heap_mine(), class_index, blocks + given, BATCH))
        given += BATCH;
    assert_true(given > 0);
    // What it declines goes to the slabs, until about as much has gone as is left.
    for (at = given; transfer_blocks(class_index) > 0 && at + BATCH <= 2000; at += BATCH) {
        assert_false(transfer_give(heap_mine(), class_index, blocks + at, BATCH));
        put_blocks(blocks + at, BATCH, class_index);
    }
    assert_int_equal(transfer_blocks(class_index), 0);
    assert_true(at > 2000 / 4 && at < 2000);
    for (unsigned i = 0; i < given; i++)
        assert_true(is_home(blocks[i]));
    // It takes nothing any more, until somebody wants blocks.
    assert_false(transfer_give(heap_mine(), class_index, blocks + at, BATCH));
    assert_int_equal(transfer_take(class_index, got, BATCH), 0);
    assert_true(transfer_give(heap_mine(), class_index, blocks + at, BATCH));
    transfer_empty(heap_mine(), class_index);
    put_blocks(blocks + at + BATCH, 2000 - at - BATCH, class_index);
}

static void bursts_beyond_its_room_leave_it_full(void **state) {
    unsigned class_index = class_of(272), given = 0;
    void *got[BATCH];
    (void)state;
    lift(class_index, 2000);
    for (unsigned round = 0; round < 50; round++) {
        given = 0;
        for (unsigned at = 0; at < 1000; at += 20) // half of what is in use
            given += transfer_give(heap_mine(), class_index, blocks + at, 20) ? 20 : 0;
        assert_true(given >= 60 && given < 1000);
        assert_int_equal(transfer_blocks(class_index), given);
        for (unsigned count = 0; count < given;)
            count += transfer_take(class_index, got, 20);
    }
    put_blocks(blocks, 2000, class_index);
}

static void look_around(unsigned times) {
    for (unsigned i = 0; i < times * LOOK_AROUND_TURNS; i++)
        heap_look_around(heap_mine(), CLASS_NONE);
}

static void an_idle_one_is_emptied_while_others_work(void **state) {
    unsigned class_index = class_of(160), busy = class_of(176);
    void *got[10];
    (void)state;
    release(allocate(busy)); // of class_index this thread has no stack
    lift(class_index, 10);
    assert_true(transfer_give(heap_mine(), class_index, blocks, 10));
    for (unsigned i = 0; i < 100; i++) { // in use, beside much else
        look_around(CLASS_END * (TRANSFER_IDLE_LOOKS - 1));
        assert_int_equal(transfer_take(class_index, got, 10), 10);
        assert_true(transfer_give(heap_mine(), class_index, blocks, 10));
    }
    look_around(CLASS_END * (TRANSFER_IDLE_LOOKS + 1));
    assert_int_equal(transfer_blocks(class_index), 0);
    for (unsigned i = 0; i < 10; i++)
        assert_true(is_home(blocks[i]));
    lift(class_index, 10);
    assert_true(transfer_give(heap_mine(), class_index, blocks, 10)); // idle is not closed
    transfer_empty(heap_mine(), class_index);
}

static void a_trim_empties_them(void **state) {
    unsigned class_index = class_of(192);
    (void)state;
    lift(class_index, 10);
    assert_true(transfer_give(heap_mine(), class_index, blocks, 10));
    heap_trim(0);
    assert_int_equal(transfer_blocks(class_index), 0);
    assert_int_equal(slabs_with_blocks_out(class_index), 0);
}

struct task {
    unsigned first, count;
    pthread_barrier_t freed, seen;
};

static void *free_some(void *argument) {
    struct task *task = argument;
    release_many(blocks + task->first, task->count);
    pthread_barrier_wait(&task->freed);
    pthread_barrier_wait(&task->seen);
    return NULL;
}

// Another thread frees blocks; `look` runs while it is there.
static void free_in_a_thread(unsigned class_index, unsigned first, unsigned count, void (*look)(unsigned class_index)) {
    struct task task = {.first = first, .count = count};
    pthread_t thread;
    MUST(pthread_barrier_init(&task.freed, NULL, 2) == 0 && pthread_barrier_init(&task.seen, NULL, 2) == 0);
    MUST(pthread_create(&thread, NULL, free_some, &task) == 0);
    pthread_barrier_wait(&task.freed);
    look(class_index);
    pthread_barrier_wait(&task.seen);
    MUST(pthread_join(thread, NULL) == 0);
    MUST(transfer_blocks(class_index) == 0); // with the thread went what it had passed on
}

static void take_one_of_the_first_60(unsigned class_index) {
    struct counts before = counts_of(class_index);
    unsigned passed = transfer_blocks(class_index);
    assert_true(passed > 0);
    void *block = allocate(class_index);
    assert_int_equal(counts_of(class_index).counters.refilled_blocks, before.counters.refilled_blocks);
    assert_int_equal(transfer_passed_blocks(class_index), passed - transfer_blocks(class_index));
    unsigned at = 0;
    while (at < 60 && blocks[at] != block)
        at++;
    assert_true(at < 60);
    release(block);
}

static void what_one_thread_frees_another_gets(void **state) {
    unsigned class_index = class_of(208);
    (void)state;
    allocate_many(class_index, blocks, 1000);
    while (heap_stack_blocks(heap_mine(), class_index) > 0)
        stack_pop(class_index);
    free_in_a_thread(class_index, 0, 60, take_one_of_the_first_60);
    release_many(blocks + 60, 940);
}

static void expect_some(unsigned class_index) {
    assert_true(transfer_blocks(class_index) > 0);
}

// A thread that frees a few small blocks of its own does not spread their cache lines over other threads.
static void small_blocks_are_passed_on_by_threads_that_free_those_of_others(void **state) {
    unsigned class_index = class_of(16);
    (void)state;
    allocate_many(class_index, blocks, MANY);
    release_many(blocks + MANY / 2, MANY / 2);
    assert_int_equal(transfer_blocks(class_index), 0);
    assert_false(heap_mine()->classes[class_index].passes_on);
    free_in_a_thread(class_index, 0, 200, expect_some); // 64 go by the outbox, then the slabs are open to it
    release_many(blocks + 200, MANY / 2 - 200);
    heap_trim(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_is_alone_passes_nothing_on),
        cmocka_unit_test(what_came_last_is_taken_first),
        cmocka_unit_test(it_holds_no_more_than_its_room),
        cmocka_unit_test(a_batch_larger_than_its_room_stays_where_it_is),
        cmocka_unit_test(a_class_that_is_freed_keeps_nothing),
        cmocka_unit_test(bursts_beyond_its_room_leave_it_full),
        cmocka_unit_test(an_idle_one_is_emptied_while_others_work),
        cmocka_unit_test(a_trim_empties_them),
        cmocka_unit_test(what_one_thread_frees_another_gets),
        cmocka_unit_test(small_blocks_are_passed_on_by_threads_that_free_those_of_others),
    };
    return cmocka_run_group_tests_name("transfer caches", tests, start_heap, NULL);
}
