// The window: its place, its tables, and how it grows among what others have mapped.
#include "unit/unit.h"

#include "base/bits.h"
#include "region/runs.h"
#include "region/window.h"
#include "sys/os.h"

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() ? 0 : -1;
}

// As its callers do.
static bool extend(size_t slices, size_t *first, size_t *count) {
    lock_acquire(&runs_grow_lock);
    bool extended = window_extend(slices, first, count);
    lock_release(&runs_grow_lock);
    return extended;
}

static void it_covers_whole_groups_and_more_than_the_machine_has(void **state) {
    (void)state;
    assert_int_equal(window.base % GROUP_BYTES, 0);
    assert_int_equal(window.limit % GROUP_SLICES, 0);
    assert_true(window.limit << SLICE_SHIFT >= (SANITIZED ? GIB : 2 * os_facts.memory_bytes));
    assert_non_null(window.views);
    assert_non_null(window.info);
}

static void addresses_and_slices_belong_to_each_other(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        size_t slice = random_below(&random, window.limit);
        char *address = window_address(slice);
        assert_int_equal(window_slice_of(address), slice);
        assert_int_equal(window_slice_of(address + SLICE_BYTES - 1), slice);
        assert_true(window_contains(address) && window_contains(address + SLICE_BYTES - 1));
    }
    assert_ptr_equal(window_address(0), (void *)window.base);
    assert_false(window_contains((char *)window.base - 1));
    assert_false(window_contains(window_address(window.limit)));
    assert_false(window_contains(NULL));
    assert_false(window_contains(&random));
    assert_false(window_contains((void *)UINTPTR_MAX));
}

static void every_view_reads_as_nothing_before_it_is_written(void **state) {
    struct random random = random_start();
    size_t bytes = window.limit * TAG_COUNT;
    (void)state;
    assert_true(is_zero(window.views, 4096));
    assert_true(is_zero(window.views + bytes - 4096, 4096));
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(window.views[random_below(&random, bytes)], CLASS_NONE);
}

static void it_grows_by_whole_groups_of_zeroed_memory(void **state) {
    size_t first, count, expected = 0;
    (void)state;
    const size_t wishes[] = {1, GROUP_SLICES, GROUP_SLICES + 1, 100 * GROUP_SLICES};
    for (size_t i = 0; i < COUNT_OF(wishes); i++) {
        errno = UNTOUCHED;
        assert_true(extend(wishes[i], &first, &count));
        assert_int_equal(errno, UNTOUCHED);
        assert_true(count >= wishes[i] && count % GROUP_SLICES == 0);
        assert_true(first >= expected && first % GROUP_SLICES == 0);
        expected = first + count;
        char *memory = window_address(first);
        for (size_t slice = 0; slice < count; slice++) {
            assert_int_equal(memory[slice << SLICE_SHIFT], 0);
            assert_int_equal(window.info[first + slice], 0);
            window.info[first + slice] = slice;
            window_show_all(first + slice, CLASS_NONE);
        }
        memory[0] = 1;
        memory[(count << SLICE_SHIFT) - 1] = 1;
    }
}

static void views_say_what_was_shown_to_whom(void **state) {
    size_t first, count;
    (void)state;
    assert_true(extend(1, &first, &count));
    window_show_all(first + 1, 7);
    for (unsigned tag = 0; tag < TAG_COUNT; tag++) {
        assert_int_equal(window.views[(first + 1) * TAG_COUNT + tag], 7);
        window_show_tag(first + 1, 3, tag);
        for (unsigned other = 0; other < TAG_COUNT; other++)
            assert_int_equal(window.views[(first + 1) * TAG_COUNT + other], other == tag ? 3 : CLASS_NONE);
        window_show_all(first + 1, 7);
    }
    assert_true(is_zero(&window.views[first * TAG_COUNT], TAG_COUNT));
    assert_true(is_zero(&window.views[(first + 2) * TAG_COUNT], TAG_COUNT));
    window_show_all(first + 1, CLASS_NONE);
    assert_true(is_zero(&window.views[(first + 1) * TAG_COUNT], TAG_COUNT));
}

