// The gate around cold paths: who is inside, who is shut out while another thread forks, and who is waited for.
#include "unit/unit.h"

#include "unit/heap/heaps.h"

static void a_thread_is_inside_until_it_has_left_as_often_as_it_entered(void **state) {
    (void)state;
    for (unsigned single = 0; single < 2; single++) {
        pretend_single_threaded(single == 1);
        struct heap *heap = heap_mine();
        for (unsigned depth = 0; depth < 5; depth++) {
            assert_ptr_equal(heap_enter(), heap);
            assert_int_equal(heap->gate, GATE_INSIDE);
            assert_int_equal(heap->entries, depth + 1);
        }
        for (unsigned depth = 5; depth > 0; depth--) {
            assert_int_equal(heap->gate, GATE_INSIDE);
            heap_leave(heap);
        }
        assert_int_equal(heap->gate, GATE_OUTSIDE);
        assert_int_equal(heap->entries, 0);
    }
    pretend_single_threaded(false);
}

static void cold_paths_leave_the_gate_open(void **state) {
    struct heap *heap = heap_mine();
    (void)state;
    heap_empty(heap);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        release(heap_refill(i));
        assert_int_equal(heap->gate, GATE_OUTSIDE);
    }
    heap_trim(0);
    assert_int_equal(heap->gate, GATE_OUTSIDE);
    assert_int_equal(heap->entries, 0);
}

static uint64_t entered; // plain: correct only if threads without a heap are inside one at a time

static void *enter_after_the_end(void *unused) {
    (void)unused;
    registry_thread_ended(heap_mine());
    for (unsigned i = 0; i < 5000; i++) {
        MUST(heap_enter() == NULL);
        MUST(heap_enter() == NULL); // nested
        MUST(load_relaxed(&registry.spare_thread) == os_thread() && registry.spare_entries == 2);
        entered++;
        heap_leave(NULL);
        MUST(load_relaxed(&registry.spare_lock.state) != 0);
        heap_leave(NULL);
    }
    return NULL;
}

static void threads_without_a_heap_are_inside_one_at_a_time(void **state) {
    (void)state;
    entered = 0;
    threads_run(4, enter_after_the_end);
    assert_int_equal(entered, 4 * 5000);
    assert_int_equal(registry.spare_lock.state, 0);
    assert_int_equal(registry.spare_thread, 0);
}

// ---- while another thread forks

static void sleep_ms(unsigned ms) {
    struct timespec time = {.tv_nsec = (long)ms * 1000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void *use_both_paths(void *unused) {
    unsigned class_index = class_of(112);
    (void)unused;
    release(allocate(class_index));
    come_to(1);
    wait_for_stage(2);
    void *block = stack_pop(class_index); // no change to a slab
    MUST(block != NULL && stack_free(block));
    come_to(3);
    block = heap_refill(class_of(3000));
    come_to(5);
    MUST(block != NULL);
    release(block);
    return NULL;
}

static void *start_late(void *unused) {
    (void)unused;
    wait_for_stage(2);
    come_to(3);
    MUST(heap_mine() != NULL); // a heap is made or taken
    come_to(5);
    return NULL;
}

static void *go_on_after_the_end(void *unused) {
    (void)unused;
    registry_thread_ended(heap_mine());
    come_to(1);
    wait_for_stage(2);
    come_to(3);
    void *block = heap_refill(class_of(112)); // by the spare heap
    come_to(5);
    MUST(block != NULL);
    release(block);
    return NULL;
}

static void *end_late(void *unused) {
    struct heap *heap = heap_mine();
    (void)unused;
    come_to(1);
    wait_for_stage(2);
    come_to(3);
    registry_thread_ended(heap);
    come_to(5);
    return NULL;
}

// `other` does nothing that changes a heap between prepare and parent, and is not forgotten after it.
static void expect_shut_out(void *(*other)(void *), bool starts_before) {
    pthread_t thread;
    unsigned class_index = class_of(112);
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, other, NULL), 0);
    if (starts_before)
        wait_for_stage(1);
    heap_fork_prepare();
    come_to(2);
    wait_for_stage(3);
    for (unsigned i = 0; i < 20; i++) { // the forking thread goes in and out
        release(allocate(class_index));
        heap_trim(0);
        sleep_ms(2);
    }
    assert_int_equal(load_relaxed(&stage), 3);
    heap_fork_parent();
    wait_for_stage(5); // it hangs here when nobody wakes it
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_nobody_inside();
}

static void a_thread_is_shut_out_of_the_cold_path_until_the_fork_is_over(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        expect_shut_out(use_both_paths, true);
}

static void a_thread_without_a_heap_is_shut_out_too(void **state) {
    (void)state;
    expect_shut_out(go_on_after_the_end, true);
    registry_enter_spare();
    heap_empty(registry.spare); // its lease
    registry_leave_spare();
}

static void no_thread_begins_or_ends_meanwhile(void **state) {
    (void)state;
    expect_shut_out(start_late, false);
    expect_shut_out(end_late, true);
}

static void *stay_inside_for_a_while(void *unused) {
    struct heap *heap = heap_enter();
    (void)unused;
    come_to(1);
    sleep_ms(50);
    come_to(2);
    heap_leave(heap);
    return NULL;
}

static void fork_waits_for_a_thread_that_is_inside(void **state) {
    pthread_t thread;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, stay_inside_for_a_while, NULL), 0);
    wait_for_stage(1);
    heap_fork_prepare();
    assert_int_equal(load_relaxed(&stage), 2);
    heap_fork_parent();
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_nobody_inside();
}

static void *hold_what_fork_waits_for(void *mutex) {
    unsigned class_index = class_of(112);
    release(allocate(class_index));
    pthread_mutex_lock(mutex);
    come_to(1);
    wait_for_stage(2);
    void *block = heap_refill(class_of(3000)); // shut out while the forking thread waits for us
    MUST(block != NULL);
    pthread_mutex_unlock(mutex);
    wait_for_stage(3);
    release(block);
    return NULL;
}

static void who_is_shut_out_too_long_goes_in(void **state) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // another library's, that its fork handler takes
    pthread_t thread;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, hold_what_fork_waits_for, &mutex), 0);
    wait_for_stage(1);
    heap_fork_prepare();
    come_to(2);
    pthread_mutex_lock(&mutex); // it hangs here when the other is never let in
    pthread_mutex_unlock(&mutex);
    heap_fork_parent();
    come_to(3);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_nobody_inside();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_inside_until_it_has_left_as_often_as_it_entered),
        cmocka_unit_test(cold_paths_leave_the_gate_open),
        cmocka_unit_test(threads_without_a_heap_are_inside_one_at_a_time),
        cmocka_unit_test(a_thread_is_shut_out_of_the_cold_path_until_the_fork_is_over),
        cmocka_unit_test(a_thread_without_a_heap_is_shut_out_too),
        cmocka_unit_test(no_thread_begins_or_ends_meanwhile),
        cmocka_unit_test(fork_waits_for_a_thread_that_is_inside),
        cmocka_unit_test(who_is_shut_out_too_long_goes_in),
    };
    return cmocka_run_group_tests_name("gates", tests, start_heap, NULL);
}
