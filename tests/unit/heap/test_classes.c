// Size classes that change while the program runs: who serves what, when a class gets another size, who is shut out.
#include "unit/unit.h"

#include "unit/heap/spares.h"

enum { MANY = 500 };
static void *blocks[MANY];

// ---- one class

static void a_spare_class_serves_requests_once_it_is_in_force(void **state) {
    const size_t bytes = 37 * KIB, step = size_class_step(37 * KIB);
    struct snapshot made = with_spare(3, step);
    (void)state;
    unsigned without = class_of(bytes);
    assert_false(class_is_spare(without));
    decide(&made);
    assert_int_equal(class_of(bytes), without);
    assert_true(heap_change_classes());
    assert_int_equal(class_of(bytes), CLASS_COUNT + 3);
    assert_int_equal(class_bytes(CLASS_COUNT + 3), step);
    for (unsigned i = 0; i < 50; i++) {
        blocks[i] = ask(bytes);
        assert_int_equal(class_of_block(blocks[i]), CLASS_COUNT + 3);
        memset(blocks[i], (int)i, step);
    }
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(((unsigned char *)blocks[i])[step - 1], i);
    assert_int_equal(blocks_out(CLASS_COUNT + 3), 50);
    release_many(blocks, 50);
}

static void a_closed_class_serves_nobody_and_takes_its_blocks_back(void **state) {
    const size_t bytes = size_class_step(1100);
    (void)state;
    unsigned without = class_of(bytes), spare = CLASS_COUNT + 5;
    change_spare_to(5, bytes);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = ask(bytes);
    change_spare_to(5, 0);
    assert_int_equal(class_bytes(spare), bytes);
    void *other = ask(bytes);
    assert_int_equal(class_of_block(other), without);
    release(other);
    release_many(blocks, MANY);
    assert_int_equal(blocks_out(spare), 0);
    assert_int_equal(slabs_with_blocks_out(spare), 0);
    change_spare_to(5, bytes); // and opens again
    blocks[0] = ask(bytes);
    assert_int_equal(class_of_block(blocks[0]), spare);
    release(blocks[0]);
}

static void a_class_with_slabs_keeps_its_size_until_they_have_gone(void **state) {
    const size_t before = size_class_step(1100), after = size_class_step(50 * KIB);
    unsigned spare = CLASS_COUNT + 1;
    (void)state;
    change_spare_to(1, before);
    void *block = ask(before);
    memset(block, 7, before);
    change_spare_to(1, after);
    assert_false(size_class_is_open(spare)); // P1: it can't be
    assert_int_equal(class_bytes(spare), before);
    assert_int_equal(class_of(before), class_of(before + 1));
    change_spare_to(1, after); // again and again
    assert_int_equal(class_bytes(spare), before);
    assert_int_equal(((unsigned char *)block)[before - 1], 7);
    release(block);
    heap_empty(heap_mine());
    give_idle_slabs(spare);
    change_spare_to(1, after);
    assert_true(size_class_is_open(spare));
    assert_int_equal(class_bytes(spare), after);
    block = ask(after);
    assert_int_equal(class_of_block(block), spare);
    release(block);
}

static void sizes_that_can_not_be_leave_the_class_as_it_is(void **state) {
    static const uint32_t wrong[] = {1,         8, 17, 300, 33 * KIB + 16, CLASS_LARGE_MAX + 1, 2 * CLASS_LARGE_MAX,
                                     UINT32_MAX};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
        struct snapshot made = with_spare(2, wrong[i]);
        change(&made);
        assert_false(size_class_is_open(CLASS_COUNT + 2));
        for (size_t bytes = 0; bytes <= CLASS_LARGE_MAX; bytes += 16)
            assert_false(class_is_spare(class_of(bytes)));
    }
}

static void fixed_classes_close_and_open_but_for_powers_of_two(void **state) {
    struct snapshot made;
    (void)state;
    heap_default_snapshot(&made);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = ask(i * 100);
    memset(made.closed, 1, sizeof made.closed);
    change(&made);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        assert_int_equal(size_class_is_open(i), bits_is_power_of_two(class_bytes(i)));
        void *block = ask(class_bytes(i));
        assert_int_equal(bits_is_power_of_two(class_bytes(class_of_block(block))), true);
        release(block);
    }
    release_many(blocks, MANY);
    heap_default_snapshot(&made);
    change(&made);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        assert_int_equal(class_of(class_bytes(i)), i);
}

