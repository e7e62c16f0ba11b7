// realloc and reallocarray: contents survive every change of size, failure keeps the old block.
#include "api_test.h"

// Grows or shrinks a block from one size to another and checks what both have in common.
static void expect_contents_survive(size_t from, size_t to) {
    unsigned char *block = call.malloc(from);
    assert_non_null(block);
    fill_pattern(block, from, from);
    errno = UNTOUCHED;
    unsigned char *moved = call.realloc(block, to);
    assert_non_null(moved);
    assert_int_equal(errno, UNTOUCHED);
    assert_true(is_aligned(moved, 16));
    assert_true(call.usable_size(moved) >= to);
    assert_true(holds_pattern(moved, from < to ? from : to, from));
    fill_pattern(moved, to, to + 1);
    assert_true(holds_pattern(moved, to, to + 1));
    call.free(moved);
}

static void contents_survive_between_all_pairs_of_small_and_middle_sizes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        for (size_t j = 0; j < COUNT_OF(interesting_sizes); j++) {
            if (interesting_sizes[i] <= 64 * KIB && interesting_sizes[j] <= 64 * KIB) {
                expect_contents_survive(interesting_sizes[i], interesting_sizes[j]);
            }
        }
    }
}

static void contents_survive_between_large_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {100, 5000,    65536,   65537,       131073,      300 * KIB,   512 * KIB,   MIB - 1,
                                   MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, 5 * MIB + 7, 9 * MIB - 3, 33 * MIB + 1};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            expect_contents_survive(sizes[i], sizes[j]);
        }
    }
}

// One block walked up through all sizes and down again, with a neighbour allocated at each step so that it can't just
// stay.
static void a_block_walked_up_and_down_keeps_its_contents(void **state) {
    (void)state;
    void *neighbours[2 * COUNT_OF(interesting_sizes)];
    size_t neighbour_count = 0;
    unsigned char *block = call.malloc(1);
    assert_non_null(block);
    block[0] = pattern_byte(9, 0);
    size_t held = 1;
    for (size_t step = 0; step < 2 * COUNT_OF(interesting_sizes); step++) {
        size_t index = step < COUNT_OF(interesting_sizes) ? step : 2 * COUNT_OF(interesting_sizes) - 1 - step;
        size_t size = interesting_sizes[index];
        neighbours[neighbour_count++] = call.malloc(held);
        block = call.realloc(block, size);
        assert_non_null(block);
        assert_true(holds_pattern(block, held < size ? held : size, 9));
        fill_pattern(block, size, 9);
        held = size;
    }
    call.free(block);
    while (neighbour_count > 0) {
        call.free(neighbours[--neighbour_count]);
    }
}

static void growing_byte_by_byte_keeps_contents(void **state) {
    (void)state;
    unsigned char *block = NULL;
    for (size_t size = 1; size <= 20000; size++) {
        block = call.realloc(block, size);
        assert_non_null(block);
        block[size - 1] = pattern_byte(3, size - 1);
        if (size % 500 == 0) {
            assert_true(holds_pattern(block, size, 3));
        }
    }
    call.free(block);
}

static void growing_to_512_mib_in_steps_keeps_contents(void **state) {
    (void)state;
    size_t size = MIB;
    unsigned char *block = call.malloc(size);
    assert_non_null(block);
    fill_pattern(block, size, 5);
    while (size < 512 * MIB) {
        size += size / 2;
        block = call.realloc(block, size);
        assert_non_null(block);
        block[size - 1] = 1;
        assert_true(holds_pattern(block, MIB, 5));
    }
    block = call.realloc(block, MIB);
    assert_non_null(block);
    assert_true(holds_pattern(block, MIB, 5));
    call.free(block);
}

static void a_null_block_is_allocated(void **state) {
    (void)state;
    void *block = call.realloc(NULL, 100);
    assert_non_null(block);
    fill_pattern(block, 100, 1);
    void *empty = call.realloc(NULL, 0);
    assert_non_null(empty);
    assert_ptr_not_equal(block, empty);
    call.free(block);
    call.free(empty);
}

// As in the C library: the block is freed, NULL comes back, errno stays.
static void size_zero_frees_and_gives_null(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 40, 1000, 40000, 500000, 3 * MIB};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (int round = 0; round < 100; round++) {
            void *block = call.malloc(sizes[i]);
            assert_non_null(block);
            errno = UNTOUCHED;
            assert_null(call.realloc(block, 0));
            assert_int_equal(errno, UNTOUCHED);
        }
    }
}

