// Windows of arms: which of them count, and what they cost.
#include "unit/unit.h"

#include "policy/tryout.h"

#define ENOUGH ((uint64_t)TRYOUT_LEAST_BYTES)
static struct tryout tryout;
static struct tryout_seen seen;

static int start(void **state) {
    (void)state;
    tryout = (struct tryout){0};
    tryout_start(&tryout);
    seen = (struct tryout_seen){.now_ns = SECOND_NS, .busy_ns = 1, .price = 1000};
    return 0;
}

// A window under an arm; what it cost, where it counts.
static enum tryout_result try_arm(uint32_t arm, uint64_t lasts_ns, uint64_t busy_ns, uint64_t bytes, double *cost) {
    tryout_begin_window(&tryout, &seen, arm, TRYOUT_NO_ARM);
    assert_true(tryout_has_window(&tryout));
    seen.now_ns += lasts_ns;
    seen.busy_ns += busy_ns;
    seen.done_bytes += bytes;
    return tryout_end_window(&tryout, &seen, cost);
}

static enum tryout_result try_usual(uint32_t arm, uint64_t busy_ns) {
    double cost;
    return try_arm(arm, TRYOUT_NS, busy_ns, ENOUGH, &cost);
}

static void a_window_is_due_in_time(void **state) {
    (void)state;
    assert_false(tryout_has_window(&tryout));
    tryout_begin_window(&tryout, &seen, 0, TRYOUT_NO_ARM);
    assert_false(tryout_is_due(&tryout, seen.now_ns + TRYOUT_NS - 1));
    assert_true(tryout_is_due(&tryout, seen.now_ns + TRYOUT_NS));
    tryout_break_off(&tryout);
    assert_false(tryout_has_window(&tryout));
}

static void an_arm_that_costs_the_same_has_settled_with_the_second_window(void **state) {
    (void)state;
    assert_int_equal(try_usual(3, 1000), TRYOUT_SETTLES);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(try_usual(3, 1000), TRYOUT_COUNTS);
    assert_int_equal(try_usual(4, 1000), TRYOUT_SETTLES); // another one
    assert_int_equal(try_usual(4, 1000), TRYOUT_COUNTS);
}

static void an_arm_that_becomes_cheaper_has_not_settled(void **state) {
    (void)state;
    assert_int_equal(try_usual(3, 8000), TRYOUT_SETTLES);
    assert_int_equal(try_usual(3, 4000), TRYOUT_SETTLES);
    assert_int_equal(try_usual(3, 2000), TRYOUT_SETTLES);
    assert_int_equal(try_usual(3, 1700), TRYOUT_COUNTS);
    assert_int_equal(try_usual(3, 100), TRYOUT_COUNTS); // it has once and for all
}

static void it_does_not_settle_for_ever(void **state) {
    uint64_t busy_ns = UINT64_C(1) << 40;
    (void)state;
    for (unsigned i = 0; i < TRYOUT_SETTLING_WINDOWS; i++, busy_ns /= 2)
        assert_int_equal(try_usual(3, busy_ns), TRYOUT_SETTLES);
    assert_int_equal(try_usual(3, busy_ns), TRYOUT_COUNTS);
}

static void after_a_break_the_same_arm_settles_anew(void **state) {
    (void)state;
    try_usual(3, 1000);
    assert_int_equal(try_usual(3, 1000), TRYOUT_COUNTS);
    tryout_break_off(&tryout);
    assert_int_equal(try_usual(3, 1000), TRYOUT_SETTLES);
}

static void what_says_nothing_does_not_count(void **state) {
    double cost;
    (void)state;
    assert_int_equal(try_arm(3, TRYOUT_NS, 1000, ENOUGH - 1, &cost), TRYOUT_COUNTS_NOT);
    assert_int_equal(try_arm(3, TRYOUT_NS, 0, ENOUGH, &cost), TRYOUT_COUNTS_NOT);
    assert_int_equal(try_arm(3, TRYOUT_LONG_WINDOWS * TRYOUT_NS + 1, 1000, ENOUGH, &cost), TRYOUT_COUNTS_NOT);
    assert_int_equal(try_arm(3, TRYOUT_LONG_WINDOWS * TRYOUT_NS, 1000, ENOUGH, &cost), TRYOUT_SETTLES);
    seen.busy_ns = 0; // the system does not say
    assert_int_equal(try_arm(3, TRYOUT_NS, 1000, ENOUGH, &cost), TRYOUT_COUNTS_NOT);
    seen.busy_ns = 1000;
    tryout_begin_window(&tryout, &seen, 3, TRYOUT_NO_ARM);
    seen.busy_ns = 5; // of a fork child
    seen.done_bytes += ENOUGH;
    seen.now_ns += TRYOUT_NS;
    assert_int_equal(tryout_end_window(&tryout, &seen, &cost), TRYOUT_COUNTS_NOT);
}

