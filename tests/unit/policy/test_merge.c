// Two policies make one: each counts by what it was learned from, and nothing overflows.
#include "unit/unit.h"

#include "policy/policy.h"

static struct policy into, other;

// Policies that count the same: runs + seconds each.
static int start(void **state) {
    (void)state;
    memset(&into, 0, sizeof into);
    memset(&other, 0, sizeof other);
    into.runs = other.runs = 1;
    into.seconds = other.seconds = 9;
    return 0;
}

static void give(struct policy *policy, enum decision decision, size_t value) {
    policy->values[decision].is_given = true;
    policy->values[decision].value = value;
}

static struct policy_class class_of_bytes(uint32_t bytes, int32_t gain) {
    return (struct policy_class){bytes, {.windows = 1, .gain_permille = gain}};
}

static void runs_and_seconds_add_up_and_names_stay(void **state) {
    (void)state;
    strcpy(into.program, "one");
    strcpy(into.build, "6f");
    strcpy(other.program, "two");
    other.runs = 5;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_true(into.runs == 6 && into.seconds == 18);
    assert_string_equal(into.program, "one");
    assert_string_equal(into.build, "6f");
}

static void sums_that_overflow_stay_what_a_file_can_say(void **state) {
    (void)state;
    into.runs = other.runs = UINT32_MAX;
    into.seconds = other.seconds = UINT64_MAX;
    give(&into, DECISION_retain_min, 32 * MIB);
    give(&other, DECISION_retain_min, 32 * MIB);
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.runs, UINT32_MAX);
    assert_true(into.seconds == UINT64_MAX);
    assert_int_equal(into.values[DECISION_retain_min].value, 32 * MIB);
}

static void numbers_go_to_their_mean_by_weight(void **state) {
    (void)state;
    give(&into, DECISION_retain_min, 20 * MIB);
    give(&other, DECISION_retain_min, 40 * MIB);
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.values[DECISION_retain_min].value, 30 * MIB);
    start(NULL);
    give(&into, DECISION_retain_min, 20 * MIB);
    give(&other, DECISION_retain_min, 40 * MIB);
    other.seconds = 29; // three times as much in all
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.values[DECISION_retain_min].value, 35 * MIB);
}

static void the_default_stands_for_what_is_not_given(void **state) {
    (void)state;
    give(&into, DECISION_retain_min, RETAIN_MIN_BYTES + 8 * MIB);
    give(&other, DECISION_thread_bytes, STACK_THREAD_BYTES + 2 * MIB);
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.values[DECISION_retain_min].value, RETAIN_MIN_BYTES + 4 * MIB);
    assert_int_equal(into.values[DECISION_thread_bytes].value, STACK_THREAD_BYTES + MIB);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        assert_int_equal(into.values[i].is_given, i == DECISION_retain_min || i == DECISION_thread_bytes);
}

static void of_choices_the_one_that_was_learned_longer_counts(void **state) {
    (void)state;
    give(&into, DECISION_huge_pages, 2);
    give(&other, DECISION_huge_pages, 0);
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.values[DECISION_huge_pages].value, 2);
    other.seconds = 1000;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.values[DECISION_huge_pages].value, 0);
    assert_true(into.values[DECISION_huge_pages].is_given);
}

// 0 says "before it is known to be dense", which nothing near it does.
static void huge_pages_from_the_first_are_a_choice(void **state) {
    (void)state;
    give(&into, DECISION_huge_least, 0);
    into.seconds = 100;
    policy_merge(&into, &other, POLICY_FILE_MOST); // sparse, for a moment
    assert_true(into.values[DECISION_huge_least].is_given);
    assert_int_equal(into.values[DECISION_huge_least].value, 0);
    other.seconds = 1000;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_false(into.values[DECISION_huge_least].is_given);
}

// Of blocks of 2 to 4 MiB a threshold of 17 MiB says nothing.
static void sizes_from_which_on_are_choices(void **state) {
    const enum decision sizes[] = {DECISION_big_threshold, DECISION_fifo_least};
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        start(state);
        give(&into, sizes[i], MIB);
        into.seconds = 100;
        policy_merge(&into, &other, POLICY_FILE_MOST);
        assert_int_equal(into.values[sizes[i]].value, MIB);
        other.seconds = 1000;
        policy_merge(&into, &other, POLICY_FILE_MOST);
        assert_false(into.values[sizes[i]].is_given);
    }
}

static void every_mean_stays_within_its_limits(void **state) {
    (void)state;
    struct random random = random_start();
    for (unsigned turn = 0; turn < 2000; turn++) {
        unsigned i = (unsigned)random_below(&random, DECISION_COUNT);
        const struct decision_row *row = &decision_rows[i];
        start(NULL);
        into.seconds = random_next(&random) >> random_below(&random, 60);
        other.seconds = random_next(&random) >> random_below(&random, 60);
        give(&into, (enum decision)i, random_below(&random, 2) ? row->least : row->most);
        give(&other, (enum decision)i, random_below(&random, 2) ? row->least : row->most);
        policy_merge(&into, &other, POLICY_FILE_MOST);
        assert_in_range(into.values[i].value, row->least, row->most);
    }
}

