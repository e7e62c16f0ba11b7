// Sampling windows: what they see, that they end, and that neither blocks nor their order depend on them, wherever one
// begins or ends.
#include "unit/unit.h"

#include "heap/sampling.h"
#include "sample/sizes.h"
#include "unit/heap/heaps.h"

enum { MANY = 1000, WORKERS = 3 };
static const size_t most_bytes = 200 * KIB;

static void open_window(unsigned calls) {
    struct heap *heap = heap_enter();
    heap_open_window(heap, calls);
    heap_leave(heap);
}

static void end_window(void) {
    struct heap *heap = heap_enter();
    heap_end_window(heap);
    heap_leave(heap);
}

static bool is_sampling(void) {
    return heap_is_sampling(heap_mine());
}

// A request as the interface serves it (api/calls.c).
static void *ask(size_t bytes) {
    void *block = stack_pop(class_of(bytes));
    if (block != NULL)
        return block;
    struct heap *heap = heap_enter();
    if (heap != NULL && heap_is_sampling(heap))
        sizes_note(bytes);
    block = heap_refill(class_of(bytes));
    heap_leave(heap);
    MUST(block != NULL);
    return block;
}

// ---- blocks that know what they are

struct stamp {
    size_t bytes;
    uintptr_t check;
};

static uintptr_t check_of(const struct stamp *stamp, size_t bytes) {
    return (uintptr_t)stamp ^ bytes * 0x9e3779b97f4a7c15u;
}

// As many small ones as large ones at every scale, not below a stamp's size.
static size_t random_bytes(struct random *random) {
    size_t bytes = sizeof(struct stamp) << random_below(random, 14);
    bytes += random_below(random, bytes);
    return bytes < most_bytes ? bytes : most_bytes;
}

static void *make(struct random *random) {
    size_t bytes = random_bytes(random);
    struct stamp *stamp = (struct stamp *)ask(bytes);
    *stamp = (struct stamp){bytes, check_of(stamp, bytes)};
    ((char *)stamp)[bytes - 1] = bytes > sizeof *stamp ? 'e' : ((char *)stamp)[bytes - 1];
    return stamp;
}

static void drop(void *block) {
    struct stamp *stamp = (struct stamp *)block;
    if (stamp == NULL)
        return;
    MUST(stamp->check == check_of(stamp, stamp->bytes)); // else somebody else has it too
    MUST(stamp->bytes == sizeof *stamp || ((char *)block)[stamp->bytes - 1] == 'e');
    stamp->check = 0;
    release(block);
}

static void *held[MANY];

// One call: a request or a free.
static void call(struct random *random) {
    void **slot = &held[random_below(random, MANY)];
    if (*slot != NULL) {
        drop(*slot);
        *slot = NULL;
    } else {
        *slot = make(random);
    }
}

static void drop_all(void) {
    for (unsigned i = 0; i < MANY; i++) {
        drop(held[i]);
        held[i] = NULL;
    }
}

static void expect_nothing_out(void) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        MUST(slabs_with_blocks_out(i) == 0);
        MUST(blocks_out(i) == 0);
    }
}

static void expect_hidden(const struct heap *heap) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        MUST(heap->stacks->top[i] == CONSTANT_TOP); // Y1
    MUST(heap->tops_shown == 0);
}

static int start_each(void **state) {
    (void)state;
    memset(sizes_seen, 0, sizeof sizes_seen);
    return 0;
}

// After each test nobody has anything, and no window is open.
static int end_each(void **state) {
    (void)state;
    drop_all();
    expect_nothing_out();
    expect_nobody_inside();
    return is_sampling();
}

// ---- one window

