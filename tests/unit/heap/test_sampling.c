// Sampling windows: that they end, and that neither blocks nor their order depend on them, wherever one begins or ends.
#include "unit/unit.h"

#include "unit/heap/stamped.h"

// ---- one window

static void a_window_hides_all_stacks_and_shows_them_again(void **state) {
    void **before[CLASS_END];
    struct random random = random_start();
    struct heap *heap = heap_mine();
    (void)state;
    for (unsigned i = 0; i < 4 * HELD; i++)
        call(&random);
    memcpy(before, heap->stacks->top, sizeof before);
    open_window(100);
    assert_true(is_sampling());
    expect_hidden(heap);
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        assert_ptr_equal(heap_real_top(heap, i), before[i]);
    end_window();
    assert_false(is_sampling());
    assert_memory_equal(heap->stacks->top, before, sizeof before);
}

static void a_window_ends_after_as_many_calls_as_it_was_opened_for(void **state) {
    static const unsigned lengths[] = {1, 2, 3, 17, 512, 10000};
    struct random random = random_start();
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(lengths); i++) {
        open_window(lengths[i]);
        for (unsigned calls = 0; calls < lengths[i]; calls++) {
            assert_true(is_sampling());
            expect_hidden(heap_mine());
            call(&random);
        }
        assert_false(is_sampling());
        for (unsigned calls = 0; calls < 100; calls++)
            call(&random);
    }
}

static void an_open_window_is_not_opened_again(void **state) {
    struct random random = random_start();
    (void)state;
    end_window(); // there is none
    open_window(0);
    assert_false(is_sampling());
    call(&random);
    open_window(10);
    open_window(1000);
    for (unsigned i = 0; i < 10; i++)
        call(&random);
    assert_false(is_sampling());
}

static void tops_are_shown_until_the_last_who_asked_hides_them(void **state) {
    struct heap *heap = heap_enter();
    (void)state;
    release(ask(100));
    void **top = heap->stacks->top[class_of(100)];
    heap_show_tops(heap); // without a window nothing happens
    heap_hide_tops(heap);
    assert_ptr_equal(heap->stacks->top[class_of(100)], top);
    heap_open_window(heap, 100);
    heap_show_tops(heap);
    void *block = stack_pop(class_of(100)); // as a refill does
    top--;
    heap_show_tops(heap);
    heap_show_tops(heap);
    for (unsigned i = 0; i < 3; i++) {
        assert_ptr_equal(heap->stacks->top[class_of(100)], top);
        heap_hide_tops(heap);
    }
    expect_hidden(heap);
    heap_show_tops(heap);
    heap_end_window(heap); // while they are shown, as a request to trim does
    heap_hide_tops(heap);
    assert_ptr_equal(heap->stacks->top[class_of(100)], top);
    heap_open_window(heap, 1);
    expect_hidden(heap);
    heap_end_window(heap);
    heap_leave(heap);
    release(block);
}

// ---- order

// A trace within one stack, so that no batch moves: each request gets what was freed last.
static void last_in_is_first_out_whether_a_window_is_open_or_not(void **state) {
    static void *stacked[STACK_SLOTS], *out[STACK_SLOTS];
    struct random random = random_start();
    struct heap *heap = heap_mine();
    const size_t bytes = 64;
    unsigned class_index = class_of(bytes), in = 0, out_count;
    (void)state;
    allocate_many(class_index, held, HELD); // the stack grows
    release_many(held, HELD);
    memset(held, 0, sizeof held);
    out_count = heap->classes[class_index].depth;
    allocate_many(class_index, out, out_count);
    heap_flush(heap, class_index, 0);
    for (unsigned step = 0; step < 50000; step++) {
        if (random_below(&random, 20) == 0)
            open_window(1 + (unsigned)random_below(&random, 40));
        if (random_below(&random, 50) == 0)
            end_window();
        if (out_count > 0 && (in == 0 || random_below(&random, 2) == 0)) {
            size_t which = random_below(&random, out_count);
            stacked[in++] = out[which];
            release(out[which]);
            out[which] = out[--out_count];
        } else {
            out[out_count] = ask(bytes);
            assert_ptr_equal(out[out_count++], stacked[--in]);
        }
        assert_int_equal(heap_stack_blocks(heap, class_index), in);
    }
    end_window();
    release_many(out, out_count);
}

