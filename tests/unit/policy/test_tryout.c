// Windows of arms: which of them count, and what they cost.
#include "unit/unit.h"

#include "policy/tryout.h"

#define ENOUGH ((uint64_t)TRYOUT_LEAST_BYTES)
static struct tryout tryout;
static struct tryout_seen seen;

static int start(void **state) {
    (void)state;
    tryout_start(&tryout);
    seen = (struct tryout_seen){.now_ns = SECOND_NS, .busy_ns = 1, .price = 1000};
    return 0;
}

// A window under an arm; what it cost, where it counts.
static enum tryout_result try_arm(uint32_t arm, uint64_t lasts_ns, uint64_t busy_ns, uint64_t bytes, double *cost) {
    tryout_begin_window(&tryout, &seen, arm);
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
    tryout_begin_window(&tryout, &seen, 0);
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
    tryout_begin_window(&tryout, &seen, 3);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_window_is_due_in_time, start),
        cmocka_unit_test_setup(an_arm_that_costs_the_same_has_settled_with_the_second_window, start),
        cmocka_unit_test_setup(an_arm_that_becomes_cheaper_has_not_settled, start),
        cmocka_unit_test_setup(it_does_not_settle_for_ever, start),
        cmocka_unit_test_setup(after_a_break_the_same_arm_settles_anew, start),
        cmocka_unit_test_setup(what_says_nothing_does_not_count, start),
        cmocka_unit_test_setup(a_window_costs_what_its_work_took, start),
    };
    return cmocka_run_group_tests_name("tryout", tests, NULL, NULL);
}
