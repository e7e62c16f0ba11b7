// Who is worth a helper thread, which lets memory go and looks where nobody does; and whose next run has one. Time and
// programs are invented.
#include "unit/policy/retaining.h"

// Busy for all of the time.
static void work(uint64_t ns) {
    seen.busy_ns += ns;
    look(ns, 10 * MIB);
}

// Free for as long as it takes to be worth a helper, with a look now and then.
static void stay_free(size_t retained_bytes) {
    seen.retained_bytes = retained_bytes;
    for (unsigned i = 0; i < 2; i++) {
        work(RETENTION_NS / 2);
        assert_int_equal(choice.purge_delay, 0);
    }
}

static void memory_that_is_free_for_long_is_worth_a_helper(void **state) {
    (void)state;
    work(0);
    stay_free(7 * MIB); // not worth it
    work(MS_NS);
    stay_free(8 * MIB); // not longer
    seen.retained_bytes = 0;
    work(MS_NS);
    stay_free(8 * MIB); // freed after the last look
    work(1);
    assert_int_equal(choice.purge_delay, RETENTION_NS / MS_NS);
    assert_false(retention_has_slept(&state_now));
}

static void what_several_threads_use_is_worth_a_helper(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        begin(state);
        seen.threads = threads;
        look(0, 7 * MIB);
        look(2 * RETENTION_NS, 7 * MIB); // not worth it
        assert_int_equal(choice.purge_delay, 0);
        look(RETENTION_NS, 8 * MIB); // not longer
        assert_int_equal(choice.purge_delay, 0);
        look(1, 8 * MIB);
        assert_int_equal(choice.purge_delay, threads > 1 ? RETENTION_NS / MS_NS : 0);
    }
}

// The helper's looks, each of them soon after the one before; then one of the program's own threads.
static void be_looked_at_by_helper(uint64_t busy_ns) {
    look(0, 10 * MIB);
    seen.retained_bytes = 8 * MIB;
    seen.due_ns = seen.now_ns;
    seen.is_helpers = true;
    for (unsigned i = 0; i < 8; i++) {
        seen.busy_ns += busy_ns / 8;
        look(RETENTION_NS / 4, 10 * MIB);
        assert_false(retention_has_slept(&state_now)); // it still may
        seen.retained_bytes = 0;                       // the helper lets it go
    }
    seen.is_helpers = false;
    look(MS_NS, 10 * MIB);
}

static void who_is_looked_at_by_the_helper_alone_may_have_slept(void **state) {
    (void)state;
    be_looked_at_by_helper(0);
    assert_true(retention_has_slept(&state_now));
    begin(state);
    be_looked_at_by_helper(2 * RETENTION_NS);
    assert_false(retention_has_slept(&state_now)); // it computed
}

static void who_computes_without_allocating_does_not_sleep(void **state) {
    (void)state;
    look(0, 10 * MIB);
    seen.retained_bytes = 8 * MIB;
    seen.busy_ns += 2 * RETENTION_NS;
    look(2 * RETENTION_NS + MS_NS, 10 * MIB);
    assert_false(retention_has_slept(&state_now));
    assert_int_equal(choice.purge_delay, RETENTION_NS / MS_NS); // but nobody looks either
    seen.busy_ns += RETENTION_NS / 3;
    look(RETENTION_NS, 10 * MIB); // not longer
    assert_false(retention_has_slept(&state_now));
    seen.busy_ns += RETENTION_NS / 3;
    look(RETENTION_NS + MS_NS, 10 * MIB);
    assert_true(retention_has_slept(&state_now));
}

// It falls asleep after its last look, and takes again what is free before the next one.
static void what_was_free_between_two_looks_counts(void **state) {
    (void)state;
    for (unsigned free_mib = 7; free_mib <= 8; free_mib++) {
        begin(state);
        look(0, 10 * MIB);
        seen.highest_retained_bytes = free_mib * MIB;
        look(2 * RETENTION_NS, 10 * MIB);
        assert_int_equal(retention_has_slept(&state_now), free_mib == 8);
        assert_int_equal(choice.purge_delay > 0, free_mib == 8); // it is worth a helper, too
    }
    begin(state);
    look(0, 10 * MIB);
    seen.highest_retained_bytes = 8 * MIB;
    seen.busy_ns += MS_NS;
    look(MS_NS, 10 * MIB); // it was awake
    seen.highest_retained_bytes = 0;
    look(2 * RETENTION_NS, 10 * MIB);
    assert_false(retention_has_slept(&state_now));
}

