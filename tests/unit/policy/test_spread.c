// Own mappings for big blocks: where their sizes lie within a doubling and few calls ask for them, else not.
#include "unit/unit.h"

#include "policy/spread.h"

static struct spread_seen seen;

static int begin(void **state) {
    (void)state;
    memset(&seen, 0, sizeof seen);
    return 0;
}

// So many requests, evenly from one size up to less than another.
static void ask_for(size_t least, size_t end, unsigned requests) {
    for (unsigned i = 0; i < requests; i++)
        seen.requests[spread_range(least + (end - least) / requests * i)]++;
}

static size_t chosen(void) {
    size_t threshold = 1;
    assert_true(spread_choose(&seen, &threshold));
    return threshold;
}

static void ranges_are_eighths_of_a_doubling(void **state) {
    (void)state;
    assert_int_equal(spread_range(MIB), 0);
    assert_int_equal(spread_range(MIB + MIB / 8 - 1), 0);
    assert_int_equal(spread_range(MIB + MIB / 8), 1);
    assert_int_equal(spread_range(2 * MIB - 1), 7);
    assert_int_equal(spread_range(2 * MIB), 8);
    assert_int_equal(spread_range(BIG_THRESHOLD_MAX_BYTES - 1), SPREAD_RANGES - 1);
}

static void bytes_are_told_to_an_eighth(void **state) {
    (void)state;
    assert_int_equal(spread_bytes(&seen), 0);
    ask_for(2 * MIB, 2 * MIB + 1, 10);
    assert_int_equal(spread_bytes(&seen), 20 * MIB);
    begin(state);
    ask_for(MIB, 32 * MIB, 1000);
    uint64_t asked = 1000 * (MIB + 32 * MIB) / 2;
    assert_in_range(spread_bytes(&seen), asked * 8 / 9, asked);
}

static void sizes_within_a_doubling_get_mappings_from_the_smallest_on(void **state) {
    const size_t least[] = {2 * MIB, 3 * MIB, 4 * MIB, 5 * MIB, 8 * MIB, 16 * MIB};
    for (unsigned i = 0; i < COUNT_OF(least); i++) {
        begin(state);
        ask_for(least[i], 2 * least[i], 1000);
        assert_int_equal(chosen(), least[i]);
    }
    begin(state);
    ask_for(30 * MIB, 32 * MIB, 1000); // near the end of what is counted
    assert_int_equal(chosen(), 30 * MIB);
}

static void blocks_as_large_as_the_largest_class_stay_in_it(void **state) {
    (void)state;
    ask_for(MIB + 1, 2 * MIB, 1000);
    assert_int_equal(chosen(), MIB + BLOCK_ALIGN);
}

static void sizes_spread_over_more_do_not(void **state) {
    ask_for(2 * MIB, 5 * MIB, 1000);
    assert_int_equal(chosen(), 0);
    begin(state);
    ask_for(MIB, 32 * MIB, 1000);
    assert_int_equal(chosen(), 0);
    begin(state);
    ask_for(2 * MIB, 2 * MIB + 1, 500); // two sizes, far apart
    ask_for(9 * MIB, 9 * MIB + 1, 500);
    assert_int_equal(chosen(), 0);
}

static void a_few_strays_at_each_end_do_not_matter(void **state) {
    (void)state;
    ask_for(4 * MIB, 8 * MIB, 1024);
    ask_for(MIB, MIB + 1, 8);
    ask_for(20 * MIB, 20 * MIB + 1, 8);
    assert_int_equal(chosen(), 4 * MIB);
    ask_for(20 * MIB, 20 * MIB + 1, 1);
    assert_int_equal(chosen(), 0);
}

static void many_calls_find_no_block_of_theirs(void **state) {
    (void)state;
    ask_for(2 * MIB, 4 * MIB, 1000);
    seen.sites = (UINT64_C(1) << SPREAD_MOST_SITES) - 1;
    assert_int_equal(chosen(), 2 * MIB);
    seen.sites |= UINT64_C(1) << 63;
    assert_int_equal(chosen(), 0);
}

static void sites_are_told_apart(void **state) {
    (void)state;
    for (uintptr_t site = 0x401000; site < 0x401000 + 64 * 5; site += 5)
        seen.sites |= spread_site(site);
    assert_true(bits_count(seen.sites) > 2 * SPREAD_MOST_SITES);
}

static void few_requests_say_nothing(void **state) {
    size_t threshold;
    (void)state;
    ask_for(2 * MIB, 4 * MIB, SPREAD_LEAST_REQUESTS - 1);
    assert_false(spread_choose(&seen, &threshold));
    ask_for(2 * MIB, 4 * MIB, 1);
    assert_true(spread_choose(&seen, &threshold));
    begin(NULL);
    assert_false(spread_choose(&seen, &threshold));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ranges_are_eighths_of_a_doubling, begin),
        cmocka_unit_test_setup(bytes_are_told_to_an_eighth, begin),
        cmocka_unit_test_setup(sizes_within_a_doubling_get_mappings_from_the_smallest_on, begin),
        cmocka_unit_test_setup(blocks_as_large_as_the_largest_class_stay_in_it, begin),
        cmocka_unit_test_setup(sizes_spread_over_more_do_not, begin),
        cmocka_unit_test_setup(a_few_strays_at_each_end_do_not_matter, begin),
        cmocka_unit_test_setup(many_calls_find_no_block_of_theirs, begin),
        cmocka_unit_test_setup(sites_are_told_apart, begin),
        cmocka_unit_test_setup(few_requests_say_nothing, begin),
    };
    return cmocka_run_group_tests_name("spread", tests, NULL, NULL);
}
