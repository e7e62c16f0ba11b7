// For how many delays memory must lie idle before it goes: by what comes back. Programs are invented.
#include "unit/unit.h"

#include "policy/retention.h"

static size_t others; // purged in each delay for other reasons, and refaulted soon

// A program that takes so much for a moment, once in so many delays; of it, if it had gone, so much comes back. Returns
// how many delays there were between the last two times that idle memory was to go.
static unsigned wait_with(struct retention_idle *idle, size_t bytes, size_t comes_back, unsigned period) {
    uint64_t refaulted = idle->refaulted_bytes, purged = idle->purged_bytes;
    unsigned last = 0, wait = 0, lies_idle = 0;
    bool is_gone = false;
    for (unsigned i = 1; i <= 5000; i++) {
        lies_idle = i % period == 0 ? 0 : lies_idle + 1;
        refaulted += lies_idle == 0 && is_gone ? comes_back : 0;
        is_gone = is_gone && lies_idle > 0;
        refaulted += others;
        purged += others;
        if (!retention_idle_is_due(idle, refaulted, purged, 40 * MIB))
            continue;
        wait = i - last;
        last = i;
        bool goes = !is_gone && lies_idle >= wait;
        retention_idle_note(idle, goes ? bytes : 0);
        purged += goes ? bytes : 0;
        is_gone |= goes;
    }
    return wait;
}

static void what_comes_back_is_waited_for_longer(void **state) {
    struct retention_idle idle = {0};
    (void)state;
    assert_int_equal(wait_with(&idle, 100 * MIB, 0, 3), 1);
    assert_int_equal(wait_with(&idle, 100 * MIB, 100 * MIB, 3), 4); // longer than it lies idle
    assert_int_equal(wait_with(&idle, 100 * MIB, 60 * MIB, RETENTION_IDLE_SHARE - 1), RETENTION_IDLE_SHARE);
    assert_int_equal(wait_with(&idle, 100 * MIB, 10 * MIB, 100), 1);                // hardly any comes back any more
    assert_int_equal(wait_with(&idle, 1000, 1000, 2), 1);                           // not worth a thought
    assert_int_equal(wait_with(&idle, 8 * MIB, 8 * MIB, 5), 1);                     // all comes back, and costs little
    assert_int_equal(wait_with(&idle, GIB, 60 * MIB, RETENTION_IDLE_SHARE - 1), 1); // the better part stays away
}

static void what_was_purged_for_other_reasons_does_not_count(void **state) {
    struct retention_idle idle = {0};
    (void)state;
    others = 100 * MIB;
    assert_int_equal(wait_with(&idle, 100 * MIB, 0, 3), 1);
    assert_int_equal(wait_with(&idle, 100 * MIB, 100 * MIB, 3), 4);
    others = 0;
}

// Half of it came back, and then only small things went, which did not: that says nothing of the rest.
static void what_is_little_says_nothing(void **state) {
    struct retention_idle idle = {0};
    (void)state;
    assert_int_equal(wait_with(&idle, 100 * MIB, 100 * MIB, 3), 4);
    assert_int_equal(wait_with(&idle, 2 * MIB, 0, 7), 4);
    assert_int_equal(wait_with(&idle, 50 * MIB, 0, 7), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_back_is_waited_for_longer),
        cmocka_unit_test(what_is_little_says_nothing),
        cmocka_unit_test(what_was_purged_for_other_reasons_does_not_count),
    };
    return cmocka_run_group_tests_name("retention idle", tests, NULL, NULL);
}
