// The bound of what may be retained: computed from what is in use, from options, limits and what had to come back.
#include "unit/decide.h"
#include "unit/unit.h"

#include "region/retain.h"
#include "sys/options.h"
#include "sys/os.h"

#define SLICES(bytes) ((bytes) >> SLICE_SHIFT)

static struct options start_options;

static int start(void **state) {
    (void)state;
    os_start();
    os_facts.group_limit_bytes = SIZE_MAX;
    start_options = options;
    return 0;
}

static int begin(void **state) {
    (void)state;
    options = start_options;
    os_facts.group_limit_bytes = SIZE_MAX;
    retain = (struct retain){0};
    return 0;
}

static void bound_is_a_least_a_share_and_the_allowance(void **state) {
    (void)state;
    assert_int_equal(retain_bound_bytes(), RETAIN_MIN_BYTES);
    retain.in_use_slices = SLICES(GIB);
    assert_int_equal(retain_bound_bytes(), GIB / RETAIN_SHARE);
    retain.outside.in_use_bytes = GIB;
    assert_int_equal(retain_bound_bytes(), GIB / RETAIN_SHARE * 2);
    retain.allowance_slices = 3;
    assert_int_equal(retain_bound_bytes(), GIB / RETAIN_SHARE * 2 + 3 * SLICE_BYTES);
    size_t target = retain_target_bytes(16 * MIB);
    assert_true(target < 16 * MIB && target > 0);
}

static bool owes;

static size_t keeps_for_growth(void) {
    return retain_growth_keeps(&owes);
}

static void policies_keep_all_or_nothing(void **state) {
    (void)state;
    options.free_policy = OPTION_FREE_POLICY_KEEP;
    assert_true(retain_bound_bytes() > 1024 * GIB);
    retain_note_growth(SLICES(GIB));
    retain.retained_slices = SLICES(GIB);
    assert_true(keeps_for_growth() >= retain.retained_slices);
    options.free_policy = OPTION_FREE_POLICY_BATCH;
    options.release_batch = 5 * MIB;
    assert_int_equal(retain_bound_bytes(), 5 * MIB);
    assert_int_equal(retain_target_bytes(5 * MIB), 0);
}

static void a_decision_limits_what_is_held(void **state) {
    (void)state;
    retain.in_use_slices = SLICES(60 * MIB);
    DECIDE(held_most, 64 * MIB);
    assert_int_equal(retain_limit_slices(), SLICES(4 * MIB));
    assert_int_equal(retain_bound_bytes(), 4 * MIB);
    options.limit_soft = 62 * MIB;
    assert_int_equal(retain_bound_bytes(), 2 * MIB);
    options.limit_soft = 0;
    retain_note_refault(10 * MIB); // for want of room
    assert_int_equal(retain.allowance_slices, 0);
    DECIDE(held_most, 0);
    retain_note_refault(10 * MIB);
    assert_int_equal(retain.allowance_slices, SLICES(10 * MIB));
}

static void limits_leave_what_is_not_in_use(void **state) {
    (void)state;
    retain.in_use_slices = SLICES(60 * MIB);
    options.limit_soft = 64 * MIB;
    assert_int_equal(retain_limit_slices(), SLICES(4 * MIB));
    assert_int_equal(retain_bound_bytes(), 4 * MIB);
    assert_false(retain_is_above_hard_limit(SLICES(GIB)));
    options.limit_hard = 62 * MIB;
    assert_int_equal(retain_bound_bytes(), 2 * MIB);
    assert_false(retain_is_above_hard_limit(SLICES(2 * MIB)));
    assert_true(retain_is_above_hard_limit(SLICES(2 * MIB) + 1));
    retain.outside.in_use_bytes = 10 * MIB;
    assert_int_equal(retain_limit_slices(), 0);
    options.limit_hard = options.limit_soft = 0;
    os_facts.group_limit_bytes = 80 * MIB; // 70 of them
    assert_int_equal(retain_limit_slices(), 0);
    retain.outside.in_use_bytes = 0;
    assert_int_equal(retain_limit_slices(), SLICES(10 * MIB));
}

