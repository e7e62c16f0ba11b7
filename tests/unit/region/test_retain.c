// The bound of what may be retained: computed from what is in use, from options, limits and what had to come back.
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

static void policies_keep_all_or_nothing(void **state) {
    (void)state;
    options.free_policy = OPTION_FREE_POLICY_KEEP;
    assert_true(retain_bound_bytes() > 1024 * GIB);
    retain_note_growth(SLICES(GIB));
    retain.retained_slices = SLICES(GIB);
    assert_true(retain_growth_keeps() >= retain.retained_slices);
    options.free_policy = OPTION_FREE_POLICY_BATCH;
    options.release_batch = 5 * MIB;
    assert_int_equal(retain_bound_bytes(), 5 * MIB);
    assert_int_equal(retain_target_bytes(5 * MIB), 0);
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
    assert_true(retain_growth_keeps() > retain.retained_slices); // too little to pay for
    retain_note_growth(1);
    assert_int_equal(retain_growth_keeps(), SLICES(12 * MIB - GROWTH_BYTES));
    assert_true(retain_growth_keeps() > retain.retained_slices); // it is paid
    retain_note_growth(SLICES(GIB));
    assert_int_equal(retain_growth_keeps(), SLICES(9 * MIB));
    retain.outside.idle_bytes = 2 * MIB;
    assert_int_equal(retain_surplus_of_growth(GIB), 5 * MIB);
    assert_int_equal(retain_surplus_of_growth(MIB), MIB);
    options.retain_min = RETAIN_MIN_BYTES + MIB; // asked for
    assert_int_equal(retain_surplus_of_growth(GIB), 0);
    options.limit_soft = 8 * MIB;
    assert_int_equal(retain_surplus_of_growth(MIB), 7 * MIB);
}

static void allowance_fades_to_what_is_used(void **state) {
    (void)state;
    retain.in_use_slices = SLICES(GIB);
    retain.allowance_slices = 1000;
    for (int i = 0; i < 10000; i++) { // 100 of them come and go
        retain.retained_slices = i % 2 == 0 ? 500 : 600;
        retain_note_change();
        retain_note_given(100);
    }
    assert_in_range(retain.allowance_slices, 100, 110);
}

static void allowance_is_no_more_than_there_ever_was(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) // what was before this test is forgotten
        retain_note_given(1);
    retain.in_use_slices = 10;
    retain.allowance_slices = 1000;
    retain.retained_slices = 30;
    retain_note_change();
    assert_int_equal(retain.allowance_slices, 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bound_is_a_least_a_share_and_the_allowance, begin),
        cmocka_unit_test_setup(policies_keep_all_or_nothing, begin),
        cmocka_unit_test_setup(limits_leave_what_is_not_in_use, begin),
        cmocka_unit_test_setup(growth_pays_down_to_the_allowance, begin),
        cmocka_unit_test_setup(allowance_fades_to_what_is_used, begin),
        cmocka_unit_test_setup(allowance_is_no_more_than_there_ever_was, begin),
    };
    return cmocka_run_group_tests_name("retain", tests, start, NULL);
}
