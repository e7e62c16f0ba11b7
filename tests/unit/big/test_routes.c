// Site rules: what was set is found, others keep what they have, and blocks of a ruled call are big.
#include "unit/unit.h"

#include "big/big.h"
#include "big/cache.h"
#include "big/routes.h"
#include "region/runs.h"

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() && runs_start() ? 0 : -1;
}

static void without_rules_nothing_is_looked_up(void **state) {
    (void)state;
    assert_true(routes_least_bytes == SIZE_MAX);
    assert_int_equal(routes_threshold(0x1234, GIB, 5 * MIB), 5 * MIB);
}

static void a_call_with_a_rule_gets_a_mapping_and_others_a_run(void **state) {
    bool zeroed;
    (void)state;
    assert_true(routes_set(0x4711, 2 * MIB));
    void *ruled = big_take(3 * MIB, 1, 0x4711, &zeroed, NULL);
    void *small = big_take(3 * MIB / 2, 1, 0x4711, &zeroed, NULL);
    void *other = big_take(3 * MIB, 1, 0x4712, &zeroed, NULL);
    assert_false(window_contains(ruled));
    assert_true(window_contains(small)); // below the rule's size
    assert_true(window_contains(other));
    assert_true(big_give(ruled, NULL) && big_give(small, NULL) && big_give(other, NULL));
}

static void a_rule_can_be_changed(void **state) {
    (void)state;
    assert_true(routes_set(0x99, 8 * MIB));
    assert_true(routes_set(0x99, 4 * MIB));
    assert_int_equal(routes_find(0x99, 1), 4 * MIB);
    assert_int_equal(routes_threshold(0x99, MIB, 32 * MIB), 32 * MIB); // below the least of all
}

static void with_the_last_rule_nothing_is_looked_up_any_more(void **state) {
    (void)state;
    assert_true(routes_set(0x98, MIB));
    assert_true(routes_least_bytes == MIB);
    routes_drop(0x98);
    assert_int_equal(routes_find(0x98, 32 * MIB), 32 * MIB); // as if there had never been one
    assert_true(routes_least_bytes == 2 * MIB);
    routes_drop(0x97); // nobody's
    routes_drop(0);
    routes_drop(0x99);
    routes_drop(0x4711);
    assert_true(routes_least_bytes == SIZE_MAX);
    assert_true(routes_set(0x4711, 2 * MIB) && routes_set(0x98, 3 * MIB)); // they come back to their places
    assert_int_equal(routes_find(0x98, 1), 3 * MIB);
    assert_int_equal(routes_find(0x99, 1), 1);
    assert_true(routes_least_bytes == 2 * MIB);
}

static void the_table_has_room_for_so_many_and_no_more(void **state) {
    unsigned set = 0;
    (void)state;
    for (uintptr_t site = 0x10000; site < 0x10000 + 10 * ROUTES_MOST; site += 8)
        set += routes_set(site, site);
    assert_int_equal(set, ROUTES_MOST - 2); // those of the tests before; one of theirs was dropped
    for (uintptr_t site = 0x10000; site < 0x10000 + 10 * ROUTES_MOST; site += 8) {
        size_t found = routes_find(site, 1);
        assert_true(found == (site < 0x10000 + 8 * (uintptr_t)set ? site : 1));
    }
    assert_false(routes_set(0, MIB));
    assert_int_equal(routes_find(0x4711, 1), 2 * MIB);
}

static void places_of_dropped_rules_serve_new_ones(void **state) {
    (void)state;
    for (uintptr_t turn = 1; turn < 100; turn++) {
        uintptr_t first = 0x10000 + 10 * ROUTES_MOST * turn;
        assert_false(routes_has_room(first) || routes_set(first, MIB));
        for (uintptr_t i = 0; i < 40; i++) { // of the rules that the turn before has left, or the test
            routes_drop(first - 10 * ROUTES_MOST + 8 * i);
            assert_true(routes_has_room(first + 8 * i) && routes_set(first + 8 * i, 3 * MIB + turn));
        }
        for (uintptr_t i = 0; i < 40; i++) {
            assert_int_equal(routes_find(first - 10 * ROUTES_MOST + 8 * i, 1), 1);
            assert_int_equal(routes_find(first + 8 * i, 1), 3 * MIB + turn);
        }
        assert_int_equal(routes_find(0x4711, 1), 2 * MIB);
    }
    assert_true(routes_has_room(0x4711) && routes_set(0x4711, MIB)); // it has its own
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_rules_nothing_is_looked_up),
        cmocka_unit_test(a_call_with_a_rule_gets_a_mapping_and_others_a_run),
        cmocka_unit_test(a_rule_can_be_changed),
        cmocka_unit_test(with_the_last_rule_nothing_is_looked_up_any_more),
        cmocka_unit_test(the_table_has_room_for_so_many_and_no_more),
        cmocka_unit_test(places_of_dropped_rules_serve_new_ones),
    };
    return cmocka_run_group_tests_name("routes", tests, start, NULL);
}