static void evidence_comes_together(void **state) {
    (void)state;
    into.classes[0] = (struct policy_class){1040, {4, 100, 7, ""}};
    other.classes[0] = (struct policy_class){1040, {6, -300, 90, "rounding"}};
    into.class_count = other.class_count = 1;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    const struct evidence *evidence = &into.classes[0].evidence;
    assert_true(into.class_count == 1 && evidence->windows == 10 && evidence->gain_permille == -100);
    assert_int_equal(evidence->since_seconds, 90);
    assert_string_equal(evidence->why, "rounding");
    other.classes[0].evidence.windows = UINT32_MAX - 3;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.classes[0].evidence.windows, UINT32_MAX);
}

static void classes_of_both_stay_and_the_best_of_too_many(void **state) {
    (void)state;
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        into.classes[i] = class_of_bytes(1040 + 16 * i, 100 + (int32_t)(i * 7 % CLASS_SPARE_COUNT));
    into.class_count = CLASS_SPARE_COUNT;
    other.classes[0] = class_of_bytes(5008, 500);
    other.classes[1] = class_of_bytes(6016, 1);
    other.class_count = 2;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.class_count, CLASS_SPARE_COUNT);
    assert_int_equal(into.classes[0].bytes, 5008); // in place of the one that gained least; none for less
    for (unsigned i = 1; i < CLASS_SPARE_COUNT; i++)
        assert_int_equal(into.classes[i].bytes, 1040 + 16 * i);
}

static void closed_classes_of_both_stay(void **state) {
    (void)state;
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        into.closed[i] = class_of_bytes(16 + 16 * i, 0);
        other.closed[i] = class_of_bytes(32 + 16 * i, 1);
    }
    into.closed_count = 1;
    other.closed_count = CLASS_COUNT;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.closed_count, CLASS_COUNT);
    for (unsigned i = 0; i + 1 < CLASS_COUNT; i++)
        assert_true(into.closed[i + 1].bytes == other.closed[i].bytes); // the least gave way to the last one
}

static void depths_go_to_their_mean(void **state) {
    (void)state;
    uint32_t usual = snapshot_usual_depth(8192);
    into.depths[0] = (struct policy_depth){4096, 10};
    other.depths[0] = (struct policy_depth){4096, 30};
    other.depths[1] = (struct policy_depth){8192, usual + 20};
    into.depth_count = 1;
    other.depth_count = 2;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.depth_count, 2);
    assert_true(into.depths[0].bytes == 4096 && into.depths[0].depth == 20);
    assert_true(into.depths[1].bytes == 8192 && into.depths[1].depth == usual + 10); // the default stands for it
}

static void a_moment_moves_no_depth(void **state) {
    (void)state;
    into.seconds = 100000;
    other.runs = 1;
    other.seconds = 0;
    other.depths[0] = (struct policy_depth){4096, STACK_MAX_DEPTH};
    other.depth_count = 1;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.depth_count, 0);
}

// A file of hours follows a program that is another one now.
static void a_file_forgets(void **state) {
    (void)state;
    into.runs = 1000;
    into.seconds = 100000;
    into.depths[0] = (struct policy_depth){4096, 16};
    other.depths[0] = (struct policy_depth){4096, STACK_MAX_DEPTH};
    into.depth_count = other.depth_count = 1;
    give(&into, DECISION_headroom_share, 4);
    give(&other, DECISION_headroom_share, 1);
    for (unsigned i = 0; i < 400; i++)
        policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.depths[0].depth, STACK_MAX_DEPTH);
    assert_int_equal(into.values[DECISION_headroom_share].value, 1);
    give(&into, DECISION_huge_pages, 2);
    give(&other, DECISION_huge_pages, 0);
    other.seconds = POLICY_FILE_MOST; // as long as counts: the later one
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.values[DECISION_huge_pages].value, 0);
}

// 0 says never; what two learned is not what lies between.
static void what_is_neither_is_not_made(void **state) {
    const enum decision choices[] = {DECISION_purge_delay, DECISION_w_max};
    const size_t values[] = {115, 125};
    for (unsigned i = 0; i < COUNT_OF(choices); i++) {
        start(state);
        into.seconds = 1000;
        give(&other, choices[i], values[i]);
        memcpy(other.values[choices[i]].evidence.why, "why", 4);
        policy_merge(&into, &other, UINT32_MAX);
        assert_false(into.values[choices[i]].is_given);
        assert_string_equal(into.values[choices[i]].evidence.why, "");
        other.seconds = 5000;
        policy_merge(&into, &other, UINT32_MAX);
        assert_int_equal(into.values[choices[i]].value, values[i]);
        assert_string_equal(into.values[choices[i]].evidence.why, "why"); // it speaks for the value that stays
    }
}

