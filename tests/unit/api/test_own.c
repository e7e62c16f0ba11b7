// hakmem.h's functions: their arguments, what they return, and errno.
#include "unit/unit.h"

#include <errno.h>

#include "hakmem/hakmem.h"
#include "unit/api/calls.h"

static void the_version_is_that_of_the_header(void **state) {
    char expected[64];
    (void)state;
    snprintf(expected, sizeof expected, "%d.%d.%d", HAKMEM_VERSION_MAJOR, HAKMEM_VERSION_MINOR, HAKMEM_VERSION_PATCH);
    assert_string_equal(hakmem_version(), expected);
}

static void blocks_come_and_go_by_the_librarys_own_names(void **state) {
    (void)state;
    char *block = hakmem_malloc(100);
    assert_true(window_contains(block));
    assert_true(hakmem_usable_size(block) >= 100);
    fill_pattern(block, 100, 1);
    block = hakmem_realloc(block, 10000);
    assert_true(holds_pattern(block, 100, 100, 1));
    hakmem_free(block);
    block = hakmem_calloc(10, 10);
    assert_true(is_zero(block, 100));
    hakmem_free(block);
    hakmem_free(NULL);
    assert_int_equal(hakmem_usable_size(NULL), 0);
}

static void an_alignment_must_be_a_power_of_two(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= MIB; alignment *= 2) {
        void *block = hakmem_aligned_alloc(alignment, 100);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % alignment, 0);
        hakmem_free(block);
    }
    const size_t wrong[] = {0, 3, 24, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        errno = 0;
        assert_null(hakmem_aligned_alloc(wrong[i], 100));
        assert_int_equal(errno, EINVAL);
    }
}

static void trim_says_whether_something_was_given_back(void **state) {
    (void)state;
    hakmem_trim(0);
    void *block = hakmem_malloc(8 * MIB);
    memset(block, 1, 8 * MIB);
    hakmem_free(block);
    assert_int_equal(hakmem_trim(0), 1);
    assert_int_equal(hakmem_trim(0), 0);
}

static void statistics_are_filled_as_far_as_the_struct_goes(void **state) {
    (void)state;
    for (size_t size = 0; size <= sizeof(struct hakmem_stats); size += sizeof(size_t)) {
        struct hakmem_stats stats;
        memset(&stats, 0xab, sizeof stats);
        stats.size = size;
        errno = UNTOUCHED;
        int result = hakmem_stats(&stats);
        if (size < 2 * sizeof(size_t)) {
            assert_int_equal(result, -1);
            assert_int_equal(errno, EINVAL);
            continue;
        }
        assert_int_equal(result, 0);
        assert_int_equal(errno, UNTOUCHED);
        assert_int_equal(stats.size, size);
        for (size_t offset = size; offset < sizeof stats; offset++)
            assert_int_equal(((unsigned char *)&stats)[offset], 0xab); // nothing behind it
    }
    errno = 0;
    assert_int_equal(hakmem_stats(NULL), -1);
    assert_int_equal(errno, EINVAL);
}

static void a_later_and_larger_struct_is_told_how_much_was_filled(void **state) {
    struct {
        struct hakmem_stats stats;
        size_t later;
    } larger = {.stats = {.size = sizeof larger}, .later = 77};
    (void)state;
    assert_int_equal(hakmem_stats(&larger.stats), 0);
    assert_int_equal(larger.stats.size, sizeof larger.stats);
    assert_int_equal(larger.later, 77);
}

static void json_is_cut_to_the_buffer_and_its_whole_length_is_told(void **state) {
    static char buffer[256 * 1024], part[100];
    (void)state;
    int length = hakmem_stats_json(NULL, 0);
    assert_true(length > 500 && (size_t)length < sizeof buffer);
    int again = hakmem_stats_json(buffer, sizeof buffer);
    assert_int_equal(again, strlen(buffer));
    assert_int_equal(buffer[0], '{');
    assert_string_equal(buffer + again - 2, "}\n");
    memset(part, '#', sizeof part);
    assert_true(hakmem_stats_json(part, 50) > 500);
    assert_int_equal(strlen(part), 49);
    assert_memory_equal(part, buffer, 40);
    assert_int_equal(part[50], '#');
}

static void an_options_value_is_told_by_name(void **state) {
    char value[64];
    (void)state;
    assert_true(hakmem_policy_save() == -1 && errno == ENOTSUP); // nothing is learned
    assert_int_equal(hakmem_option_get("fastlane", value, sizeof value), 2);
    assert_string_equal(value, "on");
    assert_int_equal(hakmem_option_get("retain_min", NULL, 0), 8);
    assert_int_equal(hakmem_option_get("retain_min", value, 3), 8);
    assert_string_equal(value, "16");
    errno = 0;
    assert_int_equal(hakmem_option_get("frobnicate", value, sizeof value), -1);
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_int_equal(hakmem_option_get(NULL, value, sizeof value), -1);
    assert_int_equal(errno, ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_options_value_is_told_by_name), // also as the first call of all
        cmocka_unit_test(the_version_is_that_of_the_header),
        cmocka_unit_test(blocks_come_and_go_by_the_librarys_own_names),
        cmocka_unit_test(an_alignment_must_be_a_power_of_two),
        cmocka_unit_test(trim_says_whether_something_was_given_back),
        cmocka_unit_test(statistics_are_filled_as_far_as_the_struct_goes),
        cmocka_unit_test(a_later_and_larger_struct_is_told_how_much_was_filled),
        cmocka_unit_test(json_is_cut_to_the_buffer_and_its_whole_length_is_told),
    };
    return cmocka_run_group_tests_name("own", tests, NULL, NULL);
}
