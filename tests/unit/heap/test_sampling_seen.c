// What sampling windows see of a trace, and what other threads see of a thread in one; blocks of others; all at once.
#include "unit/unit.h"

#include "unit/heap/stamped.h"

enum { WORKERS = 3 };

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
        void **slot = &held[random_below(&random, HELD)];
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
        void **slot = &held[random_below(&random, HELD)];
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
    for (unsigned i = 0; i < HELD; i++)
        release(held[i]);
    memset(held, 0, sizeof held);
    if (chi_square(asked) > 60 || chi_square(seen) > 60)
        fail_msg("chi square %.1f of what was asked, %.1f of what was seen", chi_square(asked), chi_square(seen));
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
    open_window(100);
    store_relaxed(&heap_mine()->tops_shown, 1u); // as while it begins
    come_to(1);
    wait_for_stage(2);
    store_relaxed(&heap_mine()->tops_shown, 0u);
    end_window();
    for (come_to(3); load_relaxed(&stage) == 3;) {
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
    MUST(counts_of(class_of(300)).cached_blocks == 0);
    come_to(2);
    wait_for_stage(3);
    uint64_t refilled = counts_of(class_of(300)).counters.refilled_blocks, flushed;
    flushed = counts_of(class_of(300)).counters.flushed_blocks;
    for (unsigned i = 0; i < 20000 || right < 100; i++) {
        uint64_t cached = counts_of(class_of(300)).cached_blocks;
        right += cached == refilled - flushed;
        if (cached != 0 && cached != refilled - flushed) // asserts would leave the thread behind
            MUST(cached == refilled - flushed);
    }
    come_to(4);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

// ---- held classes

static void *make_held(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < HELD; i++)
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
    open_window(2 * HELD);
    for (unsigned i = 0; i < OUTBOX_BLOCKS; i++) {
        release(held[i]);
        assert_int_equal(heap->outbox_blocks, i + 1);
    }
    release(own);
    assert_int_equal(heap->outbox_blocks, OUTBOX_BLOCKS);
    assert_ptr_equal(ask(32), own); // this one waits in the stack
    release(own);
    for (unsigned i = OUTBOX_BLOCKS; i < HELD; i++) // from now on it passes them around
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
    for (unsigned i = 0; i < 2 * HELD; i++)
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
        EACH(every_request_in_a_window_is_counted_and_no_other),
        EACH(windows_see_sizes_as_often_as_the_whole_trace_has_them),
        EACH(others_count_cached_blocks_in_windows_too),
        EACH(others_never_count_more_than_there_is),
        EACH(blocks_of_others_go_home_from_a_window),
        EACH(windows_trims_ends_forks_and_statistics_go_together),
    };
    return cmocka_run_group_tests_name("what windows see", tests, start_heap, NULL);
}