static void sizes_get_places_among_the_spare_classes(void **state) {
    uint32_t bytes[CLASS_SPARE_COUNT + 1];
    struct snapshot made, again;
    (void)state;
    heap_default_snapshot(&made);
    for (unsigned i = 0; i <= CLASS_SPARE_COUNT; i++)
        bytes[i] = (uint32_t)size_class_step(33 * KIB + i * 20 * KIB);
    heap_place_spares(&made, bytes, 3);
    change(&made);
    unsigned second = class_of(bytes[1]);
    assert_true(class_is_spare(second));
    blocks[0] = ask(bytes[1]);
    heap_default_snapshot(&again);
    heap_place_spares(&again, bytes + 1, CLASS_SPARE_COUNT); // one more than are left without the second's place
    assert_int_equal(again.spare_bytes[second - CLASS_COUNT], bytes[1]); // who has a place keeps it
    change(&again);
    assert_int_equal(class_of(bytes[1]), second);
    for (unsigned i = 1; i <= CLASS_SPARE_COUNT; i++) {
        assert_int_equal(class_bytes(class_of(bytes[i])), bytes[i]);
        assert_int_equal(again.depth[class_of(bytes[i])],
                         STACK_LARGE_CLASS_BYTES / bytes[i] > 0 ? STACK_LARGE_CLASS_BYTES / bytes[i] : 1);
    }
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        bytes[i] += 2 * (uint32_t)KIB + 512 * (uint32_t)KIB; // none of these has a place
    heap_place_spares(&again, bytes, CLASS_SPARE_COUNT);
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++) // nor gets one the place of blocks[0], which is in use
        assert_int_equal(again.spare_bytes[i] == 0, i == second - CLASS_COUNT);
    release(blocks[0]);
}

// A thread finds the stack of one class empty, and another class serves its request once it is inside (H6).
static void a_refill_of_a_stack_that_has_blocks_takes_the_newest(void **state) {
    unsigned class_index = class_of(1100);
    (void)state;
    allocate_many(class_index, blocks, 10);
    release_many(blocks, 10);
    unsigned stacked = heap_stack_blocks(heap_mine(), class_index);
    for (unsigned i = 0; i < 10; i++) {
        assert_ptr_equal(heap_refill(class_index), blocks[9 - i]);
        assert_int_equal(heap_stack_blocks(heap_mine(), class_index), stacked - i - 1);
    }
    assert_int_equal(blocks_out(class_index), 10);
    release_many(blocks, 10);
}

// Without anybody's help but that of the thread's own refills and flushes.
static void a_class_of_small_blocks_that_was_in_use_gets_another_size(void **state) {
    const size_t before = size_class_step(1100), after = size_class_step(50 * KIB);
    (void)state;
    change_spare_to(1, before);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = ask(before);
    change_spare_to(1, after);
    release_many(blocks, MANY);
    for (unsigned turn = 0; turn < 300; turn++) {
        for (unsigned i = 0; i < MANY; i++)
            blocks[i] = ask(turn % 2 == 0 ? 64 : 700);
        release_many(blocks, MANY);
    }
    change_spare_to(1, after);
    assert_int_equal(class_bytes(CLASS_COUNT + 1), after);
}

static void a_deep_stack_does_not_stay_deep_for_larger_blocks(void **state) {
    (void)state;
    change_spare_to(0, size_class_step(270));
    allocate_many(CLASS_COUNT, blocks, MANY);
    release_many(blocks, MANY);
    heap_empty(heap_mine());
    give_idle_slabs(CLASS_COUNT);
    change_spare_to(0, size_class_step(900 * KIB));
    release(ask(900 * KIB));
    assert_int_equal(class_bytes(CLASS_COUNT), size_class_step(900 * KIB));
    assert_true(heap_mine()->classes[CLASS_COUNT].depth <= STACK_START_LEAST);
    assert_true(heap_mine()->granted_bytes <= STACK_THREAD_BYTES);
}

// ---- other threads

static void *stay_inside(void *unused) {
    (void)unused;
    struct heap *heap = heap_enter();
    come_to(1);
    wait_for_stage(2);
    heap_leave(heap);
    come_to(3);
    wait_for_stage(4);
    heap_fork_prepare(); // now it forks
    come_to(5);
    wait_for_stage(6);
    heap_fork_parent();
    come_to(7);
    return NULL;
}

static void *stand_by(void *unused) {
    (void)unused;
    release(ask(100));
    come_to(8);
    wait_for_stage(7);
    return NULL;
}

static void expect_not_shut(struct heap *heap, void *context) {
    (void)context;
    MUST(load_relaxed(&heap->gate) != GATE_SHUT);
}