static void zeroed_blocks_come_from_the_stack_and_count_as_others(void **state) {
    const size_t bytes = 40000;
    bool zeroed;
    (void)state;
    void *block = ask(bytes);
    release(block);
    open_window(1);
    assert_null(stack_pop(class_of(bytes)));
    void *again = heap_refill_zeroed(class_of(bytes), &zeroed);
    assert_ptr_equal(again, block); // as without a window
    assert_false(zeroed);
    assert_false(is_sampling());
    release(again);
}

// ---- batches, trims, ends, forks

static void a_stack_that_runs_empty_in_a_window_is_refilled(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        heap_empty(heap_mine());
        open_window(1000);
        void *block = ask(class_bytes(i));
        assert_true(is_sampling());
        expect_hidden(heap_mine());
        void **top = heap_real_top(heap_mine(), i);
        void *next = top == CONSTANT_TOP ? NULL : top[-1], *second = ask(class_bytes(i));
        assert_true(next == NULL || next == second);
        release(block);
        release(second);
        end_window();
    }
}

static void a_stack_that_is_full_in_a_window_is_flushed(void **state) {
    unsigned class_index = class_of(500);
    (void)state;
    allocate_many(class_index, held, HELD);
    open_window(HELD + 1);
    for (unsigned i = 0; i < HELD; i++) {
        assert_true(is_sampling());
        release(held[i]);
        expect_hidden(heap_mine());
        held[i] = NULL;
    }
    assert_int_equal(blocks_out(class_index), 0);
    end_window();
}

static void blocks_are_neither_lost_nor_doubled_wherever_windows_begin_and_end(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned single = 0; single < 2; single++) {
        pretend_single_threaded(single == 1);
        for (unsigned step = 0; step < 100000; step++) {
            size_t what = random_below(&random, 2000);
            if (what < 60)
                open_window(1 + (unsigned)random_below(&random, 1u << random_below(&random, 10)));
            else if (what < 80)
                end_window();
            else if (what < 82)
                heap_trim(0);
            else if (what < 84)
                shared_add(&heap_trim_turn, 1); // obeyed at some refill or flush
            call(&random);
        }
        end_window();
        drop_all();
        expect_nothing_out();
    }
    pretend_single_threaded(false);
}

static void a_trim_ends_the_window_and_empties_the_stacks(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned i = 0; i < 4 * HELD; i++)
        call(&random);
    open_window(1000);
    heap_trim(0);
    assert_false(is_sampling());
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        assert_int_equal(heap_stack_blocks(heap_mine(), i), 0);
    drop_all();
}

static void without_stacks_a_window_counts_as_well(void **state) {
    static uint32_t expected[CLASS_MAP_COUNT];
    (void)state;
    memset(expected, 0, sizeof expected);
    options.fastlane = OPTION_FASTLANE_OFF; // classes without a stack get none
    heap_empty(heap_mine());
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        if (heap_mine()->classes[i].depth > 0)
            heap_set_depth(heap_mine(), i, 0);
    open_window(2 * (CLASS_COUNT - CLASS_FIRST));
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        assert_true(is_sampling());
        release(ask(class_bytes(i)));
        expected[sizes_entry(class_bytes(i))]++;
    }
    options.fastlane = OPTION_FASTLANE_ON;
    assert_false(is_sampling());
    assert_memory_equal(sizes_seen, expected, sizeof expected);
}

static struct heap *heap_of_thread;

