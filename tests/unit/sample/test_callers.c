// Call sites that ask for big blocks: the busiest come first, what is too small or always a mapping is not seen, those
// that ask no more make room.
#include "unit/unit.h"

#include "sample/callers.h"

#define LEAST (CLASS_LARGE_MAX + 64 * KIB) // that is seen, about

static int forget_callers(void **state) {
    (void)state;
    for (unsigned i = 0; i < 70; i++)
        callers_fade();
    return 0;
}

static void the_busiest_come_first(void **state) {
    struct caller list[3];
    (void)state;
    for (uintptr_t site = 0x1000; site < 0x1500; site += 0x100)
        for (uintptr_t i = 0x1000; i <= site; i += 0x100)
            callers_note(site, LEAST);
    assert_int_equal(callers_list(list, 3), 3);
    assert_true(list[0].site == 0x1400 && list[1].site == 0x1300 && list[2].site == 0x1200);
    assert_int_equal(list[0].bytes, 5 * LEAST);
    assert_int_equal(callers_bytes(0x1100), 2 * LEAST);
    assert_int_equal(callers_bytes(0x9999), 0);
    assert_int_equal(callers_list(list, 0), 0);
}

static void ranges_tell_what_was_asked_for(void **state) {
    struct caller list[1];
    (void)state;
    callers_note(0x77, 1500 * KIB);
    callers_note(0x77, 3 * MIB);
    callers_note(0x77, 20 * MIB);
    assert_int_equal(callers_list(list, 1), 1);
    assert_int_equal(list[0].ranges, 1 << 0 | 1 << 1 | 1 << 2);
}

static void what_no_rule_concerns_is_not_seen(void **state) {
    struct caller list[1];
    (void)state;
    callers_note(0x77, CLASS_LARGE_MAX);
    callers_note(0x77, BIG_THRESHOLD_MAX_BYTES);
    callers_note(0, LEAST);
    assert_int_equal(callers_list(list, 1), 0);
}

static void who_asks_no_more_makes_room(void **state) {
    enum { MANY = 1000 };
    static struct caller list[MANY];
    (void)state;
    for (uintptr_t site = 16; site <= 16 * MANY; site += 16)
        callers_note(site, LEAST);
    unsigned seen = callers_list(list, MANY);
    assert_in_range(seen, 32, 64); // places
    callers_fade();
    assert_int_equal(callers_list(list, MANY), seen);
    assert_int_equal(list[0].bytes, LEAST / 2);
    callers_fade();
    assert_int_equal(callers_list(list, MANY), 0);
    callers_note(16 * MANY + 16, LEAST);
    assert_int_equal(callers_bytes(16 * MANY + 16), LEAST);
}

enum { THREADS = 4, TURNS = 20000 };

static void *note_often(void *number) {
    for (unsigned i = 0; i < TURNS; i++) {
        callers_note(0x100 + (i % 3), (1 + (uintptr_t)number % 2) * LEAST);
        if (number == NULL && i % 100 == 0)
            callers_bytes(0x100);
    }
    return NULL;
}

static void threads_lose_no_bytes(void **state) {
    uint64_t all = 0;
    (void)state;
    threads_run(THREADS, note_often);
    for (uintptr_t site = 0x100; site < 0x103; site++)
        all += callers_bytes(site);
    assert_int_equal(all, TURNS * THREADS / 2 * 3 * LEAST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_busiest_come_first, forget_callers),
        cmocka_unit_test_setup(ranges_tell_what_was_asked_for, forget_callers),
        cmocka_unit_test_setup(what_no_rule_concerns_is_not_seen, forget_callers),
        cmocka_unit_test_setup(who_asks_no_more_makes_room, forget_callers),
        cmocka_unit_test_setup(threads_lose_no_bytes, forget_callers),
    };
    return cmocka_run_group_tests_name("callers", tests, NULL, NULL);
}