static void a_window_hides_all_stacks_and_shows_them_again(void **state) {
    void **before[CLASS_END];
    struct random random = random_start();
    struct heap *heap = heap_mine();
    (void)state;
    for (unsigned i = 0; i < 4 * MANY; i++)
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
    allocate_many(class_index, held, MANY); // the stack grows
    release_many(held, MANY);
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

// ---- what is seen

static void every_request_in_a_window_is_counted_and_no_other(void **state) {
    static uint32_t expected[CLASS_MAP_COUNT];
    struct random random = random_start();
    unsigned left = 0;
    (void)state;
    memset(expected, 0, sizeof expected);
    for (unsigned step = 0; step < 200000; step++) {
        if (left == 0 && random_below(&random, 200) == 0)
            open_window(left = 1 + (unsigned)random_below(&random, 300));
        void **slot = &held[random_below(&random, MANY)];
        if (*slot != NULL) {
            drop(*slot);
            *slot = NULL;
        } else {
            *slot = make(&random);
            expected[sizes_entry(((struct stamp *)*slot)->bytes)] += left > 0;
        }
        left -= left > 0;
        assert_int_equal(is_sampling(), left > 0);
    }
    assert_memory_equal(sizes_seen, expected, sizeof expected);
    end_window();
}

// Sizes of classes small and large, with weights far apart.
enum { KINDS = 16, WEIGHT = 147 };
static const unsigned weights[KINDS] = {40, 1, 20, 5, 10, 2, 30, 1, 4, 8, 3, 2, 6, 2, 1, 12};
static const size_t bytes_of_kind[KINDS] = {16,   40,   64,   100,   150,   250,   500,   800,
                                            1500, 2100, 4096, 10000, 20000, 33000, 50000, 100000};

static unsigned random_kind(struct random *random) {
    unsigned kind = 0;
    for (size_t pick = random_below(random, WEIGHT); pick >= weights[kind]; kind++)
        pick -= weights[kind];
    return kind;
}

// Pearson's: with KINDS - 1 = 15 degrees of freedom it exceeds 60 once in three million times.
static double chi_square(const uint32_t *seen) {
    double all = 0, sum = 0;
    for (unsigned i = 0; i < KINDS; i++)
        all += seen[i];
    for (unsigned i = 0; i < KINDS; i++) {
        double expected = all * weights[i] / WEIGHT;
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    return sum;
}

// Windows begin where the cold path was gone so many times, as for learning, which a trace does not know of.
static void windows_see_sizes_as_often_as_the_whole_trace_has_them(void **state) {
    uint32_t seen[KINDS], asked[KINDS] = {0};
    struct random random = random_start();
    (void)state;
    for (unsigned step = 0, cold = 0; step < (SANITIZED ? 300000 : 1500000); step++) {
        void **slot = &held[random_below(&random, MANY)];
        unsigned kind = random_kind(&random);
        if (*slot != NULL)
            release(*slot);
        cold += thread_stacks.top[class_of(bytes_of_kind[kind])][-1] == NULL;
        *slot = ask(bytes_of_kind[kind]);
        asked[kind]++;
        if (!is_sampling() && cold >= 32) {
            cold = 0;
            open_window(64);
        }
    }
    for (unsigned i = 0; i < KINDS; i++)
        seen[i] = sizes_seen[sizes_entry(bytes_of_kind[i])];
    end_window();
    for (unsigned i = 0; i < MANY; i++)
        release(held[i]);
    memset(held, 0, sizeof held);
    if (chi_square(asked) > 60 || chi_square(seen) > 60)
        fail_msg("chi square %.1f of what was asked, %.1f of what was seen", chi_square(asked), chi_square(seen));
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
    allocate_many(class_index, held, MANY);
    open_window(MANY + 1);
    for (unsigned i = 0; i < MANY; i++) {
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
    for (unsigned i = 0; i < 4 * MANY; i++)
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
    for (unsigned i = 0; i < 4 * MANY; i++)
        call(&random);
    open_window(50);
    child_must_succeed(go_on_in_the_window, NULL);
    go_on_in_the_window(NULL);
}

static void *wait_in_a_window(void *unused) {
    struct random random = {3};
    void *some[MANY];
    (void)unused;
    for (unsigned i = 0; i < MANY; i++)
        some[i] = make(&random);
    for (unsigned i = 0; i < MANY; i++) {
        if (i == MANY / 2)
            open_window(10 * MANY);
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

// ---- others look on

static void *show_and_hide(void *unused) {
    struct heap *heap = heap_enter();
    void *some[20];
    (void)unused;
    allocate_many(class_of(300), some, COUNT_OF(some));
    release_many(some, COUNT_OF(some));
    come_to(1);
    wait_for_stage(2);
    heap_open_window(heap, 100);
    come_to(3);
    wait_for_stage(4);
    heap_show_tops(heap); // as while a batch moves
    come_to(5);
    wait_for_stage(6);
    heap_hide_tops(heap);
    heap_leave(heap);
    come_to(7);
    wait_for_stage(8);
    end_window();
    come_to(9);
    wait_for_stage(10);
    return NULL;
}

static void others_count_cached_blocks_in_windows_too(void **state) {
    pthread_t thread;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, show_and_hide, NULL), 0);
    wait_for_stage(1);
    uint64_t cached = counts_of(class_of(300)).cached_blocks;
    assert_true(cached >= 20);
    for (uint32_t at = 1; at < 10; at += 2) {
        wait_for_stage(at);
        assert_int_equal(counts_of(class_of(300)).cached_blocks, cached);
        assert_int_equal(blocks_out(class_of(300)), 0);
        come_to(at + 1);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *open_without_pause(void *unused) {
    void *some[20];
    (void)unused;
    allocate_many(class_of(300), some, COUNT_OF(some));
    release_many(some, COUNT_OF(some));
    come_to(1);
    while (load_relaxed(&stage) == 1) {
        open_window(100);
        end_window();
    }
    return NULL;
}

// What is counted while a window begins or ends is a hint: nothing or all of it, never more.
static void others_never_count_more_than_there_is(void **state) {
    pthread_t thread;
    unsigned right = 0;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, open_without_pause, NULL), 0);
    wait_for_stage(1);
    uint64_t refilled = counts_of(class_of(300)).counters.refilled_blocks, flushed;
    flushed = counts_of(class_of(300)).counters.flushed_blocks;
    for (unsigned i = 0; i < 20000 || right < 100; i++) {
        uint64_t cached = counts_of(class_of(300)).cached_blocks;
        right += cached == refilled - flushed;
        if (cached != 0 && cached != refilled - flushed) // asserts would leave the thread behind
            MUST(cached == refilled - flushed);
    }
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

// ---- held classes

static void *make_held(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < MANY; i++)
        held[i] = ask(16 + 16 * (i % 3));
    come_to(1);
    wait_for_stage(2);
    return NULL;
}

static void blocks_of_others_go_home_from_a_window(void **state) {
    pthread_t thread;
    struct heap *heap = heap_mine();
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, make_held, NULL), 0);
    wait_for_stage(1);
    void *own = ask(32);
    open_window(2 * MANY);
    for (unsigned i = 0; i < OUTBOX_BLOCKS; i++) {
        release(held[i]);
        assert_int_equal(heap->outbox_blocks, i + 1);
    }
    release(own);
    assert_int_equal(heap->outbox_blocks, OUTBOX_BLOCKS);
    assert_ptr_equal(ask(32), own); // this one waits in the stack
    release(own);
    for (unsigned i = OUTBOX_BLOCKS; i < MANY; i++) // from now on it passes them around
        release(held[i]);
    memset(held, 0, sizeof held);
    expect_hidden(heap);
    assert_true(is_sampling());
    for (unsigned i = 1; i <= CLASS_LAST_HELD; i++)
        assert_true(heap->classes[i].passes_on);
    end_window();
    heap_empty(heap);
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

// ---- all at once

static void *passed[64]; // from thread to thread
static uint32_t at_work;

static void *churn(void *number) {
    struct random random = {(uintptr_t)number * 77 + (uintptr_t)time(NULL)};
    void *own[100] = {NULL};
    for (unsigned step = 0; step < (SANITIZED ? 3000 : 20000); step++) {
        void **slot = &own[random_below(&random, COUNT_OF(own))];
        if (random_below(&random, 30) == 0)
            open_window(1 + (unsigned)random_below(&random, 100));
        drop(*slot);
        *slot = make(&random);
        // order: what was written to the block comes before another thread reads it
        if (random_below(&random, 4) == 0)
            *slot = __atomic_exchange_n(&passed[random_below(&random, COUNT_OF(passed))], *slot, __ATOMIC_ACQ_REL);
    }
    for (unsigned i = 0; i < COUNT_OF(own); i++)
        drop(own[i]);
    open_window(1000); // it ends in a window
    return NULL;
}

static void *churn_and_start_anew(void *number) {
    for (unsigned i = 0; i < 4; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, churn, (void *)((uintptr_t)number + i * WORKERS)) == 0);
        MUST(pthread_join(thread, NULL) == 0);
    }
    shared_add(&at_work, -1u);
    return NULL;
}