static void growth_pays_down_to_the_allowance(void **state) {
    (void)state;
    retain.retained_slices = SLICES(12 * MIB);
    retain.allowance_slices = SLICES(9 * MIB);
    retain_note_growth(SLICES(GROWTH_BYTES) - 1);
    assert_true(keeps_for_growth() > retain.retained_slices); // too little to pay for
    retain_note_growth(1);
    assert_int_equal(keeps_for_growth(), SLICES(12 * MIB - GROWTH_BYTES));
    assert_true(keeps_for_growth() > retain.retained_slices); // it is paid
    retain_note_growth(SLICES(GIB));
    assert_int_equal(keeps_for_growth(), SLICES(9 * MIB));
    retain.outside.idle_bytes = 2 * MIB;
    assert_int_equal(retain_surplus_of_growth(GIB), 5 * MIB);
    assert_int_equal(retain_surplus_of_growth(MIB), MIB);
    DECIDE(retain_min, RETAIN_MIN_BYTES + MIB); // asked for
    assert_int_equal(retain_surplus_of_growth(GIB), 0);
    options.limit_soft = 8 * MIB;
    assert_int_equal(retain_surplus_of_growth(MIB), 7 * MIB);
}

static void what_the_allowance_began_with_is_not_for_growth(void **state) {
    (void)state;
    DECIDE(retain_min, RETAIN_MIN_BYTES);
    DECIDE(allowance_first, 9 * MIB);
    retain.retained_slices = SLICES(12 * MIB);
    retain_note_change(); // it was there once
    assert_int_equal(retain_bound_bytes(), RETAIN_MIN_BYTES + 9 * MIB);
    retain_note_growth(SLICES(GIB));
    assert_int_equal(keeps_for_growth(), 0);
    assert_int_equal(retain_surplus_of_growth(GIB), 12 * MIB);
}

static void for_what_slices_do_not_pay_big_blocks_are_owed(void **state) {
    (void)state;
    retain.retained_slices = SLICES(3 * MIB);
    retain.outside.idle_bytes = 20 * MIB;
    retain_note_growth(SLICES(8 * MIB));
    assert_int_equal(retain_owed_bytes(), 0); // nobody asked for it yet
    assert_int_equal(keeps_for_growth(), 0);
    assert_int_equal(retain_owed_bytes(), 5 * MIB);
    assert_true(owes);
    keeps_for_growth();
    assert_false(owes); // nothing new
    retain.retained_slices = 0;
    retain_note_growth(SLICES(4 * MIB));
    keeps_for_growth();
    assert_int_equal(retain_owed_bytes(), 9 * MIB);
    retain.retained_slices = SLICES(2 * MIB);
    retain_note_growth(SLICES(2 * MIB));
    keeps_for_growth();
    assert_false(owes); // slices pay for it
    retain.retained_slices = 0;
    retain_note_less_idle(2 * MIB);
    assert_int_equal(retain_owed_bytes(), 7 * MIB);
    retain.allowance_slices = SLICES(15 * MIB);
    assert_int_equal(retain_owed_bytes(), 5 * MIB); // the rest was needed again
    retain.outside.idle_bytes = 16 * MIB;
    assert_int_equal(retain_owed_bytes(), MIB);
    retain_note_less_idle(GIB);
    assert_int_equal(retain_owed_bytes(), 0);
    retain_note_growth(SLICES(GIB));
    keeps_for_growth();
    assert_int_equal(retain_owed_bytes(), MIB); // no more than there is above it
    assert_true(owes);
    retain.allowance_slices = SLICES(GIB);
    retain_note_growth(SLICES(GIB));
    keeps_for_growth();
    assert_false(owes); // nothing is above it
}

// Slices to be given back until it is time to fade.
static size_t traffic_until_due(void) {
    size_t slices = 1;
    while (!retain_note_given(1))
        slices++;
    return slices;
}

