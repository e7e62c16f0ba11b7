// Huge pages: which groups are advised, what counts as resident then, and that a purge splits none needlessly. Whether
// the kernel was told is read from /proc/self/smaps.
#include "unit/decide.h"
#include "unit/unit.h"

#include <inttypes.h>

#include "region/huge.h"
#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() && runs_start() ? 0 : -1;
}

static size_t take(size_t slices) {
    bool clean;
    size_t first = runs_take(slices, 1, &clean);
    MUST(first != NO_SLICE);
    return first;
}

// True where the mapping that an address lies in has the flag `hg`: huge pages are wanted there.
static bool is_advised(size_t slice) {
    uintptr_t address = (uintptr_t)window_address(slice), low, high;
    char line[512];
    bool inside = false, advised = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    MUST(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &low, &high) == 2)
            inside = address >= low && address < high;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            advised = strstr(line, " hg") != NULL;
    }
    fclose(maps);
    return advised;
}

static size_t least_slices(void) {
    return HUGE_LEAST_BYTES >> SLICE_SHIFT;
}

// Takes slices one by one until so many are in use, so that no run holds a group of its own; touches a part of each.
static void fill_up(size_t slices, size_t touched_bytes) {
    while (runs_count().in_use_slices < slices)
        memset(window_address(take(1)), 1, touched_bytes);
}

static void small_heap(void *context) {
    (void)context;
    size_t first = take(1);
    fill_up(least_slices(), SLICE_BYTES);
    MUST(!is_advised(first) && runs_count().retained_slices == 0);
}

static void dense_heap(void *context) {
    (void)context;
    fill_up(least_slices(), SLICE_BYTES);
    size_t first = take(1);
    MUST(first % GROUP_SLICES == 0 && is_advised(first));
    MUST(runs_count().retained_slices == GROUP_SLICES - 1); // a page fault brings in all of it
    bool zeroed = false;
    size_t next = runs_take(1, 1, &zeroed);
    MUST(next == first + 1 && zeroed); // nonetheless
    memset(window_address(next), 1, SLICE_BYTES);
    runs_give(next, 1);
    MUST(runs_take(1, 1, &zeroed) == next && !zeroed);
    fill_up(least_slices() + GROUP_SLICES, SLICE_BYTES);
    MUST(runs_count().retained_slices == 0);
}

static void sparse_heap(void *context) {
    (void)context;
    fill_up(2 * least_slices(), SLICE_BYTES - SLICE_BYTES / HUGE_SPARSE_SHARE - 2 * os_facts.page_bytes);
    MUST(!is_advised(take(1)) && runs_count().retained_slices == 0);
}

// What huge pages are wasted on shows in a control, some time after it was opened, and then they end.
static void no_longer_dense(void *context) {
    (void)context;
    fill_up(least_slices(), SLICE_BYTES);
    size_t first = take(1);
    MUST(is_advised(first));
    fill_up(first + (DENSITY_CONTROL_LEAST - 1) * GROUP_SLICES, 1);
    MUST(is_advised(take(1)));
    fill_up(first + (DENSITY_CONTROL_LEAST + 1) * GROUP_SLICES, 1);
    MUST(!is_advised(first + DENSITY_CONTROL_LEAST * GROUP_SLICES)); // the control
    fill_up(2 * (first + DENSITY_CONTROL_LEAST * GROUP_SLICES), 1);  // half of the heap is younger than it
    MUST(!is_advised(take(1)));
}

// As what was learned says: the heap was dense in an earlier run.
static void from_the_first(void *context) {
    (void)context;
    DECIDE(huge_least, 0);
    size_t first = take(1);
    MUST(first % GROUP_SLICES == 0 && is_advised(first));
    MUST(runs_count().retained_slices == GROUP_SLICES - 1);
    fill_up(2 * GROUP_SLICES - 1, SLICE_BYTES);
    MUST(is_advised(take(1)) && is_advised(take(1)));
}

// In this one it is not: what a control shows counts for more.
static void no_longer_dense_from_the_first(void *context) {
    (void)context;
    enum { CONTROL = DENSITY_CONTROL_FIRST - 1 };
    DECIDE(huge_least, 0);
    fill_up((CONTROL + 1) * GROUP_SLICES, 1);
    MUST(is_advised(0) && is_advised((CONTROL - 1) * GROUP_SLICES) && !is_advised(CONTROL * GROUP_SLICES));
    fill_up((CONTROL + 1 + 2 * DENSITY_AGE) * GROUP_SLICES, 1); // a small heap
    MUST(!is_advised(take(1)));
}