// It wakes up five times while free memory is worth as much as faulting it in, busy for a part of the time between.
static void wake_up(uint64_t busy_share) {
    for (unsigned i = 0; i < 5; i++) {
        assert_false(retention_has_slept(&state_now));
        seen.busy_ns += RETENTION_NS / 5 / busy_share;
        look(RETENTION_NS / 5, 10 * MIB);
    }
}

static void who_wakes_up_now_and_then_sleeps(void **state) {
    (void)state;
    look(0, 10 * MIB);
    seen.retained_bytes = 8 * MIB;
    wake_up(8); // busy for longer than that
    wake_up(8);
    assert_false(retention_has_slept(&state_now));
    look(MS_NS, 10 * MIB); // just before it falls asleep
    seen.busy_ns += MS_NS;
    look(MS_NS, 10 * MIB);
    wake_up(20);
    assert_false(retention_has_slept(&state_now)); // not longer
    seen.retained_bytes = 0;                       // it is gone meanwhile
    look(1, 10 * MIB);
    assert_true(retention_has_slept(&state_now));
}

// What comes again is held for less than what free memory is worth a thread for, or a sleep counts from.
static void how_long_memory_is_held_says_when_it_goes_alone(void **state) {
    (void)state;
    seen.hold_ns = RETENTION_NS / 4;
    look(0, 10 * MIB);
    seen.retained_bytes = 8 * MIB;
    look(RETENTION_NS, 10 * MIB);
    assert_true(!retention_has_slept(&state_now) && choice.purge_delay == 0);
    look(1, 10 * MIB);
    assert_int_equal(choice.purge_delay, RETENTION_NS / 4 / MS_NS);
    look(RETENTION_NS + 1, 10 * MIB);
    assert_true(retention_has_slept(&state_now));
}

static void a_look_that_was_not_due_earlier_was_not_missed(void **state) {
    (void)state;
    look(0, 10 * MIB);
    seen.retained_bytes = 8 * MIB;
    seen.due_ns = seen.now_ns + 2 * RETENTION_NS;
    look(2 * RETENTION_NS + MS_NS, 10 * MIB);
    assert_false(retention_has_slept(&state_now));
    seen.due_ns = seen.now_ns + 2 * RETENTION_NS;
    look(MS_NS, 10 * MIB); // before it was due
    assert_false(retention_has_slept(&state_now));
    seen.due_ns = seen.now_ns;
    look(2 * RETENTION_NS, 10 * MIB);
    assert_true(retention_has_slept(&state_now));
}

static void where_processor_time_is_not_known_there_is_no_helper(void **state) {
    (void)state;
    seen.busy_ns = 0;
    look(0, 10 * MIB);
    seen.retained_bytes = 8 * MIB;
    look(2 * RETENTION_NS, 10 * MIB);
    assert_true(!retention_has_slept(&state_now) && choice.purge_delay == 0);
}

static void a_child_has_not_slept(void **state) {
    (void)state;
    look(0, 10 * MIB);
    seen.retained_bytes = 8 * MIB;
    seen.busy_ns = 100 * SECOND_NS;
    look(MS_NS, 10 * MIB);
    look(2 * RETENTION_NS, 10 * MIB);
    assert_true(retention_has_slept(&state_now));
    retention_begin_life(&state_now, seen.now_ns);
    seen.busy_ns = MS_NS; // of its own
    look(RETENTION_NS, 10 * MIB);
    assert_false(retention_has_slept(&state_now)); // what it did since is not known
    assert_int_equal(choice.purge_delay, 0);
    look(2 * RETENTION_NS, 10 * MIB);
    assert_true(retention_has_slept(&state_now));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory_that_is_free_for_long_is_worth_a_helper, begin),
        cmocka_unit_test_setup(what_several_threads_use_is_worth_a_helper, begin),
        cmocka_unit_test_setup(who_is_looked_at_by_the_helper_alone_may_have_slept, begin),
        cmocka_unit_test_setup(who_computes_without_allocating_does_not_sleep, begin),
        cmocka_unit_test_setup(what_was_free_between_two_looks_counts, begin),
        cmocka_unit_test_setup(who_wakes_up_now_and_then_sleeps, begin),
        cmocka_unit_test_setup(how_long_memory_is_held_says_when_it_goes_alone, begin),
        cmocka_unit_test_setup(a_look_that_was_not_due_earlier_was_not_missed, begin),
        cmocka_unit_test_setup(where_processor_time_is_not_known_there_is_no_helper, begin),
        cmocka_unit_test_setup(a_child_has_not_slept, begin),
    };
    return cmocka_run_group_tests_name("retention helper", tests, NULL, NULL);
}