static void allowance_fades_to_what_is_used(void **state) {
    (void)state;
    retain.retained_slices = 600;
    retain.allowance_slices = 1000;
    retain_fade(0); // what was before this test is forgotten
    retain.allowance_slices = 1000;
    for (int i = 0; i < 40; i++) {
        retain_note_change();
        assert_in_range(traffic_until_due(), 32 * retain.allowance_slices, 40 * retain.allowance_slices);
        retain_fade(500);
    }
    assert_int_equal(retain.allowance_slices, 100);
    retain.outside.idle_bytes = 50 * SLICE_BYTES; // never fewer
    retain_fade(500);
    for (int i = 0; i < 40; i++) {
        retain_note_change();
        retain_fade(580);
    }
    assert_int_equal(retain.allowance_slices, 20);
}

static void fading_that_was_wrong_is_rarer(void **state) {
    (void)state;
    retain.retained_slices = 600;
    retain.allowance_slices = 1000;
    retain_fade(0);
    size_t traffic = traffic_until_due() / retain.allowance_slices;
    for (int i = 0; i < 20; i++) {
        retain_note_refault(200 * SLICE_BYTES);
        retain.allowance_slices = 1000;
        retain_fade(0);
    }
    size_t patient = traffic_until_due() / retain.allowance_slices;
    assert_in_range(patient, 8 * traffic, 32 * traffic);
    for (int i = 0; i < 200; i++)
        retain_fade(0);
    assert_in_range(traffic_until_due() / retain.allowance_slices, 0, 2 * traffic);
}

static size_t lowest_retained(enum retain_watcher watcher) {
    return retain_take_extremes(watcher).lowest_retained_slices;
}

static void the_lowest_is_what_was_retained_all_the_time(void **state) {
    (void)state;
    lowest_retained(RETAIN_HELPER); // what was before this test is forgotten
    for (size_t i = 0; i < 3; i++) {
        retain.retained_slices = 50 + 10 * i;
        retain.outside.idle_bytes = 5 * SLICE_BYTES;
        retain_note_change();
    }
    assert_int_equal(lowest_retained(RETAIN_HELPER), 0); // as it was at the beginning
    retain.retained_slices = 40;
    retain_note_change();
    retain.retained_slices = 90;
    retain_note_change();
    assert_int_equal(lowest_retained(RETAIN_HELPER), 45);
    assert_int_equal(lowest_retained(RETAIN_HELPER), 95);
    retain.retained_slices = 60;
    retain_note_change();
    assert_int_equal(lowest_retained(RETAIN_LEARNER), 0); // the other's last call was before all this
    assert_int_equal(lowest_retained(RETAIN_HELPER), 65);
}

static size_t highest_retained(enum retain_watcher watcher) {
    return retain_take_extremes(watcher).highest_retained_slices;
}

static void each_watcher_knows_how_much_was_retained(void **state) {
    (void)state;
    retain_take_extremes(RETAIN_LEARNER);
    retain_take_extremes(RETAIN_LOOKS);
    const size_t course[] = {30, 70, 40};
    for (size_t i = 0; i < COUNT_OF(course); i++) {
        retain.retained_slices = course[i];
        retain_note_change();
    }
    assert_int_equal(highest_retained(RETAIN_LOOKS), 70);
    retain.outside.idle_bytes = 10 * SLICE_BYTES;
    retain_note_change();
    assert_int_equal(highest_retained(RETAIN_LOOKS), 50); // since that call
    assert_int_equal(highest_retained(RETAIN_LEARNER), 70);
}

static void assert_in_use(enum retain_watcher watcher, size_t lowest, size_t highest, size_t now) {
    struct retain_extremes seen = retain_take_extremes(watcher);
    assert_int_equal(seen.lowest_in_use_slices, lowest);
    assert_int_equal(seen.highest_in_use_slices, highest);
    assert_int_equal(seen.in_use_slices, now);
}

