// malloc: every size gives an aligned block of its own, what cannot be had gives NULL and ENOMEM.
#include "api_test.h"

static void zero_size_gives_blocks_that_differ(void **state) {
    (void)state;
    void *blocks[1000];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = call.malloc(0);
        assert_non_null(blocks[i]);
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(blocks[i], blocks[j]);
        }
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        call.free(blocks[i]);
    }
}

static void every_size_is_aligned_to_16_and_wholly_writable(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        size_t size = interesting_sizes[i];
        unsigned char *block = call.malloc(size);
        assert_non_null(block);
        assert_true(is_aligned(block, 16));
        assert_true(call.usable_size(block) >= size);
        fill_pattern(block, size, i);
        assert_true(holds_pattern(block, size, i));
        call.free(block);
    }
}

static void every_size_to_4_kib_is_aligned_to_16(void **state) {
    (void)state;
    for (size_t size = 0; size <= 4096; size++) {
        void *block = call.malloc(size);
        assert_non_null(block);
        assert_true(is_aligned(block, 16));
        call.free(block);
    }
}

static void live_blocks_of_all_sizes_keep_their_contents(void **state) {
    (void)state;
    enum { COPIES = 3 };
    void *blocks[COPIES][COUNT_OF(interesting_sizes)];
    for (size_t copy = 0; copy < COPIES; copy++) {
        for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
            blocks[copy][i] = call.malloc(interesting_sizes[i]);
            assert_non_null(blocks[copy][i]);
            fill_pattern(blocks[copy][i], interesting_sizes[i], copy * 1000 + i);
        }
    }
    for (size_t copy = 0; copy < COPIES; copy++) {
        for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
            assert_true(holds_pattern(blocks[copy][i], interesting_sizes[i], copy * 1000 + i));
            call.free(blocks[copy][i]);
        }
    }
}

static void a_size_that_cannot_be_had_gives_null_and_enomem(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(impossible_sizes); i++) {
        errno = UNTOUCHED;
        assert_null(call.malloc(impossible_sizes[i]));
        assert_int_equal(errno, ENOMEM);
    }
}

static void success_leaves_errno_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        errno = UNTOUCHED;
        void *block = call.malloc(interesting_sizes[i]);
        assert_int_equal(errno, UNTOUCHED);
        assert_non_null(block);
        call.free(block);
    }
}

static void the_allocator_works_on_after_a_failure(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        assert_null(call.malloc(impossible_sizes[(size_t)round % COUNT_OF(impossible_sizes)]));
        void *block = call.malloc(100);
        assert_non_null(block);
        fill_pattern(block, 100, (size_t)round);
        call.free(block);
    }
}

static void a_block_of_a_gibibyte_can_be_had_and_used_at_both_ends(void **state) {
    (void)state;
    size_t size = 1024 * MIB + 123;
    unsigned char *block = call.malloc(size);
    assert_non_null(block);
    block[0] = 1;
    block[size / 2] = 2;
    block[size - 1] = 3;
    assert_int_equal(block[0] + block[size / 2] + block[size - 1], 6);
    call.free(block);
}

static void many_blocks_of_one_size_never_overlap(void **state) {
    (void)state;
    enum { BLOCKS = 20000 };
    static const size_t sizes[] = {1, 16, 17, 48, 64, 100, 272, 1024, 2500};
    void **blocks = call.malloc(BLOCKS * sizeof *blocks);
    assert_non_null(blocks);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[i] = call.malloc(sizes[s]);
            assert_non_null(blocks[i]);
            fill_pattern(blocks[i], sizes[s], i);
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            assert_true(holds_pattern(blocks[i], sizes[s], i));
            call.free(blocks[i]);
        }
    }
    call.free(blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(zero_size_gives_blocks_that_differ),
        cmocka_unit_test(every_size_is_aligned_to_16_and_wholly_writable),
        cmocka_unit_test(every_size_to_4_kib_is_aligned_to_16),
        cmocka_unit_test(live_blocks_of_all_sizes_keep_their_contents),
        cmocka_unit_test(a_size_that_cannot_be_had_gives_null_and_enomem),
        cmocka_unit_test(success_leaves_errno_alone),
        cmocka_unit_test(the_allocator_works_on_after_a_failure),
        cmocka_unit_test(a_block_of_a_gibibyte_can_be_had_and_used_at_both_ends),
        cmocka_unit_test(many_blocks_of_one_size_never_overlap),
    };
    return cmocka_run_group_tests_name("malloc", tests, NULL, NULL);
}
