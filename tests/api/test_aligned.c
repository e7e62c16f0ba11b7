// posix_memalign, aligned_alloc, memalign, valloc, pvalloc: the alignment asked for, and each function's own rules of
// failure.
#include "api_test.h"

enum { HIGHEST_SHIFT = 26 }; // alignments up to 64 MiB: classes, slices, groups and beyond

static const size_t sizes_to_align[] = {0,    1,    15,    16,    17,     48,      100,    1000,
                                        4096, 5000, 65536, 70000, 300000, 1048576, 2500000};

// Every alignment with every size, all live at once for one alignment, so that blocks which overlap show.
static void expect_aligned_blocks(void *(*allocate)(size_t alignment, size_t size), size_t lowest) {
    for (size_t alignment = lowest; alignment <= (size_t)1 << HIGHEST_SHIFT; alignment *= 2) {
        void *blocks[COUNT_OF(sizes_to_align)];
        for (size_t i = 0; i < COUNT_OF(sizes_to_align); i++) {
            errno = UNTOUCHED;
            blocks[i] = allocate(alignment, sizes_to_align[i]);
            assert_non_null(blocks[i]);
            assert_int_equal(errno, UNTOUCHED);
            assert_true(is_aligned(blocks[i], alignment));
            assert_true(is_aligned(blocks[i], 16));
            assert_true(call.usable_size(blocks[i]) >= sizes_to_align[i]);
            fill_pattern(blocks[i], sizes_to_align[i], alignment + i);
        }
        for (size_t i = 0; i < COUNT_OF(sizes_to_align); i++) {
            assert_true(holds_pattern(blocks[i], sizes_to_align[i], alignment + i));
            call.free(blocks[i]);
        }
    }
}

static void *by_posix_memalign(size_t alignment, size_t size) {
    void *block = NULL;
    assert_int_equal(call.posix_memalign(&block, alignment, size), 0);
    return block;
}

static void *by_memalign(size_t alignment, size_t size) {
    return call.memalign(alignment, size);
}

static void *by_aligned_alloc(size_t alignment, size_t size) {
    return call.aligned_alloc(alignment, size);
}

static void posix_memalign_gives_every_alignment(void **state) {
    (void)state;
    expect_aligned_blocks(by_posix_memalign, sizeof(void *));
}

static void memalign_gives_every_alignment(void **state) {
    (void)state;
    expect_aligned_blocks(by_memalign, 1);
}

static void aligned_alloc_gives_every_alignment(void **state) {
    (void)state;
    expect_aligned_blocks(by_aligned_alloc, 1);
}

static void zero_sizes_give_blocks_that_differ(void **state) {
    (void)state;
    void *blocks[300];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = i % 3 == 0 ? by_posix_memalign(64, 0) : i % 3 == 1 ? by_memalign(64, 0) : by_aligned_alloc(64, 0);
        assert_non_null(blocks[i]);
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(blocks[i], blocks[j]);
        }
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        call.free(blocks[i]);
    }
}

// EINVAL is returned, not stored: the pointer and errno stay as they were.
static void posix_memalign_refuses_what_is_no_alignment(void **state) {
    (void)state;
    static const size_t refused[] = {0,           1, 2, 4, 3, 5, 7, 12, 24, 40, 100, 4095, 4097, SIZE_MAX, SIZE_MAX / 2,
                                     SIZE_MAX - 7};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        void *block = &block;
        errno = UNTOUCHED;
        assert_int_equal(call.posix_memalign(&block, refused[i], 100), EINVAL);
        assert_int_equal(errno, UNTOUCHED);
        assert_ptr_equal(block, &block);
    }
}

static void posix_memalign_returns_enomem_and_leaves_the_pointer(void **state) {
    (void)state;
    for (size_t alignment = sizeof(void *); alignment <= MIB; alignment *= 4) {
        for (size_t i = 0; i < COUNT_OF(impossible_sizes); i++) {
            void *block = &block;
            errno = UNTOUCHED;
            assert_int_equal(call.posix_memalign(&block, alignment, impossible_sizes[i]), ENOMEM);
            assert_ptr_equal(block, &block);
            if (hakmem_is_loaded()) { // the C library's own sets it
                assert_int_equal(errno, UNTOUCHED);
            }
        }
    }
}

static void impossible_alignments_fail_cleanly(void **state) {
    (void)state;
    static const size_t alignments[] = {(size_t)1 << 62, (size_t)1 << 63};
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        void *block = &block;
        assert_int_equal(call.posix_memalign(&block, alignments[i], 100), ENOMEM);
        assert_ptr_equal(block, &block);
        errno = UNTOUCHED;
        assert_null(call.memalign(alignments[i], 100));
        assert_true(errno == ENOMEM || errno == EINVAL);
        errno = UNTOUCHED;
        assert_null(call.aligned_alloc(alignments[i], 100));
        assert_true(errno == ENOMEM || errno == EINVAL);
    }
}

