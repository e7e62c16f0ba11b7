// Groups and their index: the lowest free run of a length, against a search slice by slice; the highest group that can
// be purged.
#include "unit/unit.h"

#include "region/groups.h"
#include "region/runs.h"
#include "sys/os.h"

enum { GROUPS = 200, SLICES = GROUPS * GROUP_SLICES };

static int start(void **state) {
    size_t first, count;
    (void)state;
    os_start();
    if (!window_start() || !window_extend(SLICES, &first, &count))
        return -1;
    groups_start();
    group_count = GROUPS;
    return 0;
}

static void become_free(struct group *group, uint32_t mask) {
    group->free |= mask;
}

static void become_used(struct group *group, uint32_t mask) {
    group->free &= ~mask;
    group->clean &= ~mask;
    group->marked &= ~mask;
}

static void become_clean(struct group *group, uint32_t mask) {
    group->free |= mask;
    group->clean |= mask;
}

static void become_zero(struct group *group, uint32_t mask) {
    group->free |= mask;
    group->clean &= ~mask;
    group->marked |= mask;
}

static bool is_free(size_t slice) {
    return slice < SLICES && (groups[slice / GROUP_SLICES].free >> (slice % GROUP_SLICES) & 1) != 0;
}

static size_t lowest_run(size_t slices, size_t align) {
    for (size_t first = 0; first + slices <= SLICES; first += align) {
        size_t length = 0;
        while (length < slices && is_free(first + length))
            length++;
        bool in_a_group = first / GROUP_SLICES == (first + slices - 1) / GROUP_SLICES;
        if (length == slices && (slices >= RUN_ACROSS_SLICES || in_a_group))
            return first;
    }
    return NO_SLICE;
}

// Lengths for which the index is exact: the size classes', and longer ones.
static size_t indexed_length(struct random *random) {
    static const uint8_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32};
    if (random_below(random, 3) == 0)
        return GROUP_SLICES + 1 + random_below(random, 170);
    return lengths[random_below(random, sizeof lengths)];
}

static void the_lowest_run_is_found(void **state) {
    struct random random = random_start();
    (void)state;
    groups_visit(0, SLICES, become_used);
    for (unsigned step = 0; step < 3000; step++) {
        size_t first = random_below(&random, SLICES - 150);
        size_t length = 1 + random_below(&random, step % 2 == 0 ? 150 : 12);
        groups_visit(first, length, random_below(&random, 2) == 0 ? become_free : become_used);
        size_t slices = indexed_length(&random);
        size_t align = random_below(&random, 2) == 0 ? 1 : (size_t)1 << random_below(&random, 6);
        assert_int_equal(groups_find(slices, align), lowest_run(slices, align));
        assert_int_equal(groups_are_free(first, length), is_free(first));
    }
    assert_false(groups_are_free(SLICES - 1, 2)); // beyond what exists
}

static void a_run_over_the_border_of_two_groups_is_found(void **state) {
    (void)state;
    groups_visit(0, SLICES, become_used);
    groups_visit(10 * GROUP_SLICES - 16, 33, become_free);
    assert_int_equal(groups_find(33, 1), 10 * GROUP_SLICES - 16);
    assert_int_equal(groups_find(34, 1), NO_SLICE);
    assert_int_equal(groups_find(33, 32), NO_SLICE);
    assert_int_equal(groups_find(GROUP_SLICES, 1), 10 * GROUP_SLICES - 16);
    assert_int_equal(groups_find(16, 16), 10 * GROUP_SLICES - 16);
    groups_visit(0, SLICES, become_used);
    groups_visit(10 * GROUP_SLICES - 3, RUN_ACROSS_SLICES, become_free);
    assert_int_equal(groups_find(RUN_ACROSS_SLICES, 1), 10 * GROUP_SLICES - 3);
    assert_int_equal(groups_find(RUN_ACROSS_SLICES - 1, 1), NO_SLICE); // a short one lies in one group
    assert_int_equal(groups_find(RUN_ACROSS_SLICES - 3, 1), 10 * GROUP_SLICES);
    groups_visit((GROUPS - 2) * GROUP_SLICES, 2 * GROUP_SLICES, become_free); // up to the end
    assert_int_equal(groups_find(64, 64), (GROUPS - 2) * GROUP_SLICES);
}

static void clean_and_marked_slices_read_as_zero(void **state) {
    (void)state;
    groups_visit(0, SLICES, become_used);
    groups_visit(0, 40, become_clean);
    groups_visit(40, 4, become_zero);
    assert_true(groups_are_zero(0, 44));
    groups_visit(44, 1, become_free);
    assert_false(groups_are_zero(0, 45));
}

static void the_highest_group_is_purged_first_and_huge_pages_last(void **state) {
    (void)state;
    groups_visit(0, SLICES, become_used);
    assert_int_equal(groups_find_purgeable(PURGEABLE), NO_SLICE);
    groups_visit(0, SLICES, become_clean);
    assert_int_equal(groups_find_purgeable(PURGEABLE), NO_SLICE);
    groups_visit(0, SLICES, become_used);
    groups_visit(3 * GROUP_SLICES, 1, become_free);
    groups_make_huge(&groups[90]);
    groups_make_huge(&groups[80]);
    groups_visit(90 * GROUP_SLICES, GROUP_SLICES - 1, become_free);
    groups_visit(80 * GROUP_SLICES, GROUP_SLICES, become_free);
    assert_int_equal(groups_find_purgeable(PURGEABLE), 90);
    assert_int_equal(groups_find_purgeable(PURGEABLE_EASILY), 80);
    groups_visit(80 * GROUP_SLICES, 1, become_used);
    assert_int_equal(groups_find_purgeable(PURGEABLE_EASILY), 3);
    groups[90] = groups[80] = (struct group){0};
    group_borders = 0;
}

static void warm(struct group *group, uint32_t mask) {
    group->cold &= ~mask;
}

static void slices_that_nobody_takes_become_cold(void **state) {
    (void)state;
    groups_visit(0, SLICES, become_used);
    groups_visit(50, 100, become_free);
    groups_visit(500, 50, become_clean);
    groups_mark_cold(); // what was before this test is forgotten
    groups_visit(60, 30, warm);
    assert_int_equal(groups_mark_cold(), 70);
    assert_int_equal(groups_mark_cold(), 100);
    groups_visit(0, SLICES, warm);
}

static void borders_of_huge_groups_are_counted(void **state) {
    struct random random = random_start();
    (void)state;
    assert_int_equal(group_borders, 0);
    for (int step = 0; step < 2000; step++) {
        (random_below(&random, 2) == 0 ? groups_make_huge : groups_make_plain)(&groups[random_below(&random, GROUPS)]);
        size_t borders = groups[GROUPS - 1].is_huge || groups[GROUPS - 1].is_refused;
        for (size_t i = 1; i < GROUPS; i++)
            borders += groups[i].is_huge != groups[i - 1].is_huge || groups[i].is_refused != groups[i - 1].is_refused;
        assert_int_equal(group_borders, borders);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_run_is_found),
        cmocka_unit_test(a_run_over_the_border_of_two_groups_is_found),
        cmocka_unit_test(clean_and_marked_slices_read_as_zero),
        cmocka_unit_test(the_highest_group_is_purged_first_and_huge_pages_last),
        cmocka_unit_test(slices_that_nobody_takes_become_cold),
        cmocka_unit_test(borders_of_huge_groups_are_counted),
    };
    return cmocka_run_group_tests_name("groups", tests, start, NULL);
}
