// What may be retained, and when there is no more: limits, and memory outside of the window.
#include "unit/decide.h"
#include "unit/unit.h"

#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() && runs_start() ? 0 : -1;
}

// N4, in a process of its own.
static void limits_child(void *context) {
    bool clean;
    (void)context;
    options.limit_hard = 8 * MIB;
    size_t first = runs_take(64, 1, &clean), second = runs_take(64, 1, &clean);
    MUST(first != NO_SLICE && second != NO_SLICE);
    MUST(runs_take(1, 1, &clean) == NO_SLICE && !runs_take_at(second + 64, 1, &clean));
    MUST(!runs_try_outside(1));
    runs_give(second, 64);
    MUST(runs_try_outside(4 * MIB) && !runs_try_outside(1));
    MUST(runs_count().retained_slices == 0); // made room
    MUST(runs_take(1, 1, &clean) == NO_SLICE);
    runs_note_outside(-(ptrdiff_t)(4 * MIB), 0);
    MUST(runs_take(64, 1, &clean) == second);
    options.limit_hard = 0;
    options.limit_soft = 6 * MIB;
    runs_give(second, 64);
    MUST(runs_count().retained_slices <= 32);
    MUST(runs_take(300, 1, &clean) != NO_SLICE); // it is soft
    MUST(runs_count().retained_slices == 0);
    options.limit_soft = 0;
    os_facts.group_limit_bytes = 32 * MIB; // 28 of them
    size_t third = runs_take(64, 1, &clean);
    runs_give(third, 64);
    MUST(runs_count().retained_slices > 0 && runs_count().in_use_slices + runs_count().retained_slices <= 448);
    runs_take(40, 1, &clean);
    MUST(runs_count().in_use_slices + runs_count().retained_slices <= 448);
}

static void limits_are_kept(void **state) {
    (void)state;
    child_must_succeed(limits_child, NULL);
}

// R5, in a process of its own.
static void outside_child(void *context) {
    bool clean;
    (void)context;
    DECIDE(retain_min, MIB);
    MUST(!runs_outside_is_over() && runs_surplus_bytes(0) == 0);
    runs_note_outside(0, 3 * MIB);
    MUST(runs_surplus_bytes(0) == 2 * MIB);
    runs_give(runs_take(1, 1, &clean), 1);
    MUST(runs_outside_is_over());
    MUST(runs_growth_surplus_bytes(MIB) == MIB && runs_growth_surplus_bytes(GIB) >= 3 * MIB);
    runs_note_outside(0, -(ptrdiff_t)(3 * MIB));
    MUST(!runs_outside_is_over());
    MUST(runs_try_outside(80 * MIB)); // an eighth of what is in use may be retained
    runs_note_outside(0, 10 * MIB);
    MUST(runs_surplus_bytes(0) <= SLICE_BYTES);
    options.free_policy = OPTION_FREE_POLICY_KEEP;
    runs_note_outside(0, GIB);
    MUST(runs_surplus_bytes(0) == 0 && runs_growth_surplus_bytes(GIB) == 0);
}

// A hint of what is idle in use may be wrong (slab/sparse.h, I3), but not by so much that what is within the bound
// goes.
static void idle_in_use_child(void *context) {
    bool clean;
    (void)context;
    DECIDE(retain_min, MIB);
    MUST(runs_surplus_bytes(GIB) == 0); // nothing is in use
    MUST(runs_take(2 * MIB >> SLICE_SHIFT, 1, &clean) != NO_SLICE);
    MUST(runs_surplus_bytes(MIB) == 0 && runs_surplus_bytes(MIB + SLICE_BYTES) == SLICE_BYTES);
    MUST(runs_surplus_bytes(2 * MIB) == MIB && runs_surplus_bytes(GIB) == MIB);
    runs_note_outside(0, 3 * MIB);
    MUST(runs_surplus_bytes(0) == 2 * MIB && runs_surplus_bytes(MIB) == 3 * MIB && runs_surplus_bytes(GIB) == 4 * MIB);
}

static void no_more_is_idle_than_in_use(void **state) {
    (void)state;
    child_must_succeed(idle_in_use_child, NULL);
}

// N3, in a process of its own.
static void owing_child(void *context) {
    bool clean;
    (void)context;
    runs_note_outside(0, 10 * MIB); // below the bound
    runs_take(GROWTH_BYTES / SLICE_BYTES - 1, 1, &clean);
    MUST(!runs_outside_is_over() && runs_owed_bytes() == 0);
    runs_take(1, 1, &clean);
    MUST(runs_outside_is_over() && runs_owed_bytes() == GROWTH_BYTES);
    MUST(!runs_outside_is_over() && runs_owed_bytes() == GROWTH_BYTES);
    runs_take(1, 1, &clean);
    MUST(!runs_outside_is_over()); // not before more is owed
    runs_take(3 * GROWTH_BYTES / SLICE_BYTES, 1, &clean);
    MUST(runs_outside_is_over() && runs_owed_bytes() == 4 * GROWTH_BYTES + SLICE_BYTES);
    runs_note_outside(0, -(ptrdiff_t)(4 * MIB));
    MUST(!runs_outside_is_over() && runs_owed_bytes() == SLICE_BYTES);
}

static void growth_is_paid_for_outside_too(void **state) {
    (void)state;
    child_must_succeed(owing_child, NULL);
}

static void what_is_outside_counts(void **state) {
    (void)state;
    child_must_succeed(outside_child, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(no_more_is_idle_than_in_use),
        cmocka_unit_test(growth_is_paid_for_outside_too),
        cmocka_unit_test(what_is_outside_counts),
    };
    return cmocka_run_group_tests_name("runs_limits", tests, start, NULL);
}
