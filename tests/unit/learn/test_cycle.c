// The life cycle in a process: whose decisions are in force in which window, and which of them stay. Each test is a
// process of its own: there is one cycle.
#include "unit/unit.h"

#include "learn/cycle.h"
#include "learn/decide.h"
#include "sample/sizes.h"

enum { CALM_WINDOWS = 6, CANARY_WINDOWS = 12, OLD_BYTES = 8 << 20, NEW_BYTES = 12 << 20 };
static struct observation seen;

static void begin(void) {
    static struct snapshot base;
    MUST(heap_process_start());
    heap_default_snapshot(&base);
    base.thread_bytes = OLD_BYTES;
    seen.now_ns = SECOND_NS;
    seen.page = COST_PAGE_DEFAULT;
    decide_start(&base, DECIDE_USUAL, seen.now_ns);
    cycle_start(seen.now_ns);
}

// A window at whose end so much memory lay idle, with calls that took so long.
static void one_window(size_t idle_mib, uint64_t latency_ns) {
    for (unsigned i = 0; i < EVOLUTION_LEAST_SEEN && latency_ns > 0; i++)
        cycle_note_latency(latency_ns);
    while (!cycle_is_due(seen.now_ns))
        seen.now_ns += MS_NS;
    seen.retained_bytes = idle_mib * MIB;
    cycle_step(&seen);
}

static void windows(unsigned count, uint64_t latency_ns) {
    for (unsigned i = 0; i < count; i++)
        one_window(0, latency_ns);
}

// Something is decided, and holds still.
static void decide_and_wait(void) {
    decided.thread_bytes = NEW_BYTES;
    decided.spare_bytes[3] = 1040;
    decided.depth[CLASS_COUNT + 3] = 44;
    cycle_note_change();
    MUST(cycle_learns() && cycle_shown() == &decided);
    windows(CALM_WINDOWS, 1000);
    MUST(!cycle_learns());
}

static void decide_nothing(void *unused) {
    (void)unused;
    begin();
    MUST(!cycle_is_due(seen.now_ns));
    for (unsigned i = 0; i < CALM_WINDOWS; i++) {
        MUST(cycle_learns());
        one_window(0, 1000);
    }
    MUST(!cycle_learns() && cycle_shown() == &decided);
}

static void where_nothing_is_decided_it_freezes_without_a_trial(void **state) {
    (void)state;
    child_must_succeed(decide_nothing, NULL);
}

static void keep_deciding(void *unused) {
    (void)unused;
    begin();
    for (unsigned i = 0; i < 30; i++) {
        cycle_note_change();
        one_window(0, 1000);
        MUST(cycle_learns());
    }
    windows(2, 1000);
    MUST(cycle_learns());
    one_window(0, 1000);
    MUST(!cycle_learns());
}

static void while_it_decides_it_goes_on_learning(void **state) {
    (void)state;
    child_must_succeed(keep_deciding, NULL);
}

static void try_what_was_decided(void *unused) {
    (void)unused;
    begin();
    decide_and_wait();
    for (unsigned i = 0; i < CANARY_WINDOWS; i++) {
        MUST(cycle_shown()->thread_bytes == (i / 2 % 2 == i % 2 ? OLD_BYTES : NEW_BYTES));
        MUST(cycle_shown()->spare_bytes[3] == 1040 && cycle_shown()->depth[CLASS_COUNT + 3] == 44);
        one_window(0, 1000);
    }
    MUST(cycle_shown() == &decided && decided.thread_bytes == NEW_BYTES);
}

static void what_was_decided_is_in_force_in_every_other_window(void **state) {
    (void)state;
    child_must_succeed(try_what_was_decided, NULL);
}

// The idle memory of a window is what its decisions cost.
static void compare(size_t old_mib, size_t new_mib) {
    begin();
    decide_and_wait();
    for (unsigned i = 0; i < CANARY_WINDOWS; i++)
        one_window(cycle_shown()->thread_bytes == OLD_BYTES ? old_mib : new_mib, 1000);
    MUST(!cycle_learns() && cycle_shown() == &decided);
}