static void sites_are_told_apart_by_module_and_offset(void **state) {
    (void)state;
    into.sites[0] = (struct policy_site){.module = "a.so", .offset = 0x10, .threshold_bytes = MIB};
    other.sites[0] = (struct policy_site){.module = "a.so", .offset = 0x10, .threshold_bytes = 2 * MIB};
    other.sites[1] = (struct policy_site){.module = "b.so", .offset = 0x10, .threshold_bytes = 3 * MIB};
    other.sites[2] = (struct policy_site){.module = "a.so", .offset = 0x11, .threshold_bytes = 4 * MIB};
    into.site_count = 1;
    other.site_count = 3;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.site_count, 3);
    assert_true(into.sites[0].threshold_bytes == MIB && into.sites[1].threshold_bytes == 3 * MIB);
    other.seconds = 100; // learned longer
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_true(into.site_count == 3 && into.sites[0].threshold_bytes == 2 * MIB);
}

static void lists_that_are_full_stay_full(void **state) {
    (void)state;
    for (unsigned i = 0; i < POLICY_DEPTHS_MOST; i++) {
        into.depths[i] = (struct policy_depth){16 + i, 1};
        other.depths[i] = (struct policy_depth){5000 + i, 2};
    }
    for (unsigned i = 0; i < POLICY_SITES_MOST; i++) {
        into.sites[i].offset = i;
        other.sites[i].offset = 1000 + i;
    }
    into.depth_count = POLICY_DEPTHS_MOST - 1; // room for one
    into.site_count = POLICY_SITES_MOST - 1;
    other.depth_count = POLICY_DEPTHS_MOST;
    other.site_count = POLICY_SITES_MOST;
    struct policy before = into;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    for (unsigned i = 0; i + 1 < POLICY_DEPTHS_MOST; i++)
        assert_int_equal(into.depths[i].bytes, before.depths[i].bytes);
    assert_memory_equal(into.sites, before.sites, sizeof into.sites - sizeof into.sites[0]);
    assert_int_equal(into.depths[POLICY_DEPTHS_MOST - 1].bytes, other.depths[0].bytes);
    assert_int_equal(into.sites[POLICY_SITES_MOST - 1].offset, other.sites[0].offset);
    assert_true(into.depth_count == POLICY_DEPTHS_MOST && into.site_count == POLICY_SITES_MOST);
}

static void two_of_the_same_decide_the_same(void **state) {
    (void)state;
    give(&into, DECISION_retain_min, 123456789);
    give(&into, DECISION_huge_pages, 2);
    into.classes[0] = class_of_bytes(1040, 75);
    into.closed[0] = class_of_bytes(1280, -5);
    into.depths[0] = (struct policy_depth){4096, 77};
    into.class_count = into.closed_count = into.depth_count = 1;
    into.seconds = 1234567;
    other = into;
    policy_merge(&into, &other, POLICY_FILE_MOST);
    assert_int_equal(into.values[DECISION_retain_min].value, 123456789);
    assert_int_equal(into.values[DECISION_huge_pages].value, 2);
    assert_true(into.classes[0].bytes == 1040 && into.classes[0].evidence.gain_permille == 75);
    assert_true(into.closed[0].bytes == 1280 && into.closed[0].evidence.gain_permille == -5);
    assert_true(into.depths[0].bytes == 4096 && into.depths[0].depth == 77);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(runs_and_seconds_add_up_and_names_stay, start),
        cmocka_unit_test_setup(sums_that_overflow_stay_what_a_file_can_say, start),
        cmocka_unit_test_setup(numbers_go_to_their_mean_by_weight, start),
        cmocka_unit_test_setup(the_default_stands_for_what_is_not_given, start),
        cmocka_unit_test_setup(of_choices_the_one_that_was_learned_longer_counts, start),
        cmocka_unit_test_setup(huge_pages_from_the_first_are_a_choice, start),
        cmocka_unit_test_setup(sizes_from_which_on_are_choices, start),
        cmocka_unit_test_setup(every_mean_stays_within_its_limits, start),
        cmocka_unit_test_setup(evidence_comes_together, start),
        cmocka_unit_test_setup(classes_of_both_stay_and_the_best_of_too_many, start),
        cmocka_unit_test_setup(closed_classes_of_both_stay, start),
        cmocka_unit_test_setup(depths_go_to_their_mean, start),
        cmocka_unit_test_setup(a_moment_moves_no_depth, start),
        cmocka_unit_test_setup(a_file_forgets, start),
        cmocka_unit_test_setup(what_is_neither_is_not_made, start),
        cmocka_unit_test_setup(sites_are_told_apart_by_module_and_offset, start),
        cmocka_unit_test_setup(lists_that_are_full_stay_full, start),
        cmocka_unit_test_setup(two_of_the_same_decide_the_same, start),
    };
    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
