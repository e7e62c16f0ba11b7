// The budgets of looks and of collapsing: a part of the time, never more at once, and by what a group has cost of late.
#include "unit/unit.h"

#include "policy/budget.h"

#define LARGE_BYTES (64 * MIB)

static struct budget budget_now;

static int begin(void **state) {
    (void)state;
    budget_start(&budget_now);
    return 0;
}

static void looks_wait_until_they_are_a_small_part(void **state) {
    uint64_t second = SECOND_NS;
    (void)state;
    assert_int_equal(budget_debt_ns(LEARN_FREE_NS, 0), 0);
    assert_int_equal(budget_debt_ns(LEARN_FREE_NS + 1, 0), LEARN_BUSY_SHARE);
    assert_int_equal(budget_debt_ns(LEARN_FREE_NS + second / LEARN_BUSY_SHARE, second), 0);
    assert_int_equal(budget_debt_ns(LEARN_FREE_NS + 3 * second / LEARN_BUSY_SHARE, second) / MS_NS, 2000);
}

static void the_clock_is_looked_at_as_often_as_it_is_wanted(void **state) {
    unsigned turns = LEARN_TURNS, before = 0;
    (void)state;
    for (uint64_t call_ns = LEARN_CLOCK_NS / LEARN_MOST_TURNS / 4; turns != before;) { // as fast as can be
        before = turns;
        turns = budget_turns(turns, turns * call_ns);
        assert_true(turns == before || turns == 2 * before);
    }
    assert_int_equal(turns, LEARN_MOST_TURNS);
    assert_int_equal(budget_turns(64, LEARN_CLOCK_NS / 2 - 1), 128);
    assert_int_equal(budget_turns(64, LEARN_CLOCK_NS / 2), 64);
    assert_int_equal(budget_turns(64, LEARN_CLOCK_NS), 64);
    assert_int_equal(budget_turns(64, LEARN_CLOCK_NS + 1), LEARN_TURNS);
    assert_int_equal(budget_turns(LEARN_TURNS, 1000 * SECOND_NS), LEARN_TURNS);
}

static void a_small_heap_needs_none(void **state) {
    (void)state;
    assert_int_equal(budget_due(&budget_now, 1000 * SECOND_NS, COLLAPSE_LEAST_BYTES - 1), 0);
    assert_true(budget_due(&budget_now, 1000 * SECOND_NS, COLLAPSE_LEAST_BYTES) > 0);
}

static void a_short_program_pays_nothing(void **state) {
    (void)state;
    uint64_t first_ns = (uint64_t)COLLAPSE_COST_NS * COLLAPSE_SHARE;
    assert_int_equal(budget_due(&budget_now, 0, LARGE_BYTES), 0);
    assert_int_equal(budget_due(&budget_now, first_ns - 1, LARGE_BYTES), 0);
    assert_int_equal(budget_due(&budget_now, first_ns, LARGE_BYTES), COLLAPSE_MOST_GROUPS);
}

static void never_more_at_once(void **state) {
    (void)state;
    assert_int_equal(budget_due(&budget_now, 100000 * SECOND_NS, LARGE_BYTES), COLLAPSE_MOST_GROUPS);
}

// Whatever a group takes, and also where looking finds none.
static void its_part_of_the_time_is_kept(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        uint64_t group_ns = 50000 + random_below(&random, 5 * MS_NS), spent_ns = 0, most_ns = 0, now_ns = 0;
        budget_start(&budget_now);
        for (unsigned i = 0; i < 1000; i++) {
            now_ns += random_below(&random, 500 * MS_NS);
            unsigned due = budget_due(&budget_now, now_ns, LARGE_BYTES);
            unsigned done = due > 0 ? (unsigned)random_below(&random, due + 1) : 0;
            uint64_t took_ns = done * group_ns + (due > 0 ? 1000 : 0);
            most_ns = most_ns < took_ns ? took_ns : most_ns;
            spent_ns += took_ns;
            budget_note(&budget_now, took_ns, done);
            assert_true(spent_ns <= now_ns / COLLAPSE_SHARE + most_ns);
        }
        assert_true(spent_ns > 0);
    }
}

static void it_learns_what_a_turn_costs(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        budget_note(&budget_now, 5 * MS_NS, 1 + i % COLLAPSE_MOST_GROUPS);
    assert_in_range(budget_now.cost_ns, 5 * MS_NS - MS_NS / 10, 5 * MS_NS);
    budget_note(&budget_now, MS_NS, 0); // found none
    assert_in_range(budget_now.cost_ns, 5 * MS_NS - MS_NS / 10, 5 * MS_NS);
}

// So that looks do not come late because an earlier one had more to do, or waited for a processor.
static void the_next_look_costs_what_the_last_ones_do_each_time(void **state) {
    (void)state;
    assert_int_equal(budget_look_ns(50000, 30000, 0), 30000);
    assert_int_equal(budget_look_ns(50000, 60000, 0), 60000);
    assert_int_equal(budget_look_ns(50000, 10 * MS_NS, 0), 62500);
    assert_int_equal(budget_look_ns(50000, 115000, 80000), 35000);
    assert_int_equal(budget_look_ns(50000, 80000, 80000), 0);
}

static void what_is_tried_is_a_part_of_the_time(void **state) {
    (void)state;
    assert_true(budget_may_try(0, 0, 100));
    assert_true(budget_may_try(1e7, SECOND_NS, 100));
    assert_false(budget_may_try(1.01e7, SECOND_NS, 100));
    assert_true(budget_may_try(1e9, SECOND_NS, 1)); // as much as it takes
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(looks_wait_until_they_are_a_small_part, begin),
        cmocka_unit_test_setup(the_next_look_costs_what_the_last_ones_do_each_time, begin),
        cmocka_unit_test_setup(the_clock_is_looked_at_as_often_as_it_is_wanted, begin),
        cmocka_unit_test_setup(a_small_heap_needs_none, begin),
        cmocka_unit_test_setup(a_short_program_pays_nothing, begin),
        cmocka_unit_test_setup(never_more_at_once, begin),
        cmocka_unit_test_setup(its_part_of_the_time_is_kept, begin),
        cmocka_unit_test_setup(it_learns_what_a_turn_costs, begin),
        cmocka_unit_test_setup(what_is_tried_is_a_part_of_the_time, begin),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