static void a_window_costs_what_its_work_took(void **state) {
    double usual, cost;
    (void)state;
    try_usual(3, 1000);
    assert_int_equal(try_arm(3, TRYOUT_NS, 1000, ENOUGH, &usual), TRYOUT_COUNTS);
    try_arm(3, TRYOUT_NS, 2000, ENOUGH, &cost);
    assert_true(cost > 1.999 * usual && cost < 2.001 * usual);
    try_arm(3, TRYOUT_NS, 2000, 2 * ENOUGH, &cost); // twice the work
    assert_true(cost > 0.999 * usual && cost < 1.001 * usual);
    try_arm(3, 2 * TRYOUT_NS, 1000, ENOUGH, &cost); // others had the processor
    assert_true(cost > 0.999 * usual && cost < 1.001 * usual);
    double second = usual * (double)TRYOUT_NS / 1000 / 1e9; // at that pace the usual window's work is that of one
    assert_true(second > 0.999 && second < 1.001);
    seen.idle_bytes = 3 * MIB;
    try_arm(3, TRYOUT_NS, 1000, ENOUGH, &cost);
    assert_true(cost - usual > 2999 && cost - usual < 3001);
}

// ---- what trying costs

// A window of an arm, 0 the usual one; all of the same work.
static void spend(uint32_t arm, uint64_t busy_ns, uint64_t lasts_ns) {
    double cost;
    tryout_begin_window(&tryout, &seen, arm, 0);
    seen.now_ns += lasts_ns;
    seen.busy_ns += busy_ns;
    seen.done_bytes += ENOUGH;
    tryout_end_window(&tryout, &seen, &cost);
}

static void know_usual(void) {
    spend(0, 9000, TRYOUT_NS); // not settled yet
    for (unsigned i = 0; i < 8; i++)
        spend(0, 1000, TRYOUT_NS);
    assert_true(tryout.regret_ns == 0);
}

static void regret_is(double expected_ns) {
    assert_true(tryout.regret_ns > expected_ns - 1 && tryout.regret_ns < expected_ns + 1);
}

static void regret_is_what_arms_cost_more(void **state) {
    (void)state;
    know_usual();
    spend(1, 5000, TRYOUT_NS);
    regret_is(8000); // there and back
    spend(1, 4500, TRYOUT_NS);
    regret_is(11500);
    spend(0, 7000, TRYOUT_NS); // the way back
    regret_is(11500);
}

static void what_is_gained_makes_up_for_it(void **state) {
    (void)state;
    know_usual();
    spend(1, 3000, TRYOUT_NS);
    regret_is(4000);
    spend(1, 2900, TRYOUT_NS);
    for (unsigned i = 0; i < 5; i++)
        spend(1, 500, TRYOUT_NS);
    regret_is(5900 - 2500);
    for (unsigned i = 0; i < 20; i++)
        spend(1, 500, TRYOUT_NS);
    assert_true(tryout.regret_ns == 0); // no savings
}

static void windows_that_are_too_long_are_regretted_too(void **state) {
    (void)state;
    know_usual();
    spend(1, 5000, 10 * TRYOUT_NS);
    regret_is(4000);
}

static void where_nothing_is_tried_long_windows_tell_as_much(void **state) {
    (void)state;
    spend(0, 1000, 10 * TRYOUT_NS);
    spend(1, 5000, TRYOUT_NS);
    regret_is(8000);
}

static void regret_outlives_what_was_tried(void **state) {
    (void)state;
    know_usual();
    spend(1, 5000, TRYOUT_NS);
    tryout_start(&tryout);
    regret_is(8000);
    spend(1, 9000, TRYOUT_NS); // what is usual for this work is not known
    regret_is(8000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_window_is_due_in_time, start),
        cmocka_unit_test_setup(an_arm_that_costs_the_same_has_settled_with_the_second_window, start),
        cmocka_unit_test_setup(an_arm_that_becomes_cheaper_has_not_settled, start),
        cmocka_unit_test_setup(it_does_not_settle_for_ever, start),
        cmocka_unit_test_setup(after_a_break_the_same_arm_settles_anew, start),
        cmocka_unit_test_setup(what_says_nothing_does_not_count, start),
        cmocka_unit_test_setup(a_window_costs_what_its_work_took, start),
        cmocka_unit_test_setup(regret_is_what_arms_cost_more, start),
        cmocka_unit_test_setup(what_is_gained_makes_up_for_it, start),
        cmocka_unit_test_setup(windows_that_are_too_long_are_regretted_too, start),
        cmocka_unit_test_setup(where_nothing_is_tried_long_windows_tell_as_much, start),
        cmocka_unit_test_setup(regret_outlives_what_was_tried, start),
    };
    return cmocka_run_group_tests_name("tryout", tests, NULL, NULL);
}