static void impossible_sizes_give_null_and_enomem(void **state) {
    (void)state;
    for (size_t alignment = 16; alignment <= MIB; alignment *= 4) {
        for (size_t i = 0; i < COUNT_OF(impossible_sizes); i++) {
            errno = UNTOUCHED;
            assert_null(call.memalign(alignment, impossible_sizes[i]));
            assert_int_equal(errno, ENOMEM);
            errno = UNTOUCHED;
            assert_null(call.aligned_alloc(alignment, impossible_sizes[i]));
            assert_int_equal(errno, ENOMEM);
        }
    }
}

static void memalign_rounds_other_alignments_up(void **state) {
    (void)state;
    static const size_t cases[][2] = {{0, 16},  {3, 16},    {17, 32},     {24, 32},     {33, 64},
                                      {48, 64}, {100, 128}, {1000, 1024}, {5000, 8192}, {100000, 131072}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        void *block = call.memalign(cases[i][0], 100);
        assert_non_null(block);
        assert_true(is_aligned(block, cases[i][1]));
        call.free(block);
    }
}

static void memalign_refuses_alignments_that_cannot_be_rounded(void **state) {
    (void)state;
    errno = UNTOUCHED;
    assert_null(call.memalign(((size_t)1 << 63) + 1, 100));
    assert_int_equal(errno, EINVAL);
    errno = UNTOUCHED;
    assert_null(call.memalign(SIZE_MAX, 100));
    assert_int_equal(errno, EINVAL);
}

// The C library refused them from version 2.38 on and rounded them up before: both are right, anything else is not.
static void aligned_alloc_with_no_power_of_two_is_refused_or_rounded(void **state) {
    (void)state;
    static const size_t cases[][2] = {{17, 32}, {24, 32}, {48, 64}, {100, 128}, {5000, 8192}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        errno = UNTOUCHED;
        void *block = call.aligned_alloc(cases[i][0], 100);
        if (block == NULL) {
            assert_int_equal(errno, EINVAL);
        } else {
            assert_true(is_aligned(block, cases[i][1]));
            call.free(block);
        }
    }
}

static void valloc_and_pvalloc_give_pages(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < COUNT_OF(sizes_to_align); i++) {
        size_t size = sizes_to_align[i];
        errno = UNTOUCHED;
        void *v = call.valloc(size), *p = call.pvalloc(size);
        assert_int_equal(errno, UNTOUCHED);
        assert_non_null(v);
        assert_non_null(p);
        assert_true(is_aligned(v, page));
        assert_true(is_aligned(p, page));
        assert_true(call.usable_size(v) >= size);
        size_t rounded = (size + page - 1) / page * page;
        assert_true(call.usable_size(p) >= rounded);
        fill_pattern(v, size, 1);
        fill_pattern(p, rounded, 2);
        assert_true(holds_pattern(v, size, 1));
        call.free(v);
        assert_true(holds_pattern(p, rounded, 2));
        call.free(p);
    }
}

static void valloc_and_pvalloc_overflow_gives_null_and_enomem(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(impossible_sizes); i++) {
        errno = UNTOUCHED;
        assert_null(call.valloc(impossible_sizes[i]));
        assert_int_equal(errno, ENOMEM);
        errno = UNTOUCHED;
        assert_null(call.pvalloc(impossible_sizes[i]));
        assert_int_equal(errno, ENOMEM);
    }
}

// A loop over aligned blocks must not use up address space or memory.
static void aligned_blocks_are_reused(void **state) {
    (void)state;
    size_t before = resident_bytes();
    for (int round = 0; round < 2000; round++) {
        size_t alignment = (size_t)64 << (round % 16);
        unsigned char *block = call.memalign(alignment, 700000);
        assert_non_null(block);
        memset(block, 1, 700000);
        call.free(block);
    }
    assert_true(resident_bytes() < before + 200 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(posix_memalign_gives_every_alignment),
        cmocka_unit_test(memalign_gives_every_alignment),
        cmocka_unit_test(aligned_alloc_gives_every_alignment),
        cmocka_unit_test(zero_sizes_give_blocks_that_differ),
        cmocka_unit_test(posix_memalign_refuses_what_is_no_alignment),
        cmocka_unit_test(posix_memalign_returns_enomem_and_leaves_the_pointer),
        cmocka_unit_test(impossible_alignments_fail_cleanly),
        cmocka_unit_test(impossible_sizes_give_null_and_enomem),
        cmocka_unit_test(memalign_rounds_other_alignments_up),
        cmocka_unit_test(memalign_refuses_alignments_that_cannot_be_rounded),
        cmocka_unit_test(aligned_alloc_with_no_power_of_two_is_refused_or_rounded),
        cmocka_unit_test(valloc_and_pvalloc_give_pages),
        cmocka_unit_test(valloc_and_pvalloc_overflow_gives_null_and_enomem),
        cmocka_unit_test(aligned_blocks_are_reused),
    };
    return cmocka_run_group_tests_name("aligned", tests, NULL, NULL);
}