static void nothing_changes_while_a_thread_is_inside_or_forks(void **state) {
    struct snapshot made = with_spare(0, size_class_step(37 * KIB)), none = with_spare(0, 0);
    pthread_t thread, other;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&other, NULL, stand_by, NULL), 0);
    wait_for_stage(8);
    assert_int_equal(pthread_create(&thread, NULL, stay_inside, NULL), 0);
    wait_for_stage(1);
    decide(&made);
    MUST(!heap_change_classes() && !size_class_is_open(CLASS_COUNT));
    heap_for_each(expect_not_shut, NULL); // whoever was shut out before is let in again
    MUST(registry.spare_lock.state == 0 && heap_mine()->gate == GATE_OUTSIDE);
    come_to(2);
    wait_for_stage(3);
    MUST(heap_change_classes() && size_class_is_open(CLASS_COUNT));
    come_to(4);
    wait_for_stage(5);
    decide(&none);
    MUST(!heap_change_classes() && size_class_is_open(CLASS_COUNT));
    come_to(6);
    wait_for_stage(7);
    assert_int_equal(pthread_join(thread, NULL), 0); // a thread that ends is inside
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_true(heap_change_classes());
    assert_false(size_class_is_open(CLASS_COUNT));
    expect_nobody_inside();
}

static unsigned served_by;

static void *ask_late(void *unused) {
    (void)unused;
    release(ask(100)); // it has a heap
    come_to(1);
    wait_for_stage(2);
    void *block = ask(37 * KIB);
    served_by = class_of_block(block);
    come_to(3);
    release(block);
    return NULL;
}

static void a_thread_that_was_shut_out_asks_the_new_class(void **state) {
    struct timespec time = {.tv_nsec = 20000000};
    pthread_t thread;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, ask_late, NULL), 0);
    wait_for_stage(1);
    while (!heap_try_stop_others())
        sched_yield();
    come_to(2);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    MUST(load_relaxed(&stage) == 2);
    size_class_make(CLASS_COUNT + 4, size_class_step(37 * KIB));
    heap_let_others();
    wait_for_stage(3);
    assert_int_equal(served_by, CLASS_COUNT + 4);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *keep_a_stack(void *unused) {
    void *some[STACK_SLOTS];
    (void)unused;
    allocate_many(CLASS_COUNT, some, COUNT_OF(some));
    release_many(some, COUNT_OF(some));
    heap_empty(heap_mine());
    MUST(heap_mine()->classes[CLASS_COUNT].depth > 0);
    come_to(1);
    wait_for_stage(2);
    void *block = ask(class_bytes(CLASS_COUNT));
    MUST(class_of_block(block) == CLASS_COUNT);
    heap_for_each(expect_right_grants, NULL);
    release(block);
    return NULL;
}

static void grants_of_all_threads_are_counted_anew(void **state) {
    pthread_t thread;
    (void)state;
    change_spare_to(0, size_class_step(700));
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, keep_a_stack, NULL), 0);
    wait_for_stage(1);
    give_idle_slabs(CLASS_COUNT);
    for (size_t bytes = 64 * KIB - 2 * KIB; bytes > 100; bytes = size_class_step(bytes / 3)) {
        change_spare_to(0, bytes);
        assert_int_equal(class_bytes(CLASS_COUNT), bytes);
        heap_for_each(expect_right_grants, NULL);
    }
    change_spare_to(0, size_class_step(900 * KIB));
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void change_in_child(void *context) {
    (void)context;
    MUST(class_of_block(blocks[0]) == CLASS_COUNT + 7);
    void *block = ask(class_bytes(CLASS_COUNT + 7));
    MUST(class_of_block(block) == CLASS_COUNT + 7);
    release(block);
    release(blocks[0]);
    heap_empty(heap_mine());
    give_idle_slabs(CLASS_COUNT + 7);
    change_spare_to(7, size_class_step(70 * KIB));
    MUST(class_of(70 * KIB) == CLASS_COUNT + 7);
    release(ask(70 * KIB));
}

static void a_fork_child_has_the_classes_and_changes_its_own(void **state) {
    const size_t bytes = size_class_step(530);
    (void)state;
    change_spare_to(7, bytes);
    blocks[0] = ask(bytes);
    child_must_succeed(change_in_child, NULL);
    assert_int_equal(class_of(bytes), CLASS_COUNT + 7);
    release(blocks[0]);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start_without_spares, end_without_spares)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(a_spare_class_serves_requests_once_it_is_in_force),
        EACH(a_closed_class_serves_nobody_and_takes_its_blocks_back),
        EACH(a_class_with_slabs_keeps_its_size_until_they_have_gone),
        EACH(sizes_that_can_not_be_leave_the_class_as_it_is),
        EACH(fixed_classes_close_and_open_but_for_powers_of_two),
        EACH(sizes_get_places_among_the_spare_classes),
        EACH(a_refill_of_a_stack_that_has_blocks_takes_the_newest),
        EACH(a_class_of_small_blocks_that_was_in_use_gets_another_size),
        EACH(a_deep_stack_does_not_stay_deep_for_larger_blocks),
        EACH(nothing_changes_while_a_thread_is_inside_or_forks),
        EACH(a_thread_that_was_shut_out_asks_the_new_class),
        EACH(grants_of_all_threads_are_counted_anew),
        EACH(a_fork_child_has_the_classes_and_changes_its_own),
    };
    return cmocka_run_group_tests_name("classes", tests, start_heap, NULL);
}
