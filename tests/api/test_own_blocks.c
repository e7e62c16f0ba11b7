// The block functions of hakmem.h: their rules are those of the C library's, under names of their own.
#include "api_test.h"

#include <hakmem/hakmem.h>

static void every_size_gives_a_block(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        errno = UNTOUCHED;
        void *block = hakmem_malloc(interesting_sizes[i]);
        assert_non_null(block);
        assert_int_equal(errno, UNTOUCHED);
        assert_true(is_aligned(block, 16));
        size_t usable = hakmem_usable_size(block);
        assert_true(usable >= interesting_sizes[i]);
        fill_pattern(block, usable, i);
        assert_true(holds_pattern(block, usable, i));
        hakmem_free(block);
        assert_int_equal(errno, UNTOUCHED);
    }
}

static void zero_sizes_give_blocks_that_differ(void **state) {
    (void)state;
    void *blocks[] = {hakmem_malloc(0),    hakmem_malloc(0),        hakmem_calloc(0, 5),
                      hakmem_calloc(5, 0), hakmem_realloc(NULL, 0), hakmem_aligned_alloc(64, 0)};
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        assert_non_null(blocks[i]);
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(blocks[i], blocks[j]);
        }
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        hakmem_free(blocks[i]);
    }
}

static void zeroed_blocks_are_zero_after_dirty_reuse(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        size_t size = interesting_sizes[i];
        for (int round = 0; round < 3; round++) {
            void *block = hakmem_calloc(1, size);
            assert_non_null(block);
            assert_true(is_zero(block, size));
            memset(block, 0xff, hakmem_usable_size(block));
            hakmem_free(block);
        }
    }
}

static void resizing_keeps_the_common_part(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i += 3) {
        for (size_t j = 1; j < COUNT_OF(interesting_sizes); j += 3) {
            size_t from = interesting_sizes[i], to = interesting_sizes[j];
            if (from > 2 * MIB || to > 2 * MIB) {
                continue;
            }
            void *block = hakmem_malloc(from);
            assert_non_null(block);
            fill_pattern(block, from, i);
            block = hakmem_realloc(block, to);
            assert_non_null(block);
            assert_true(holds_pattern(block, from < to ? from : to, i));
            hakmem_free(block);
        }
    }
}

static void resizing_null_allocates_and_to_zero_frees(void **state) {
    (void)state;
    void *block = hakmem_realloc(NULL, 1000);
    assert_non_null(block);
    fill_pattern(block, 1000, 3);
    errno = UNTOUCHED;
    assert_null(hakmem_realloc(block, 0));
    assert_int_equal(errno, UNTOUCHED);
}

static void alignments_are_kept(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= 32 * MIB; alignment *= 2) {
        for (size_t size = 0; size < 3 * MIB; size = size * 7 + 5) {
            errno = UNTOUCHED;
            void *block = hakmem_aligned_alloc(alignment, size);
            assert_non_null(block);
            assert_int_equal(errno, UNTOUCHED);
            assert_true(is_aligned(block, alignment));
            assert_true(hakmem_usable_size(block) >= size);
            fill_pattern(block, size, alignment);
            hakmem_free(block);
        }
    }
}

static void what_is_no_power_of_two_is_no_alignment(void **state) {
    (void)state;
    static const size_t refused[] = {0, 3, 5, 24, 48, 100, 4097, SIZE_MAX, SIZE_MAX / 2, ((size_t)1 << 63) + 1};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        errno = UNTOUCHED;
        assert_null(hakmem_aligned_alloc(refused[i], 100));
        assert_int_equal(errno, EINVAL);
    }
}

static void what_cannot_be_had_gives_null_and_enomem(void **state) {
    (void)state;
    static const size_t old_sizes[] = {10, 5000, 200000, 1500000, 5000000};
    for (size_t i = 0; i < COUNT_OF(impossible_sizes); i++) {
        size_t size = impossible_sizes[i];
        errno = UNTOUCHED;
        assert_null(hakmem_malloc(size));
        assert_int_equal(errno, ENOMEM);
        errno = UNTOUCHED;
        assert_null(hakmem_calloc(size / 4 + 1, 5));
        assert_int_equal(errno, ENOMEM);
        for (size_t alignment = 16; alignment <= 4 * MIB; alignment *= 8) {
            errno = UNTOUCHED;
            assert_null(hakmem_aligned_alloc(alignment, size));
            assert_int_equal(errno, ENOMEM);
        }
        for (size_t j = 0; j < COUNT_OF(old_sizes); j++) {
            void *block = hakmem_malloc(old_sizes[j]);
            assert_non_null(block);
            fill_pattern(block, old_sizes[j], j);
            errno = UNTOUCHED;
            assert_null(hakmem_realloc(block, size));
            assert_int_equal(errno, ENOMEM);
            assert_true(holds_pattern(block, old_sizes[j], j));
            hakmem_free(block);
        }
    }
}

static void impossible_alignments_give_null_and_enomem(void **state) {
    (void)state;
    for (unsigned shift = 47; shift < 64; shift++) {
        errno = UNTOUCHED;
        assert_null(hakmem_aligned_alloc((size_t)1 << shift, 100));
        assert_int_equal(errno, ENOMEM);
        errno = UNTOUCHED;
        assert_null(hakmem_aligned_alloc((size_t)1 << shift, (size_t)1 << shift));
        assert_int_equal(errno, ENOMEM);
    }
}

static void null_is_nothing(void **state) {
    (void)state;
    errno = UNTOUCHED;
    hakmem_free(NULL);
    assert_int_equal(hakmem_usable_size(NULL), 0);
    assert_int_equal(errno, UNTOUCHED);
}

static void the_version_is_that_of_the_header(void **state) {
    (void)state;
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%d.%d.%d", HAKMEM_VERSION_MAJOR, HAKMEM_VERSION_MINOR,
                   HAKMEM_VERSION_PATCH);
    assert_string_equal(hakmem_version(), expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_gives_a_block),
        cmocka_unit_test(zero_sizes_give_blocks_that_differ),
        cmocka_unit_test(zeroed_blocks_are_zero_after_dirty_reuse),
        cmocka_unit_test(resizing_keeps_the_common_part),
        cmocka_unit_test(resizing_null_allocates_and_to_zero_frees),
        cmocka_unit_test(alignments_are_kept),
        cmocka_unit_test(what_is_no_power_of_two_is_no_alignment),
        cmocka_unit_test(what_cannot_be_had_gives_null_and_enomem),
        cmocka_unit_test(impossible_alignments_give_null_and_enomem),
        cmocka_unit_test(null_is_nothing),
        cmocka_unit_test(the_version_is_that_of_the_header),
    };
    return cmocka_run_group_tests_name("own_blocks", tests, NULL, NULL);
}
