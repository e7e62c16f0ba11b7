// Headroom: more of it where copies take much of the time, and never less.
#include "unit/unit.h"

#include "policy/headroom.h"

static size_t choose(size_t share, uint64_t ms, uint64_t blocks, uint64_t bytes) {
    struct headroom_seen seen = {ms * MS_NS, blocks, bytes};
    return headroom_choose(share, &seen);
}

static void where_nothing_is_copied_it_stays(void **state) {
    (void)state;
    for (size_t share = 1; share <= 64; share++)
        assert_int_equal(choose(share, 1000, 0, 0), share);
}

static void where_much_is_copied_it_is_doubled_up_to_the_whole(void **state) {
    const size_t steps[] = {64, 32, 16, 8, 4, 2, 1, 1};
    (void)state;
    for (unsigned i = 0; i + 1 < COUNT_OF(steps); i++)
        assert_int_equal(choose(steps[i], 1000, 100, GIB), steps[i + 1]);
    assert_int_equal(choose(3, 1000, 100, GIB), 1); // as a file may have it
}

// 16 of 1000 ms: what copying 250 MiB takes.
static void little_copying_is_not_worth_it(void **state) {
    (void)state;
    assert_int_equal(choose(4, 1000, 1000, 200 * MIB), 4);
    assert_int_equal(choose(4, 1000, 1000, 300 * MIB), 2);
    assert_int_equal(choose(4, 2000, 1000, 300 * MIB), 4); // in twice the time
}

static void many_small_blocks_count_by_their_number(void **state) {
    (void)state;
    assert_int_equal(choose(4, 1000, 100 * 1000, 100 * 1000 * 64), 4);
    assert_int_equal(choose(4, 1000, 200 * 1000, 200 * 1000 * 64), 2);
}

static void in_little_time_nothing_is_decided(void **state) {
    (void)state;
    assert_int_equal(choose(4, 0, 1000, GIB), 4);
    assert_int_equal(choose(4, 19, 1000, GIB), 4);
    assert_int_equal(choose(4, 20, 1000, GIB), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_is_copied_it_stays),
        cmocka_unit_test(where_much_is_copied_it_is_doubled_up_to_the_whole),
        cmocka_unit_test(little_copying_is_not_worth_it),
        cmocka_unit_test(many_small_blocks_count_by_their_number),
        cmocka_unit_test(in_little_time_nothing_is_decided),
    };
    return cmocka_run_group_tests_name("headroom", tests, NULL, NULL);
}