static void compare_with_worse(void *unused) {
    (void)unused;
    compare(100, 110);
    MUST(decided.thread_bytes == OLD_BYTES);
    MUST(decided.spare_bytes[3] == 1040 && decided.depth[CLASS_COUNT + 3] == 44); // classes stay
    windows(20, 1000);
    MUST(cycle_shown()->thread_bytes == OLD_BYTES);
}

static void what_is_worse_gives_way_but_for_classes(void **state) {
    (void)state;
    child_must_succeed(compare_with_worse, NULL);
}

static void compare_with_better(void *unused) {
    (void)unused;
    compare(110, 100);
    MUST(decided.thread_bytes == NEW_BYTES);
    windows(20, 1000);
    MUST(cycle_shown()->thread_bytes == NEW_BYTES);
}

static void what_is_better_stays(void **state) {
    (void)state;
    child_must_succeed(compare_with_better, NULL);
}

static void become_slow(void *unused) {
    (void)unused;
    decide_nothing(NULL);
    windows(4, 1000); // what is usual
    one_window(0, 1500);
    windows(3, 1000); // a window's calls are forgotten at its end
    MUST(!cycle_learns());
    windows(2, 1500);
    MUST(!cycle_learns());
    one_window(0, 1500);
    MUST(cycle_learns() && cycle_shown() == &decided);
}

static void three_windows_of_slow_calls_wake_it(void **state) {
    (void)state;
    child_must_succeed(become_slow, NULL);
}

// So few calls a window that only several together tell what is usual, and what is slow.
static void become_slow_with_few_calls(void *unused) {
    (void)unused;
    decide_nothing(NULL);
    unsigned windows = 0;
    for (; windows < 40; windows++) {
        for (unsigned i = 0; i < EVOLUTION_LEAST_SEEN / 5; i++)
            cycle_note_latency(1000);
        one_window(0, 0);
        MUST(!cycle_learns());
    }
    for (windows = 0; windows < 25 && !cycle_learns(); windows++) {
        for (unsigned i = 0; i < EVOLUTION_LEAST_SEEN / 5; i++)
            cycle_note_latency(10000);
        one_window(0, 0);
    }
    MUST(cycle_learns() && windows > 10);
}

static void slow_calls_that_are_few_wake_it_too(void **state) {
    (void)state;
    child_must_succeed(become_slow_with_few_calls, NULL);
}

static void window_of_size(size_t bytes) {
    for (unsigned i = 0; i < EVOLUTION_LEAST_SEEN; i++)
        sizes_note(bytes);
    one_window(0, 0);
}

static void ask_for_others(void *unused) {
    (void)unused;
    decide_nothing(NULL);
    for (unsigned i = 0; i < 5; i++)
        window_of_size(100);
    MUST(!cycle_learns());
    for (unsigned i = 0; i < 3; i++)
        window_of_size(30000);
    MUST(cycle_learns());
}

static void three_windows_of_other_sizes_wake_it(void **state) {
    (void)state;
    child_must_succeed(ask_for_others, NULL);
}

static void decide_again(void *unused) {
    (void)unused;
    become_slow(NULL);
    decide_and_wait();
    MUST(cycle_shown()->thread_bytes == OLD_BYTES);
    windows(CANARY_WINDOWS, 1000);
    MUST(cycle_shown()->thread_bytes == NEW_BYTES);
}

static void what_is_decided_later_is_tried_too(void **state) {
    (void)state;
    child_must_succeed(decide_again, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_is_decided_it_freezes_without_a_trial),
        cmocka_unit_test(while_it_decides_it_goes_on_learning),
        cmocka_unit_test(what_was_decided_is_in_force_in_every_other_window),
        cmocka_unit_test(what_is_worse_gives_way_but_for_classes),
        cmocka_unit_test(what_is_better_stays),
        cmocka_unit_test(three_windows_of_slow_calls_wake_it),
        cmocka_unit_test(slow_calls_that_are_few_wake_it_too),
        cmocka_unit_test(three_windows_of_other_sizes_wake_it),
        cmocka_unit_test(what_is_decided_later_is_tried_too),
    };
    return cmocka_run_group_tests_name("cycle", tests, NULL, NULL);
}
