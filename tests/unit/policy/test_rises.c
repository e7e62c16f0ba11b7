// How what is in use goes up and down, by its extremes between two looks; and what of it comes again. Time and programs
// are invented.
#include "unit/unit.h"

#include "policy/rises.h"

#define HOLD_NS (800 * MS_NS)
#define IDLE_NS (100 * MS_NS)

static struct rises rises;
static uint64_t now_ns;
static size_t top;

static int begin(void **state) {
    (void)state;
    memset(&rises, 0, sizeof rises);
    now_ns = 1000 * SECOND_NS;
    return 0;
}

// In MiB.
static size_t look(uint64_t after_ns, size_t lowest, size_t highest, size_t now) {
    const struct rises_seen seen = {lowest * MIB, highest * MIB, now * MIB};
    now_ns += after_ns;
    rises_look(&rises, now_ns, &seen);
    return rises_again(&rises, now_ns, HOLD_NS, IDLE_NS, &top) / MIB;
}

static void assert_steps(size_t last, size_t lowest, size_t highest, size_t now, const size_t *expected,
                         unsigned count) {
    const struct rises_seen seen = {lowest, highest, now};
    size_t steps[3];
    rises.last_bytes = last;
    assert_int_equal(rises_steps(&rises, &seen, steps), count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(steps[i], expected[i]);
}

static void extremes_are_steps_where_they_are_beyond_both_ends(void **state) {
    (void)state;
    assert_steps(50, 50, 70, 70, (size_t[]){70}, 1);
    assert_steps(70, 50, 70, 50, (size_t[]){50}, 1);
    assert_steps(50, 50, 90, 60, (size_t[]){90, 60}, 2);
    assert_steps(50, 10, 60, 60, (size_t[]){10, 60}, 2);
    assert_steps(50, 10, 90, 20, (size_t[]){90, 10, 20}, 3); // what is near now came last
    assert_steps(50, 10, 90, 80, (size_t[]){10, 90, 80}, 3);
}

static void a_burst_that_no_look_saw_comes_again(void **state) {
    (void)state;
    assert_int_equal(look(0, 10, 10, 10), 0);
    assert_int_equal(look(100 * MS_NS, 10, 200, 10), 0);
    assert_int_equal(look(100 * MS_NS, 10, 200, 10), 190);
    assert_int_equal(top, 200 * MIB);
    assert_int_equal(look(100 * MS_NS, 10, 250, 10), 190); // the rest for the first time
    assert_int_equal(top, 200 * MIB);
}

static void it_is_held_for_some_times_as_long_as_it_took(void **state) {
    (void)state;
    look(0, 10, 10, 10);
    look(100 * MS_NS, 10, 200, 10);
    look(100 * MS_NS, 10, 200, 10);
    assert_int_equal(look(RISES_AGAIN * 100 * MS_NS + IDLE_NS, 10, 10, 10), 190);
    assert_int_equal(look(1, 10, 10, 10), 0);
    assert_int_equal(top, 0);
}

static void and_no_longer_than_memory_is_held(void **state) {
    (void)state;
    look(0, 10, 10, 10);
    look(HOLD_NS, 10, 200, 10);
    look(HOLD_NS, 10, 200, 10);
    assert_int_equal(look(HOLD_NS, 10, 10, 10), 190);
    assert_int_equal(look(1, 10, 10, 10), 0);
    look(HOLD_NS, 10, 200, 10); // late: it did not come again in time
    assert_int_equal(look(1, 10, 10, 10), 0);
}

static void a_dip_between_two_looks_is_a_rise_too(void **state) {
    (void)state;
    look(0, 10, 200, 200);
    assert_int_equal(look(100 * MS_NS, 50, 200, 200), 150);
    assert_int_equal(top, 200 * MIB);
}

static void what_hardly_falls_has_not_come_again(void **state) {
    (void)state;
    look(0, 10, 200, 200);
    assert_int_equal(look(100 * MS_NS, 198, 200, 200), 0);
}

// A slow model: each level of a MiB by itself, by its own crossings.
static void each_level_comes_again_by_itself(void **state) {
    enum { MOST = 200, ROUNDS = 300 };
    static uint64_t crossed_ns[MOST], again_ns[MOST]; // last, and until when it is held
    struct random random = random_start();
    size_t in_use = 0, seen_held = 0;
    (void)state;
    look(0, 0, 0, 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t high = 40 + random_below(&random, MOST - 40), low = random_below(&random, 20), held = 0;
        now_ns += 50 * MS_NS + random_below(&random, HOLD_NS);
        uint64_t at_ns = now_ns;
        for (size_t level = in_use; level < high; level++) {
            uint64_t took_ns = at_ns - crossed_ns[level], for_ns = RISES_AGAIN * took_ns + IDLE_NS;
            for_ns = for_ns < HOLD_NS ? for_ns : HOLD_NS;
            if (crossed_ns[level] != 0 && took_ns <= HOLD_NS && again_ns[level] < at_ns + for_ns)
                again_ns[level] = at_ns + for_ns;
            crossed_ns[level] = at_ns;
        }
        size_t sum = look(0, in_use < low ? in_use : low, high, low);
        for (size_t level = 0; level < MOST; level++)
            held += again_ns[level] >= at_ns;
        assert_int_equal(sum, held);
        seen_held += held > 0;
        in_use = low;
    }
    assert_in_range(seen_held, ROUNDS / 4, ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(extremes_are_steps_where_they_are_beyond_both_ends, begin),
        cmocka_unit_test_setup(a_burst_that_no_look_saw_comes_again, begin),
        cmocka_unit_test_setup(it_is_held_for_some_times_as_long_as_it_took, begin),
        cmocka_unit_test_setup(and_no_longer_than_memory_is_held, begin),
        cmocka_unit_test_setup(a_dip_between_two_looks_is_a_rise_too, begin),
        cmocka_unit_test_setup(what_hardly_falls_has_not_come_again, begin),
        cmocka_unit_test_setup(each_level_comes_again_by_itself, begin),
    };
    return cmocka_run_group_tests_name("rises", tests, NULL, NULL);
}
