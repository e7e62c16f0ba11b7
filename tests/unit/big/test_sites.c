// Call sites: found again, counted, aged, and replaced where the table may not grow any more.
#include "unit/unit.h"

#include "base/tuning.h"
#include "big/sites.h"
#include "sys/os.h"

static int start(void **state) {
    (void)state;
    os_start();
    return 0;
}

static int forget(void **state) {
    (void)state;
    sites_forget();
    return 0;
}

static void a_site_is_found_by_address_and_class(void **state) {
    (void)state;
    assert_null(sites_find(0x1234, 3));
    struct site *site = sites_make(0x1234, 3);
    assert_non_null(site);
    assert_int_equal(site->address, 0x1234);
    assert_int_equal(site->class_index, 3);
    assert_true(list_is_empty(&site->cached));
    assert_ptr_equal(sites_make(0x1234, 3), site);
    assert_ptr_equal(sites_find(0x1234, 3), site);
    assert_null(sites_find(0x1234, 4));
    assert_null(sites_find(0x1235, 3));
    assert_ptr_not_equal(sites_make(0x1234, 4), site);
}

static void the_table_grows_and_loses_nothing(void **state) {
    enum { MANY = SITES_MOST_SLOTS / 2 };
    static struct site *made[MANY];
    (void)state;
    for (uintptr_t i = 0; i < MANY; i++) {
        made[i] = sites_make(0x400000 + 16 * i, (unsigned)i % 7);
        assert_non_null(made[i]);
    }
    for (uintptr_t i = 0; i < MANY; i++)
        assert_ptr_equal(sites_find(0x400000 + 16 * i, (unsigned)i % 7), made[i]);
}

static void count_site(const struct site *site, void *context) {
    (void)site;
    ++*(size_t *)context;
}

static void above_that_the_least_used_without_blocks_go(void **state) {
    enum { MANY = SITES_MOST_SLOTS / 2, MORE = 2000 };
    size_t count = 0, much_used = 0, little_used = 0;
    (void)state;
    for (uintptr_t i = 0; i < MANY; i++) {
        struct site *site = sites_make(16 * (i + 1), 0);
        site->blocks = i % 2; // half of them must stay
        site->uses = i % 4 == 0 ? 1000 : 1;
    }
    for (uintptr_t i = MANY; i < MANY + MORE; i++) {
        struct site *site = sites_make(16 * (i + 1), 0);
        if (site != NULL)
            assert_ptr_equal(sites_find(16 * (i + 1), 0), site);
    }
    for (uintptr_t i = 0; i < MANY; i++) {
        struct site *site = sites_find(16 * (i + 1), 0);
        if (i % 2 != 0)
            assert_true(site != NULL && site->blocks == 1);
        much_used += site != NULL && i % 4 == 0;
        little_used += site != NULL && i % 4 == 2;
    }
    sites_visit(count_site, &count);
    assert_int_equal(count, MANY);
    assert_true(much_used > little_used + MANY / 16); // chosen among a few neighbours
}

static void uses_saturate_and_halve_with_age(void **state) {
    (void)state;
    struct site *site = sites_make(77, 1);
    for (unsigned i = 0; i < 2 * UINT16_MAX; i++)
        sites_note_use(site);
    assert_int_equal(site->uses, UINT16_MAX);
    for (unsigned i = 0; i < SITES_START_SLOTS * SITES_HALVING_TURNS; i++)
        sites_age();
    assert_int_equal(site->uses, UINT16_MAX / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_site_is_found_by_address_and_class, forget),
        cmocka_unit_test_teardown(the_table_grows_and_loses_nothing, forget),
        cmocka_unit_test_teardown(above_that_the_least_used_without_blocks_go, forget),
        cmocka_unit_test_teardown(uses_saturate_and_halve_with_age, forget),
    };
    return cmocka_run_group_tests_name("sites", tests, start, NULL);
}