// If size zero did not free, 4 GiB would stay resident here.
static void size_zero_gives_the_memory_free(void **state) {
    (void)state;
    size_t before = resident_bytes();
    for (int round = 0; round < 4096; round++) {
        void *block = call.malloc(MIB);
        assert_non_null(block);
        memset(block, 1, MIB);
        assert_null(call.realloc(block, 0));
    }
    assert_true(resident_bytes() < before + 256 * MIB);
}

static void a_size_that_cannot_be_had_keeps_the_old_block(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 40, 1000, 40000, 500000, 3 * MIB};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        unsigned char *block = call.malloc(sizes[i]);
        assert_non_null(block);
        fill_pattern(block, sizes[i], i);
        for (size_t j = 0; j < COUNT_OF(impossible_sizes); j++) {
            errno = UNTOUCHED;
            assert_null(call.realloc(block, impossible_sizes[j]));
            assert_int_equal(errno, ENOMEM);
            assert_true(holds_pattern(block, sizes[i], i));
        }
        block = call.realloc(block, sizes[i] + 100);
        assert_non_null(block);
        assert_true(holds_pattern(block, sizes[i], i));
        call.free(block);
    }
}

static void an_aligned_block_can_be_changed(void **state) {
    (void)state;
    for (size_t alignment = 32; alignment <= 4 * MIB; alignment *= 2) {
        for (size_t size = 24; size < 300000; size = size * 5 + 1) {
            unsigned char *block = call.memalign(alignment, size);
            assert_non_null(block);
            assert_true(is_aligned(block, alignment));
            fill_pattern(block, size, alignment);
            block = call.realloc(block, size * 3);
            assert_non_null(block);
            assert_true(holds_pattern(block, size, alignment));
            block = call.realloc(block, 10);
            assert_non_null(block);
            assert_true(holds_pattern(block, 10, alignment));
            call.free(block);
        }
    }
}

static void shrinking_a_big_block_gives_memory_back(void **state) {
    (void)state;
    unsigned char *block = call.malloc(256 * MIB);
    assert_non_null(block);
    memset(block, 1, 256 * MIB);
    size_t before = resident_bytes();
    block = call.realloc(block, 4 * MIB);
    assert_non_null(block);
    assert_true(resident_bytes() + 200 * MIB < before);
    call.free(block);
}

static void reallocarray_multiplies(void **state) {
    (void)state;
    unsigned char *block = call.reallocarray(NULL, 10, 24);
    assert_non_null(block);
    assert_true(call.usable_size(block) >= 240);
    fill_pattern(block, 240, 2);
    errno = UNTOUCHED;
    block = call.reallocarray(block, 1000, 24);
    assert_non_null(block);
    assert_int_equal(errno, UNTOUCHED);
    assert_true(holds_pattern(block, 240, 2));
    assert_null(call.reallocarray(block, 0, 24));
    void *empty = call.reallocarray(NULL, 0, 24);
    assert_non_null(empty);
    call.free(empty);
}

static void reallocarray_overflow_keeps_the_old_block(void **state) {
    (void)state;
    unsigned char *block = call.malloc(500);
    assert_non_null(block);
    fill_pattern(block, 500, 8);
    static const size_t factors[][2] = {{SIZE_MAX, 2},
                                        {2, SIZE_MAX},
                                        {SIZE_MAX / 2 + 1, 2},
                                        {(size_t)1 << 32, (size_t)1 << 32},
                                        {SIZE_MAX / 24 + 1, 24}};
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        errno = UNTOUCHED;
        assert_null(call.reallocarray(block, factors[i][0], factors[i][1]));
        assert_int_equal(errno, ENOMEM);
        assert_true(holds_pattern(block, 500, 8));
    }
    call.free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(contents_survive_between_all_pairs_of_small_and_middle_sizes),
        cmocka_unit_test(contents_survive_between_large_sizes),
        cmocka_unit_test(a_block_walked_up_and_down_keeps_its_contents),
        cmocka_unit_test(growing_byte_by_byte_keeps_contents),
        cmocka_unit_test(growing_to_512_mib_in_steps_keeps_contents),
        cmocka_unit_test(a_null_block_is_allocated),
        cmocka_unit_test(size_zero_frees_and_gives_null),
        cmocka_unit_test(size_zero_gives_the_memory_free),
        cmocka_unit_test(a_size_that_cannot_be_had_keeps_the_old_block),
        cmocka_unit_test(an_aligned_block_can_be_changed),
        cmocka_unit_test(shrinking_a_big_block_gives_memory_back),
        cmocka_unit_test(reallocarray_multiplies),
        cmocka_unit_test(reallocarray_overflow_keeps_the_old_block),
    };
    return cmocka_run_group_tests_name("realloc", tests, NULL, NULL);
}
