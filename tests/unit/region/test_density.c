// Density: what looks see of groups that are touched in part, which groups count, when looks and controls are due, and
// which groups may be collapsed.
#include "unit/unit.h"

#include "region/density.h"
#include "region/groups.h"
#include "region/runs.h"
#include "sys/os.h"

enum { GROUPS = 200, HEAP_SLICES = GROUPS * GROUP_SLICES };

static int start(void **state) {
    size_t first, count;
    (void)state;
    os_start();
    if (!window_start() || !window_extend(HEAP_SLICES, &first, &count))
        return -1;
    groups_start();
    group_count = GROUPS;
    return 0;
}

// A group whose slices are all in use, and of which the first pages are touched.
static void open_group(size_t number, size_t touched_bytes) {
    memset(window_address(number * GROUP_SLICES), 1, touched_bytes);
    groups[number] = (struct group){0};
    store_relaxed(&window.info[number * GROUP_SLICES], SLICE_RUN_INSIDE);
    density_note_plain(number);
}

static void open_groups(size_t from, size_t to, size_t touched_bytes) {
    for (; from < to; from++)
        open_group(from, touched_bytes);
}

static size_t look_now(size_t in_use_slices) {
    struct density_look look;
    return density_begin_look(&look, in_use_slices) ? density_finish_look(&look) : NO_GROUP;
}

static void nothing_is_dense_before_a_look(void *context) {
    (void)context;
    MUST(!density_is_known() && !density_is_above(HUGE_SPARSE_SHARE));
    open_groups(0, DENSITY_AGE, GROUP_BYTES); // too young
    look_now(HEAP_SLICES);
    MUST(!density_is_known() && !density_is_above(HUGE_SPARSE_SHARE));
}

static void looks_see_what_is_touched(void *context) {
    (void)context;
    open_groups(0, 4 * DENSITY_AGE, GROUP_BYTES - GROUP_BYTES / 10);
    look_now(0);
    MUST(density_is_known());
    MUST(density_is_above(8) && density_is_above(10) && !density_is_above(11));
    open_groups(4 * DENSITY_AGE, 8 * DENSITY_AGE, GROUP_BYTES / 2);
    look_now(0);
    MUST(density_is_above(2) && !density_is_above(3));
}

// Half of a group is free: nothing is asked of that half. More than half: it does not count at all.
static void free_slices_do_not_count(void *context) {
    (void)context;
    open_groups(0, 4 * DENSITY_AGE, GROUP_BYTES / 2);
    for (size_t number = 0; number < 4 * DENSITY_AGE; number++)
        groups[number].free = group_mask(GROUP_SLICES / 2, GROUP_SLICES / 2);
    look_now(0);
    MUST(density_is_above(1000));
    struct density_look look;
    for (size_t number = 0; number < 4 * DENSITY_AGE; number++)
        groups[number].free = group_mask(0, GROUP_SLICES / 2 + 1);
    open_groups(4 * DENSITY_AGE, 5 * DENSITY_AGE - 1, 1);
    MUST(!density_begin_look(&look, 0) || look.count == 0);
}

// A group that was opened again just now is too young, however long ago it was opened first.
static void groups_opened_again_are_young(void *context) {
    (void)context;
    open_groups(0, 4 * DENSITY_AGE, GROUP_BYTES);
    MUST(os_purge(window_address(3 * DENSITY_AGE * GROUP_SLICES), DENSITY_LOOK_GROUPS * GROUP_BYTES));
    open_groups(3 * DENSITY_AGE, 3 * DENSITY_AGE + DENSITY_LOOK_GROUPS, 1);
    look_now(0);
    MUST(density_is_above(1000));
}

static void looks_are_due_by_groups_opened(void *context) {
    struct density_look look;
    (void)context;
    open_groups(0, 2 * DENSITY_AGE, 1);
    MUST(density_begin_look(&look, 0) && !density_begin_look(&look, 0));
    open_groups(2 * DENSITY_AGE, 2 * DENSITY_AGE + DENSITY_LOOK_LEAST, 1);
    MUST(!density_begin_look(&look, HEAP_SLICES)); // an eighth of a larger heap
    MUST(density_begin_look(&look, 0));
}

static void the_first_control_is_due_early(void *context) {
    (void)context;
    for (unsigned i = 1; i < DENSITY_CONTROL_FIRST; i++) {
        MUST(!density_wants_control(HEAP_SLICES));
        density_note_huge();
    }
    MUST(density_wants_control(HEAP_SLICES));
    density_note_huge(); // in a block
    MUST(density_wants_control(HEAP_SLICES));
    open_group(DENSITY_CONTROL_FIRST, 1);
    for (unsigned i = 0; i <= DENSITY_AGE && !density_is_known(); i++) {
        MUST(!density_wants_control(0));
        density_note_huge();
        look_now(0);
    }
    MUST(density_is_known() && !density_is_above(HUGE_SPARSE_SHARE));
}

static void controls_are_due_by_huge_groups(void *context) {
    (void)context;
    density_note_plain(0);
    for (unsigned i = 0; i < DENSITY_CONTROL_LEAST; i++) {
        MUST(!density_wants_control(0));
        density_note_huge();
    }
    MUST(density_wants_control(0) && !density_wants_control(HEAP_SLICES));
    density_note_plain(DENSITY_CONTROL_LEAST);
    MUST(!density_wants_control(0));
}

static void full_groups_that_are_touched_may_be_collapsed(void *context) {
    bool found[GROUPS] = {false};
    (void)context;
    open_groups(0, GROUPS / 2, GROUP_BYTES / 2);
    open_groups(GROUPS / 2, GROUPS, GROUP_BYTES);
    groups[GROUPS / 2 + 1].free = 1;
    groups[GROUPS / 2 + 2].is_huge = true;
    for (size_t turn = 0; turn < (size_t)2 * GROUPS; turn++) {
        density_note_huge();
        size_t group = look_now(0);
        if (group != NO_GROUP)
            found[group] = true;
    }
    for (size_t number = 0; number < GROUPS; number++) {
        bool fits = number >= GROUPS / 2 && number != GROUPS / 2 + 1 && number != GROUPS / 2 + 2;
        bool is_needed = number >= GROUPS - DENSITY_LOOK_GROUPS; // as evidence
        MUST(found[number] == (fits && !is_needed));
    }
}

IN_A_CHILD(nothing_is_dense_before_a_look)
IN_A_CHILD(looks_see_what_is_touched)
IN_A_CHILD(free_slices_do_not_count)
IN_A_CHILD(groups_opened_again_are_young)
IN_A_CHILD(looks_are_due_by_groups_opened)
IN_A_CHILD(the_first_control_is_due_early)
IN_A_CHILD(controls_are_due_by_huge_groups)
IN_A_CHILD(full_groups_that_are_touched_may_be_collapsed)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_dense_before_a_look),
        cmocka_unit_test(test_looks_see_what_is_touched),
        cmocka_unit_test(test_free_slices_do_not_count),
        cmocka_unit_test(test_groups_opened_again_are_young),
        cmocka_unit_test(test_looks_are_due_by_groups_opened),
        cmocka_unit_test(test_the_first_control_is_due_early),
        cmocka_unit_test(test_controls_are_due_by_huge_groups),
        cmocka_unit_test(test_full_groups_that_are_touched_may_be_collapsed),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
