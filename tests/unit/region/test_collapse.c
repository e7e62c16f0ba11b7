// Collapsing: groups of large blocks that are resident get huge pages, others none, and what is in them stays.
#include "unit/decide.h"
#include "unit/unit.h"

#include "region/collapse.h"
#include "region/groups.h"
#include "region/huge.h"
#include "region/runs.h"
#include "sys/os.h"

enum { GROUPS = 7 }; // fewer than a dense heap has

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() && runs_start() ? 0 : -1;
}

static char *slice_start(size_t slice) {
    return window_address(slice);
}

// Takes so many groups slice by slice, and touches a part of each slice.
static size_t fill_groups(size_t count, size_t touched_bytes) {
    size_t first = NO_SLICE;
    bool zeroed;
    for (size_t i = 0; i < count * GROUP_SLICES; i++) {
        size_t slice = runs_take(1, 1, &zeroed);
        MUST(slice != NO_SLICE);
        first = i == 0 ? slice : first;
        store_relaxed(&window.info[slice], SLICE_RUN_INSIDE); // as who takes slices does
        memset(slice_start(slice), (int)(slice % 251) + 1, touched_bytes);
    }
    return first / GROUP_SLICES;
}

static unsigned count_huge(size_t first, size_t count) {
    unsigned huge = 0;
    for (size_t number = first; number < first + count; number++)
        huge += groups[number].is_huge;
    return huge;
}

static unsigned collapse_all(void) {
    unsigned done = 0;
    for (unsigned i = 0; i < 4 * GROUPS; i++)
        done += collapse_next(i % 4 + 1);
    return done;
}

static void touched_groups_are_collapsed(void *context) {
    (void)context;
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    MUST(count_huge(first, GROUPS) == 0); // the heap is too small for it
    unsigned done = collapse_all();
    MUST(count_huge(first, GROUPS) == GROUPS - 1); // the newest is evidence
    MUST(done == GROUPS - 1 || done == 0);         // 0: this kernel can only be told
    for (size_t slice = first * GROUP_SLICES; slice < (first + GROUPS) * GROUP_SLICES; slice++)
        for (size_t at = 0; at < SLICE_BYTES; at += 1021)
            MUST(slice_start(slice)[at] == (char)(slice % 251 + 1));
    MUST(collapse_next(GROUPS) == 0);
}

static void sparse_groups_stay(void *context) {
    (void)context;
    size_t first = fill_groups(GROUPS, SLICE_BYTES - SLICE_BYTES / 8);
    MUST(collapse_all() == 0 && count_huge(first, GROUPS) == 0);
}

static size_t fill_groups_and_give_a_slice_of_each(void) {
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    for (size_t number = first; number < first + GROUPS; number++) {
        size_t slice = number * GROUP_SLICES + number % GROUP_SLICES;
        store_relaxed(&window.info[slice], 0); // as who gives slices does
        runs_give(slice, 1);
    }
    return first;
}

// It splits them only where nothing else is left to be purged.
static void what_is_idle_in_a_group_becomes_huge_with_it(void *context) {
    (void)context;
    size_t first = fill_groups_and_give_a_slice_of_each();
    MUST(groups_find_purgeable(PURGEABLE_EASILY) != NO_SLICE);
    (void)collapse_all();
    MUST(count_huge(first, GROUPS) == GROUPS - 1);
    size_t newest = first + GROUPS - 1; // which is evidence
    bool zeroed;
    MUST(groups_find_purgeable(PURGEABLE_EASILY) == newest);
    MUST(runs_take_at(newest * GROUP_SLICES + newest % GROUP_SLICES, 1, &zeroed));
    MUST(groups_find_purgeable(PURGEABLE_EASILY) == NO_SLICE);
    MUST(runs_purge(0) && count_huge(first, GROUPS) == 0);
}

static void purged_groups_stay(void *context) {
    (void)context;
    size_t first = fill_groups_and_give_a_slice_of_each();
    MUST(runs_purge(0));
    MUST(collapse_all() == 0 && count_huge(first, GROUPS) == 0);
}