static void *end_in_a_window(void *unused) {
    struct random random = {1};
    void *some[100];
    (void)unused;
    heap_of_thread = heap_mine();
    MUST(!is_sampling());
    for (unsigned i = 0; i < COUNT_OF(some); i++)
        some[i] = make(&random);
    open_window(1000);
    for (unsigned i = 0; i < COUNT_OF(some); i++)
        drop(some[i]);
    MUST(is_sampling());
    return NULL;
}

static void a_thread_may_end_in_a_window(void **state) {
    struct heap *first = NULL;
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        threads_run(1, end_in_a_window);
        assert_false(heap_is_sampling(heap_of_thread));
        assert_true(i == 0 || heap_of_thread == first); // the next thread has the same heap
        first = heap_of_thread;
        expect_nothing_out();
    }
}

static void *be_without_a_heap(void *unused) {
    (void)unused;
    end_in_a_window(NULL);
    registry_thread_ended(heap_mine());
    MUST(heap_mine() == NULL);
    release(ask(1000));
    registry_enter_spare();
    heap_open_window(registry.spare, 100); // nobody's stacks
    MUST(!heap_is_sampling(registry.spare));
    heap_empty(registry.spare);
    registry_leave_spare();
    return NULL;
}

static void a_thread_without_a_heap_has_no_windows(void **state) {
    (void)state;
    threads_run(1, be_without_a_heap);
}

static void go_on_in_the_window(void *context) {
    struct random random = {2};
    (void)context;
    for (unsigned i = 0; i < 50; i++) {
        MUST(is_sampling());
        expect_hidden(heap_mine());
        call(&random);
    }
    MUST(!is_sampling());
    drop_all();
    expect_nothing_out();
}

static void a_fork_in_a_window_doubles_it(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned i = 0; i < 4 * HELD; i++)
        call(&random);
    open_window(50);
    child_must_succeed(go_on_in_the_window, NULL);
    go_on_in_the_window(NULL);
}

static void *wait_in_a_window(void *unused) {
    struct random random = {3};
    void *some[HELD];
    (void)unused;
    for (unsigned i = 0; i < HELD; i++)
        some[i] = make(&random);
    for (unsigned i = 0; i < HELD; i++) {
        if (i == HELD / 2)
            open_window(10 * HELD);
        drop(some[i]);
    }
    MUST(is_sampling());
    come_to(1);
    wait_for_stage(2);
    return NULL;
}

static void adopt_what_is_left(void *context) {
    (void)context;
    MUST(load_relaxed(&registry.orphan_count) == 1);
    heap_adopt_orphan();
    expect_nothing_out(); // it is here, once
}

static void a_fork_child_has_the_blocks_of_threads_in_windows(void **state) {
    pthread_t thread;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_a_window, NULL), 0);
    wait_for_stage(1);
    child_must_succeed(adopt_what_is_left, NULL);
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start_each, end_each)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(a_window_hides_all_stacks_and_shows_them_again),
        EACH(a_window_ends_after_as_many_calls_as_it_was_opened_for),
        EACH(an_open_window_is_not_opened_again),
        EACH(tops_are_shown_until_the_last_who_asked_hides_them),
        EACH(last_in_is_first_out_whether_a_window_is_open_or_not),
        EACH(zeroed_blocks_come_from_the_stack_and_count_as_others),
        EACH(a_stack_that_runs_empty_in_a_window_is_refilled),
        EACH(a_stack_that_is_full_in_a_window_is_flushed),
        EACH(blocks_are_neither_lost_nor_doubled_wherever_windows_begin_and_end),
        EACH(a_trim_ends_the_window_and_empties_the_stacks),
        EACH(without_stacks_a_window_counts_as_well),
        EACH(a_thread_may_end_in_a_window),
        EACH(a_thread_without_a_heap_has_no_windows),
        EACH(a_fork_in_a_window_doubles_it),
        EACH(a_fork_child_has_the_blocks_of_threads_in_windows),
    };
    return cmocka_run_group_tests_name("sampling", tests, start_heap, NULL);
}
