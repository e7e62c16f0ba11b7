// What is held of free memory: what came, went and came again in time, no more; and for how long. Time and programs are
// invented.
#include "unit/policy/retaining.h"

static void memory_is_held_for_less_than_a_second(void **state) {
    (void)state; // a fault costs what holding its page for about half a second does
    assert_in_range(retention_ns(&page, COST_MIB_SECOND_NS), SECOND_NS / 4, SECOND_NS);
    assert_in_range(RETENTION_NS, 5 * SECOND_NS, 20 * SECOND_NS);
}

static void the_first_look_holds_nothing(void **state) {
    (void)state;
    assert_int_equal(look(0, GIB), 0);
    assert_int_equal(choice.purge_delay, 0);
    assert_int_equal(look(MS_NS, GIB), 0);
}

static void a_single_burst_holds_nothing(void **state) {
    (void)state;
    look(0, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(look(50 * MS_NS, 10 * MIB), 0);
}

static void a_burst_that_comes_again_is_held(void **state) {
    (void)state;
    look(0, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    look(SECOND_NS, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    assert_int_equal(choice.allowance_least, 190 * MIB);
    assert_int_equal(look(SECOND_NS, 10 * MIB), 190 * MIB);
    assert_int_equal(look(RETENTION_NS, 10 * MIB), 0); // until nobody took it for so long
}

static void a_burst_between_two_looks_is_one(void **state) {
    (void)state;
    look(0, 10 * MIB);
    look(10 * MS_NS, 200 * MIB);
    look(10 * MS_NS, 10 * MIB);
    assert_int_equal(look(10 * MS_NS, 200 * MIB), 190 * MIB); // again, as high as ever
    look(10 * MS_NS, 10 * MIB);
    assert_int_equal(look(10 * MS_NS, 300 * MIB), 190 * MIB);
}

static void bursts_that_no_look_saw_are_held(void **state) {
    (void)state;
    look(0, 10 * MIB);
    for (unsigned i = 0; i < 2; i++) {
        seen.now_ns += SECOND_NS;
        seen.in_use.highest_bytes = 200 * MIB;
        choice = retention_step(&state_now, &seen);
        assert_int_equal(choice.allowance_least, i == 0 ? 0 : 190 * MIB);
    }
    assert_true(retention_to_begin_with(&state_now) >= 190 * MIB);
}

static void what_comes_every_ten_seconds_is_held_all_the_time(void **state) {
    (void)state;
    look(0, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    look(10 * SECOND_NS, 10 * MIB);
    for (unsigned i = 0; i < 5; i++) {
        burst(10 * MIB, 200 * MIB);
        assert_int_equal(choice.allowance_least, 190 * MIB);
        for (unsigned k = 0; k < 10; k++)
            assert_int_equal(look(SECOND_NS, 10 * MIB), 190 * MIB);
    }
    assert_int_equal(look(RETENTION_NS, 10 * MIB), 0);
}

static void a_burst_that_comes_again_late_is_not_held(void **state) {
    (void)state;
    look(0, 10 * MIB);
    for (unsigned i = 0; i < 5; i++) {
        burst(10 * MIB, 200 * MIB);
        assert_int_equal(choice.allowance_least, 0);
        assert_int_equal(look(RETENTION_NS + MS_NS, 10 * MIB), 0);
    }
}

static void a_rise_counts_from_its_end(void **state) {
    (void)state;
    look(0, 10 * MIB);
    go(2 * RETENTION_NS, 200 * MIB); // slowly
    go(10 * MS_NS, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    assert_int_equal(choice.allowance_least, 190 * MIB);
}

static void what_both_bursts_took_is_held(void **state) {
    (void)state;
    look(0, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    burst(10 * MIB, 100 * MIB);
    assert_int_equal(choice.allowance_least, 90 * MIB);
    burst(10 * MIB, 300 * MIB);
    assert_int_equal(choice.allowance_least, 190 * MIB);
}

static void stairs_are_no_bursts(void **state) {
    (void)state;
    look(0, 10 * MIB);
    for (size_t high = 20; high <= 1000; high += 10)
        assert_int_equal(go(10 * MS_NS, high * MIB), 0);
    assert_int_equal(go(SECOND_NS, 0), 0); // all the way down
}

static void a_wobble_on_a_large_heap_holds_the_wobble(void **state) {
    (void)state;
    look(0, GIB);
    for (unsigned i = 0; i < 100; i++) {
        burst(GIB, GIB + 40 * MIB);
        assert_true(choice.allowance_least <= 41 * MIB);
    }
    assert_true(choice.allowance_least >= 39 * MIB);
}

static void noise_holds_nothing(void **state) {
    (void)state;
    look(0, 0);
    go(SECOND_NS, GIB);
    for (unsigned i = 0; i < 100; i++) {
        burst(GIB - GIB / 65, GIB);
        assert_int_equal(choice.allowance_least, 0);
    }
}

static void refaults_hold_the_allowance_for_a_while(void **state) {
    (void)state;
    seen.refaulted_bytes = 70 * MIB; // before the first look
    look(0, 10 * MIB);
    seen.allowance_bytes = 30 * MIB;
    assert_int_equal(look(SECOND_NS, 10 * MIB), 0);
    seen.refaulted_bytes += 4096;
    assert_int_equal(look(SECOND_NS, 10 * MIB), 30 * MIB);
    seen.allowance_bytes = 20 * MIB; // it fades meanwhile
    assert_int_equal(look(RETENTION_NS / 2, 10 * MIB), 30 * MIB);
    seen.refaulted_bytes += 4096;
    assert_int_equal(look(RETENTION_NS / 2, 10 * MIB), 30 * MIB); // lately it was more
    assert_int_equal(look(RETENTION_NS, 10 * MIB), 30 * MIB);
    assert_int_equal(look(1, 10 * MIB), 0);
    seen.refaulted_bytes += 4096;
    assert_int_equal(look(MS_NS, 10 * MIB), 20 * MIB);
}

static void the_larger_reason_counts(void **state) {
    look(0, 10 * MIB);
    burst(10 * MIB, 60 * MIB);
    burst(10 * MIB, 60 * MIB);
    seen.allowance_bytes = 80 * MIB;
    seen.refaulted_bytes = 4096;
    assert_int_equal(look(MS_NS, 10 * MIB), 80 * MIB);
    begin(state);
    look(0, 10 * MIB);
    burst(10 * MIB, 60 * MIB);
    burst(10 * MIB, 60 * MIB);
    seen.allowance_bytes = 20 * MIB;
    seen.refaulted_bytes = 4096;
    assert_int_equal(look(MS_NS, 10 * MIB), 50 * MIB);
}

static void what_memory_is_worth_says_how_long_it_is_held(void **state) {
    (void)state;
    const struct cost_page dear = {2 * COST_FAULT_NS, 2 * COST_PURGE_NS};
    assert_int_equal(retention_ns(&page, 2 * PRICE), RETENTION_NS / 2);
    assert_int_equal(retention_ns(&dear, PRICE), 2 * RETENTION_NS);
    assert_int_equal(retention_idle_back_bytes(&dear, RETENTION_NS),
                     retention_idle_back_bytes(&page, RETENTION_NS) / 2);
    assert_int_equal(retention_hold_ns(RETENTION_NS), RETENTION_NS / RETENTION_HOLD_SHARE);
    seen.hold_ns = retention_ns(&page, 100 * PRICE); // a tenth of a second
    look(0, 10 * MIB);
    burst(10 * MIB, 60 * MIB);
    burst(10 * MIB, 60 * MIB);
    assert_int_equal(look(MS_NS, 10 * MIB), 50 * MIB);
    assert_int_equal(look(seen.hold_ns, 10 * MIB), 0);
}

static void a_delay_is_one_that_the_mechanism_takes(void **state) {
    size_t prices[] = {1, 1000000000};
    size_t delays[] = {decision_rows[DECISION_purge_delay].most, 1};
    for (unsigned i = 0; i < 2; i++) {
        begin(state);
        seen.worth_ns = seen.hold_ns = retention_ns(&page, prices[i]);
        seen.retained_bytes = 8 * MIB;
        look(0, 10 * MIB);
        look(seen.worth_ns + 1, 10 * MIB);
        assert_int_equal(choice.purge_delay, delays[i]);
    }
}

static void what_was_held_most_of_the_time_is_known(void **state) {
    (void)state;
    assert_int_equal(retention_to_begin_with(&state_now), 0);
    retention_note_held(&state_now, SECOND_NS, 0);
    retention_note_held(&state_now, 100 * SECOND_NS, 64 * MIB); // nothing before that counts
    retention_note_held(&state_now, 175 * SECOND_NS, 8 * MIB);
    retention_note_held(&state_now, 199 * SECOND_NS, 8 * MIB);
    assert_int_equal(retention_to_begin_with(&state_now), 64 * MIB); // 75 of 99 seconds
    retention_note_held(&state_now, 202 * SECOND_NS, 100 * MIB);
    assert_int_equal(retention_to_begin_with(&state_now), 8 * MIB); // 75 of 102
    retention_note_held(&state_now, 302 * SECOND_NS, 0);
    assert_int_equal(retention_to_begin_with(&state_now), 64 * MIB);
    retention_note_held(&state_now, 402 * SECOND_NS, 0);
    assert_int_equal(retention_to_begin_with(&state_now), 0); // a third of the time nothing was
}

// Rounded down by a third at most, and what is a level itself not at all.
static void any_amount_has_a_level(void **state) {
    struct random random = random_start();
    for (unsigned i = 0; i < 1000; i++) {
        begin(state);
        size_t bytes = random_below(&random, (size_t)1 << (1 + random_below(&random, 60)));
        retention_note_held(&state_now, SECOND_NS, bytes);
        retention_note_held(&state_now, 2 * SECOND_NS, bytes);
        size_t level = retention_to_begin_with(&state_now);
        assert_true(level <= bytes && bytes - level <= bytes / 3);
        begin(state);
        retention_note_held(&state_now, SECOND_NS, level);
        retention_note_held(&state_now, 2 * SECOND_NS, level);
        assert_int_equal(retention_to_begin_with(&state_now), level);
    }
}

// ---- what the next run begins with

// Between so many bytes and half as many more: levels lie that far apart.
static void assert_begins_with(size_t bytes) {
    assert_in_range(retention_to_begin_with(&state_now), bytes, bytes + bytes / 2);
}

static void what_came_again_soon_is_begun_with(void **state) {
    (void)state;
    look(0, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    assert_int_equal(retention_to_begin_with(&state_now), 0); // it may never come again
    go(10 * MS_NS, 200 * MIB);
    assert_begins_with(190 * MIB);
    go(10 * MS_NS, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    assert_begins_with(190 * MIB);
}

static void what_came_again_late_is_not(void **state) {
    (void)state;
    look(0, 10 * MIB);
    for (unsigned i = 0; i < 5; i++) {
        burst(10 * MIB, 200 * MIB);
        look(RETENTION_NS + SECOND_NS, 10 * MIB);
    }
    assert_int_equal(retention_to_begin_with(&state_now), 0);
}

static void what_came_again_in_time_is_begun_with_though_not_held(void **state) {
    (void)state;
    seen.hold_ns = RETENTION_NS / 4;
    look(0, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    look(RETENTION_NS / 2, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    assert_int_equal(choice.allowance_least, 0);
    assert_begins_with(190 * MIB);
}

// A program of which the deep falls are long and the others short.
static void the_depth_that_pays_is_begun_with(void **state) {
    (void)state;
    look(0, 10 * MIB);
    for (unsigned i = 0; i < 3; i++) {
        go(10 * MS_NS, 200 * MIB);
        for (unsigned k = 0; k < 5; k++)
            burst(200 * MIB, 160 * MIB);
        go(10 * MS_NS, 200 * MIB);
        go(10 * MS_NS, 10 * MIB);
        look(2 * RETENTION_NS, 10 * MIB);
    }
    assert_begins_with(40 * MIB);
}

static void what_it_ends_with_costs_too(void **state) {
    (void)state;
    look(0, 10 * MIB);
    burst(10 * MIB, 200 * MIB);
    burst(10 * MIB, 200 * MIB);
    assert_begins_with(190 * MIB);
    look(2 * RETENTION_NS, 10 * MIB); // longer than the one time that it came again was worth
    assert_int_equal(retention_to_begin_with(&state_now), 0);
}

static void a_heap_that_grows_begins_with_nothing(void **state) {
    (void)state;
    look(0, 10 * MIB);
    go(SECOND_NS, 500 * MIB);
    go(SECOND_NS, GIB);
    assert_int_equal(retention_to_begin_with(&state_now), 0);
}

// ---- a slow model of what came again

// Whether the level between so many MiB and one more came again, and is still held for that.
static bool model_again(size_t level_mib) {
    uint64_t ends[RISES_KEPT];
    unsigned rises = 0;
    bool again = false;
    for (unsigned i = 1; i <= RISES_KEPT; i++) { // from the oldest
        const struct rise *rise = &state_now.rises.kept[(state_now.rises.newest + i) % RISES_KEPT];
        if (rise->end_ns != 0 && rise->low_bytes <= level_mib * MIB && level_mib * MIB < rise->high_bytes)
            ends[rises++] = rise->end_ns;
    }
    for (unsigned i = 1; i < rises; i++) {
        uint64_t took_ns = ends[i] - ends[i - 1], idle_ns = seen.now_ns - ends[i];
        again |= took_ns <= RETENTION_NS && idle_ns <= RETENTION_NS &&
                 idle_ns <= 4 * took_ns + RETENTION_NS / RETENTION_IDLE_SHARE;
    }
    return again;
}

static void levels_that_came_again_are_summed(void **state) {
    struct random random = random_start();
    unsigned held = 0;
    enum { MOST_MIB = 300, ROUNDS = 3000 };
    size_t in_use_mib = 50;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t step_mib = random_below(&random, 60), expected = 0;
        bool up = random_below(&random, 2) > 0;
        in_use_mib = up ? in_use_mib + step_mib : in_use_mib - (step_mib < in_use_mib ? step_mib : in_use_mib);
        in_use_mib = in_use_mib < MOST_MIB ? in_use_mib : MOST_MIB;
        look(random_below(&random, RETENTION_NS / 8), in_use_mib * MIB);
        for (size_t level = 0; level < MOST_MIB; level++)
            expected += model_again(level) ? MIB : 0;
        assert_int_equal(choice.allowance_least, expected);
        held += expected > 0;
    }
    assert_in_range(held, ROUNDS / 4, ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory_is_held_for_less_than_a_second, begin),
        cmocka_unit_test_setup(the_first_look_holds_nothing, begin),
        cmocka_unit_test_setup(a_single_burst_holds_nothing, begin),
        cmocka_unit_test_setup(a_burst_that_comes_again_is_held, begin),
        cmocka_unit_test_setup(a_burst_between_two_looks_is_one, begin),
        cmocka_unit_test_setup(bursts_that_no_look_saw_are_held, begin),
        cmocka_unit_test_setup(what_comes_every_ten_seconds_is_held_all_the_time, begin),
        cmocka_unit_test_setup(a_burst_that_comes_again_late_is_not_held, begin),
        cmocka_unit_test_setup(a_rise_counts_from_its_end, begin),
        cmocka_unit_test_setup(what_both_bursts_took_is_held, begin),
        cmocka_unit_test_setup(stairs_are_no_bursts, begin),
        cmocka_unit_test_setup(a_wobble_on_a_large_heap_holds_the_wobble, begin),
        cmocka_unit_test_setup(noise_holds_nothing, begin),
        cmocka_unit_test_setup(refaults_hold_the_allowance_for_a_while, begin),
        cmocka_unit_test_setup(the_larger_reason_counts, begin),
        cmocka_unit_test_setup(what_memory_is_worth_says_how_long_it_is_held, begin),
        cmocka_unit_test_setup(a_delay_is_one_that_the_mechanism_takes, begin),
        cmocka_unit_test_setup(what_was_held_most_of_the_time_is_known, begin),
        cmocka_unit_test_setup(any_amount_has_a_level, begin),
        cmocka_unit_test_setup(what_came_again_soon_is_begun_with, begin),
        cmocka_unit_test_setup(what_came_again_late_is_not, begin),
        cmocka_unit_test_setup(what_came_again_in_time_is_begun_with_though_not_held, begin),
        cmocka_unit_test_setup(the_depth_that_pays_is_begun_with, begin),
        cmocka_unit_test_setup(what_it_ends_with_costs_too, begin),
        cmocka_unit_test_setup(a_heap_that_grows_begins_with_nothing, begin),
        cmocka_unit_test_setup(levels_that_came_again_are_summed, begin),
    };
    return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