static void groups_that_nobody_uses_stay(void *context) {
    (void)context;
    DECIDE(retain_min, GIB);
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    for (size_t slice = first * GROUP_SLICES; slice < (first + GROUPS) * GROUP_SLICES; slice++) {
        store_relaxed(&window.info[slice], 0);
        runs_give(slice, 1);
    }
    MUST(collapse_all() == 0 && count_huge(first, GROUPS) == 0);
}

// Slabs of so many slices each: their descriptors differ.
static unsigned collapse_slabs_of(size_t slices) {
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    for (size_t i = 0; i < GROUPS * GROUP_SLICES; i++)
        store_relaxed(&window.info[first * GROUP_SLICES + i], (intptr_t)(i / slices + 1));
    (void)collapse_all();
    return count_huge(first, GROUPS);
}

static void slabs_of_large_blocks_are_collapsed(void *context) {
    (void)context;
    MUST(collapse_slabs_of(GROUP_SLICES / DENSITY_LARGE_PARTS) == GROUPS - 1);
}

static void slabs_of_small_blocks_stay(void *context) {
    (void)context;
    MUST(collapse_slabs_of(GROUP_SLICES / DENSITY_LARGE_PARTS / 2) == 0);
}

static void the_kernel_is_not_told_of_groups_that_are_not_full(void *context) {
    (void)context;
    size_t first = fill_groups_and_give_a_slice_of_each();
    DECIDE(huge_pages, 2);
    for (size_t number = first; number < first + GROUPS; number++) // whoever found it may be late
        collapse_by_kernel(number);
    MUST(count_huge(first, GROUPS) == 0);
}

static void where_huge_pages_are_off_none_is(void *context) {
    (void)context;
    DECIDE(huge_pages, 0);
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    MUST(collapse_all() == 0 && count_huge(first, GROUPS) == 0);
}

// All blocks may have mappings of their own, so that no group is there to be looked at.
static void in_a_heap_without_groups_none_is(void *context) {
    (void)context;
    MUST(group_count == 0);
    MUST(collapse_all() == 0);
}

// The heap is small: nothing is said before it is dense.
static void the_kernel_is_told_of_dense_heaps_alone(void *context) {
    (void)context;
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    collapse_by_kernel(first);
    MUST(count_huge(first, GROUPS) == 0);
}

IN_A_CHILD(touched_groups_are_collapsed)
IN_A_CHILD(sparse_groups_stay)
IN_A_CHILD(what_is_idle_in_a_group_becomes_huge_with_it)
IN_A_CHILD(purged_groups_stay)
IN_A_CHILD(groups_that_nobody_uses_stay)
IN_A_CHILD(slabs_of_large_blocks_are_collapsed)
IN_A_CHILD(slabs_of_small_blocks_stay)
IN_A_CHILD(the_kernel_is_not_told_of_groups_that_are_not_full)
IN_A_CHILD(where_huge_pages_are_off_none_is)
IN_A_CHILD(in_a_heap_without_groups_none_is)
IN_A_CHILD(the_kernel_is_told_of_dense_heaps_alone)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touched_groups_are_collapsed),
        cmocka_unit_test(test_sparse_groups_stay),
        cmocka_unit_test(test_what_is_idle_in_a_group_becomes_huge_with_it),
        cmocka_unit_test(test_purged_groups_stay),
        cmocka_unit_test(test_groups_that_nobody_uses_stay),
        cmocka_unit_test(test_slabs_of_large_blocks_are_collapsed),
        cmocka_unit_test(test_slabs_of_small_blocks_stay),
        cmocka_unit_test(test_the_kernel_is_not_told_of_groups_that_are_not_full),
        cmocka_unit_test(test_where_huge_pages_are_off_none_is),
        cmocka_unit_test(test_in_a_heap_without_groups_none_is),
        cmocka_unit_test(test_the_kernel_is_told_of_dense_heaps_alone),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