static void one_block(void *context) {
    (void)context;
    size_t first = take(3 * GROUP_SLICES + 1);
    MUST(is_advised(first) && is_advised(first + 3 * GROUP_SLICES - 1));
    MUST(!is_advised(first + 3 * GROUP_SLICES)); // others will be in that group, too
    MUST(runs_count().retained_slices == 0);
    bool zeroed;
    size_t other = runs_take(8 * GROUP_SLICES, GROUP_SLICES, &zeroed);
    runs_give(other + GROUP_SLICES, 7 * GROUP_SLICES);
    runs_purge(0);
    MUST(runs_take_at(other + GROUP_SLICES, GROUP_SLICES, &zeroed) && is_advised(other + GROUP_SLICES));
}

static void setting_off(void *context) {
    (void)context;
    DECIDE(huge_pages, OPTION_HUGE_PAGES_OFF);
    fill_up(least_slices(), SLICE_BYTES);
    MUST(!is_advised(take(4 * GROUP_SLICES)));
}

static void setting_on(void *context) {
    (void)context;
    DECIDE(huge_pages, OPTION_HUGE_PAGES_ON);
    MUST(runs_huge_bytes() == 0);
    MUST(is_advised(take(1)) && runs_count().retained_slices == GROUP_SLICES - 1);
    MUST(runs_huge_bytes() == GROUP_BYTES);
}

// Pages of a run that lies across two groups go back: neither is huge any more.
static void purge_across(void *context) {
    (void)context;
    DECIDE(huge_pages, OPTION_HUGE_PAGES_ON);
    take(GROUP_SLICES - 3);
    size_t first = take(RUN_ACROSS_SLICES);
    MUST(first == GROUP_SLICES - 3 && is_advised(first) && is_advised(first + 3));
    MUST(runs_purge_inside(window_address(first + 1), 4 * SLICE_BYTES));
    MUST(!is_advised(first) && !is_advised(first + 3) && runs_huge_bytes() == 0);
}

// Two groups of which one slice each is in use, and one that is wholly free: purged last and first.
static void purge(void *context) {
    enum { GROUPS = 3 };
    (void)context;
    DECIDE(huge_pages, OPTION_HUGE_PAGES_ON);
    size_t first = take(GROUPS * GROUP_SLICES);
    MUST(is_advised(first));
    runs_give(first + 1, GROUP_SLICES - 1);
    runs_give(first + GROUP_SLICES, GROUP_SLICES);
    runs_give(first + 2 * GROUP_SLICES + 1, GROUP_SLICES - 1);
    runs_purge((2 * GROUP_SLICES - 2) << SLICE_SHIFT);
    MUST(runs_count().retained_slices == 2 * GROUP_SLICES - 2 && runs_count().purges == 1);
    MUST(is_advised(first) && is_advised(first + GROUP_SLICES) && is_advised(first + 2 * GROUP_SLICES));
    runs_purge(0);
    MUST(runs_count().retained_slices == 0);
    MUST(!is_advised(first) && is_advised(first + GROUP_SLICES) && !is_advised(first + 2 * GROUP_SLICES));
    memset(window_address(first), 1, SLICE_BYTES); // what is in use is still there
}

static void is_told_what_fits(void **state) {
    (void)state;
    if (SANITIZED || os_huge_pages(GROUP_BYTES) != OS_HUGE_ON_REQUEST)
        skip(); // the kernel has none, or a sanitizer's window may begin anywhere
    child_must_succeed(small_heap, NULL);
    child_must_succeed(dense_heap, NULL);
    child_must_succeed(sparse_heap, NULL);
    child_must_succeed(no_longer_dense, NULL);
    child_must_succeed(from_the_first, NULL);
    child_must_succeed(no_longer_dense_from_the_first, NULL);
    child_must_succeed(one_block, NULL);
    child_must_succeed(setting_off, NULL);
    child_must_succeed(setting_on, NULL);
}

static void purge_splits_no_huge_page_while_others_are_left(void **state) {
    (void)state;
    if (SANITIZED || os_huge_pages(GROUP_BYTES) != OS_HUGE_ON_REQUEST)
        skip(); // as above
    child_must_succeed(purge, NULL);
    child_must_succeed(purge_across, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_told_what_fits),
        cmocka_unit_test(purge_splits_no_huge_page_while_others_are_left),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
