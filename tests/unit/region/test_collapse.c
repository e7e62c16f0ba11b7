// Collapsing: full groups that are touched get huge pages, others none, and what is in them stays.
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
        done += collapse_next();
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
    MUST(!collapse_next());
}

static void sparse_groups_stay(void *context) {
    (void)context;
    size_t first = fill_groups(GROUPS, SLICE_BYTES - SLICE_BYTES / 8);
    MUST(collapse_all() == 0 && count_huge(first, GROUPS) == 0);
}

static void groups_that_are_not_full_stay(void *context) {
    (void)context;
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    for (size_t number = first; number < first + GROUPS; number++)
        runs_give(number * GROUP_SLICES + number % GROUP_SLICES, 1);
    MUST(collapse_all() == 0 && count_huge(first, GROUPS) == 0);
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

// The heap is small: nothing is said before it is dense.
static void the_kernel_is_told_of_dense_heaps_alone(void *context) {
    (void)context;
    size_t first = fill_groups(GROUPS, SLICE_BYTES);
    collapse_by_kernel(first);
    MUST(count_huge(first, GROUPS) == 0);
}

IN_A_CHILD(touched_groups_are_collapsed)
IN_A_CHILD(sparse_groups_stay)
IN_A_CHILD(groups_that_are_not_full_stay)
IN_A_CHILD(where_huge_pages_are_off_none_is)
IN_A_CHILD(the_kernel_is_told_of_dense_heaps_alone)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touched_groups_are_collapsed),
        cmocka_unit_test(test_sparse_groups_stay),
        cmocka_unit_test(test_groups_that_are_not_full_stay),
        cmocka_unit_test(test_where_huge_pages_are_off_none_is),
        cmocka_unit_test(test_the_kernel_is_told_of_dense_heaps_alone),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