static void each_watcher_knows_between_what_use_went(void **state) {
    (void)state;
    retain.in_use_slices = 50;
    retain_note_change();
    retain_take_extremes(RETAIN_LEARNER);
    retain_take_extremes(RETAIN_LOOKS);
    const size_t course[] = {90, 20, 40};
    for (size_t i = 0; i < COUNT_OF(course); i++) {
        retain.in_use_slices = course[i];
        retain_note_change();
    }
    assert_in_use(RETAIN_LEARNER, 20, 90, 40);
    assert_in_use(RETAIN_LEARNER, 40, 40, 40); // since that call
    retain.outside.in_use_bytes = 30 * SLICE_BYTES;
    retain_note_change();
    assert_in_use(RETAIN_LOOKS, 20, 90, 70);
    assert_in_use(RETAIN_LEARNER, 40, 70, 70);
}

static void allowance_is_no_more_than_there_ever_was(void **state) {
    (void)state;
    retain_fade(0);
    retain.in_use_slices = 10;
    retain.allowance_slices = 1000;
    retain.retained_slices = 30;
    retain_note_change();
    assert_int_equal(retain.allowance_slices, 40);
}

// The last test: what it begins with does not come back.
static void an_allowance_to_begin_with_fades_too(void **state) {
    (void)state;
    DECIDE(retain_min, RETAIN_MIN_BYTES);
    retain_fade(0); // what was before this test is forgotten
    retain.in_use_slices = 20;
    retain.retained_slices = 60;
    retain_note_change();
    retain_fade(0);
    DECIDE(allowance_first, 1000 * SLICE_BYTES);
    assert_int_equal(retain_bound_bytes(), RETAIN_MIN_BYTES + 80 * SLICE_BYTES); // no more than there ever was
    for (int i = 0; i < 20; i++) {                                               // all of it is used
        retain_note_change();
        retain_fade(0);
    }
    assert_in_range(retain_bound_bytes(), RETAIN_MIN_BYTES + 60 * SLICE_BYTES, RETAIN_MIN_BYTES + 80 * SLICE_BYTES);
    for (int i = 0; i < 20; i++) { // 40 of it are
        retain_note_change();
        assert_true(traffic_until_due() >= 30 * 40);
        retain_fade(20);
    }
    assert_int_equal(retain_bound_bytes(), RETAIN_MIN_BYTES + 40 * SLICE_BYTES);
    retain.retained_slices = 0;
    for (int i = 0; i < 20; i++)
        retain_fade(0);
    assert_int_equal(retain_bound_bytes(), RETAIN_MIN_BYTES);
    DECIDE(allowance_first, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bound_is_a_least_a_share_and_the_allowance, begin),
        cmocka_unit_test_setup(policies_keep_all_or_nothing, begin),
        cmocka_unit_test_setup(limits_leave_what_is_not_in_use, begin),
        cmocka_unit_test_setup(growth_pays_down_to_the_allowance, begin),
        cmocka_unit_test_setup(what_the_allowance_began_with_is_not_for_growth, begin),
        cmocka_unit_test_setup(for_what_slices_do_not_pay_big_blocks_are_owed, begin),
        cmocka_unit_test_setup(allowance_fades_to_what_is_used, begin),
        cmocka_unit_test_setup(fading_that_was_wrong_is_rarer, begin),
        cmocka_unit_test_setup(each_watcher_knows_how_much_was_retained, begin),
        cmocka_unit_test_setup(each_watcher_knows_between_what_use_went, begin),
        cmocka_unit_test_setup(the_lowest_is_what_was_retained_all_the_time, begin),
        cmocka_unit_test_setup(allowance_is_no_more_than_there_ever_was, begin),
        cmocka_unit_test_setup(an_allowance_to_begin_with_fades_too, begin),
        cmocka_unit_test_setup(a_decision_limits_what_is_held, begin),
    };
    return cmocka_run_group_tests_name("retain", tests, start, NULL);
}