static void use_what_is_left(void *context) {
    struct random random = {4};
    (void)context;
    options.on_fault = OPTION_ON_FAULT_ABORT;
    while (load_relaxed(&registry.orphan_count) > 0)
        heap_adopt_orphan();
    for (unsigned i = 0; i < 2 * MANY; i++)
        call(&random);
    drop_all();
}

static void *disturb(void *number) {
    struct random random = {(uintptr_t)number};
    while (load_relaxed(&at_work) > 0) {
        open_window(1 + (unsigned)random_below(&random, 20));
        size_t what = random_below(&random, SANITIZED ? 400 : 200);
        if (what == 0)
            child_must_succeed(use_what_is_left, NULL);
        else if (what < 20)
            heap_trim(0);
        else
            (void)counts_of(CLASS_FIRST + (unsigned)(what % (CLASS_END - CLASS_FIRST)));
        drop(make(&random));
    }
    return NULL;
}

static void windows_trims_ends_forks_and_statistics_go_together(void **state) {
    pthread_t thread;
    (void)state;
    store_relaxed(&at_work, (uint32_t)WORKERS);
    assert_int_equal(pthread_create(&thread, NULL, disturb, NULL), 0);
    threads_run(WORKERS, churn_and_start_anew);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < COUNT_OF(passed); i++) {
        drop(passed[i]);
        passed[i] = NULL;
    }
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start_each, end_each)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(a_window_hides_all_stacks_and_shows_them_again),
        EACH(a_window_ends_after_as_many_calls_as_it_was_opened_for),
        EACH(an_open_window_is_not_opened_again),
        EACH(tops_are_shown_until_the_last_who_asked_hides_them),
        EACH(last_in_is_first_out_whether_a_window_is_open_or_not),
        EACH(every_request_in_a_window_is_counted_and_no_other),
        EACH(windows_see_sizes_as_often_as_the_whole_trace_has_them),
        EACH(a_stack_that_runs_empty_in_a_window_is_refilled),
        EACH(a_stack_that_is_full_in_a_window_is_flushed),
        EACH(blocks_are_neither_lost_nor_doubled_wherever_windows_begin_and_end),
        EACH(a_trim_ends_the_window_and_empties_the_stacks),
        EACH(without_stacks_a_window_counts_as_well),
        EACH(a_thread_may_end_in_a_window),
        EACH(a_thread_without_a_heap_has_no_windows),
        EACH(a_fork_in_a_window_doubles_it),
        EACH(a_fork_child_has_the_blocks_of_threads_in_windows),
        EACH(others_count_cached_blocks_in_windows_too),
        EACH(others_never_count_more_than_there_is),
        EACH(blocks_of_others_go_home_from_a_window),
        EACH(windows_trims_ends_forks_and_statistics_go_together),
    };
    return cmocka_run_group_tests_name("sampling", tests, start_heap, NULL);
}