static void a_strangers_mapping_is_stepped_over(void **state) {
    size_t first, count, next, further;
    (void)state;
    assert_true(extend(1, &first, &count));
    char *place = window_address(first + count + 3);
    char *stranger = os_map_at((uintptr_t)place, SLICE_BYTES);
    if (stranger == NULL)
        skip(); // a window that was reserved as a whole has no strangers
    memset(stranger, 's', SLICE_BYTES);
    assert_true(extend(1, &next, &further));
    assert_true(next >= first + count + 4);
    memset(window_address(next), 'w', further << SLICE_SHIFT);
    for (size_t i = 0; i < SLICE_BYTES; i++)
        assert_int_equal(stranger[i], 's');
    os_unmap(stranger, SLICE_BYTES);
}

static void more_than_the_window_is_refused(void **state) {
    size_t first, count, next, further;
    (void)state;
    assert_true(extend(1, &first, &count));
    assert_false(extend(window.limit, &next, &further));
    assert_false(extend(SIZE_MAX / 2 + 1, &next, &further));
    assert_true(extend(1, &next, &further));
    assert_int_equal(next, first + count); // the refusal has changed nothing
}

static void start_and_fill_under_a_limit(void *context) {
    size_t bytes = *(size_t *)context, first, count, usable = 0;
    struct rlimit limit = {bytes, bytes};
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    os_start();
    errno = UNTOUCHED;
    MUST(window_start());
    MUST(window.limit << SLICE_SHIFT <= bytes); // no larger tables than can ever be used
    while (extend(1, &first, &count)) {
        usable += count << SLICE_SHIFT;
        for (size_t slice = first; slice < first + count; slice++) {
            *(char *)window_address(slice) = 1;
            window.info[slice] = 1;
            window_show_all(slice, 1);
        }
    }
    MUST(errno == UNTOUCHED);
    MUST(usable < bytes && usable > bytes / 2);
}

static void it_starts_and_ends_well_under_an_address_limit(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    for (size_t bytes = 128 * MIB; bytes <= 2 * GIB; bytes *= 2)
        child_must_succeed(start_and_fill_under_a_limit, &bytes);
}

static void say_base(void *context) {
    os_start();
    os_facts.random = *(uint64_t *)context;
    MUST(window_start());
    dprintf(2, "%zx", (size_t)window.base);
}

static void its_place_follows_from_the_random_number(void **state) {
    struct capture capture;
    uintptr_t bases[4];
    (void)state;
    if (SANITIZED)
        skip(); // there the kernel chooses
    for (uint64_t i = 0; i < COUNT_OF(bases); i++) {
        uint64_t random = i * 0x9e3779b97f4a7c15u;
        assert_int_equal(child_run(&capture, say_base, &random), 0);
        bases[i] = strtoull(capture.text, NULL, 16);
        assert_true(bases[i] >= (uintptr_t)1 << 40 && bases[i] < (uintptr_t)1 << 47);
        for (uint64_t k = 0; k < i; k++)
            assert_int_not_equal(bases[k], bases[i]);
    }
}

int main(void) {
    const struct CMUnitTest before_start[] = {
        cmocka_unit_test(it_starts_and_ends_well_under_an_address_limit),
        cmocka_unit_test(its_place_follows_from_the_random_number),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_covers_whole_groups_and_more_than_the_machine_has),
        cmocka_unit_test(addresses_and_slices_belong_to_each_other),
        cmocka_unit_test(every_view_reads_as_nothing_before_it_is_written),
        cmocka_unit_test(it_grows_by_whole_groups_of_zeroed_memory),
        cmocka_unit_test(views_say_what_was_shown_to_whom),
        cmocka_unit_test(a_strangers_mapping_is_stepped_over),
        cmocka_unit_test(more_than_the_window_is_refused),
    };
    int failed = cmocka_run_group_tests_name("window before its start", before_start, NULL, NULL);
    return failed + cmocka_run_group_tests_name("window", tests, start, NULL);
}
