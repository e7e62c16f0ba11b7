// calloc: zeroed memory also where blocks were used before, products that overflow give NULL and ENOMEM.
#include "api_test.h"

static void every_size_is_zeroed_and_aligned(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        void *block = call.calloc(1, interesting_sizes[i]);
        assert_non_null(block);
        assert_true(is_aligned(block, 16));
        assert_true(is_zero(block, interesting_sizes[i]));
        call.free(block);
    }
}

// Dirty several blocks of the size, free them, and take at least as many back.
static void expect_zero_after_dirty_reuse(size_t size) {
    enum { BLOCKS = 8 };
    void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = call.malloc(size);
        assert_non_null(blocks[i]);
        memset(blocks[i], 0xff, call.usable_size(blocks[i]));
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        call.free(blocks[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = call.calloc(1, size);
        assert_non_null(blocks[i]);
        assert_true(is_zero(blocks[i], size));
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        call.free(blocks[i]);
    }
}

static void reused_blocks_are_zeroed(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        expect_zero_after_dirty_reuse(interesting_sizes[i]);
    }
}

// Dirty far more than caches hold, so that slabs are given back, and purged or not, before calloc gets their memory.
static void memory_given_back_dirty_comes_again_zeroed(void **state) {
    (void)state;
    enum { BLOCKS = 20000 };
    static const size_t sizes[] = {48, 1000, 3000, 300};
    void **blocks = call.calloc(BLOCKS, sizeof *blocks);
    assert_non_null(blocks);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[i] = call.malloc(sizes[s]);
            assert_non_null(blocks[i]);
            memset(blocks[i], 0xa5, sizes[s]);
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            call.free(blocks[i]);
        }
        size_t other_size = sizes[(s + 1) % COUNT_OF(sizes)];
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[i] = call.calloc(1, other_size);
            assert_non_null(blocks[i]);
            assert_true(is_zero(blocks[i], other_size));
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            call.free(blocks[i]);
        }
    }
    call.free(blocks);
}

static void large_blocks_of_changing_sizes_are_zeroed(void **state) {
    (void)state;
    uint32_t random = 12345;
    for (int round = 0; round < 300; round++) {
        random = random * 1664525 + 1013904223;
        size_t dirty_size = 20 * KIB + random % (3 * MIB);
        unsigned char *dirty = call.malloc(dirty_size);
        assert_non_null(dirty);
        memset(dirty, 0xee, dirty_size);
        call.free(dirty);
        random = random * 1664525 + 1013904223;
        size_t size = 20 * KIB + random % (3 * MIB);
        unsigned char *block = call.calloc(size / 8, 8);
        assert_non_null(block);
        assert_true(is_zero(block, size / 8 * 8));
        call.free(block);
    }
}

static void the_product_counts(void **state) {
    (void)state;
    for (size_t count = 1; count < 3000; count = count * 3 + 1) {
        void *block = call.calloc(count, 24);
        assert_non_null(block);
        assert_true(call.usable_size(block) >= count * 24);
        assert_true(is_zero(block, count * 24));
        call.free(block);
    }
}

static void zero_count_or_size_gives_blocks_that_differ(void **state) {
    (void)state;
    void *none = call.calloc(0, 8), *empty = call.calloc(8, 0), *both = call.calloc(0, 0),
         *wide = call.calloc(SIZE_MAX, 0);
    assert_non_null(none);
    assert_non_null(empty);
    assert_non_null(both);
    assert_non_null(wide);
    assert_true(none != empty && empty != both && none != both && wide != none && wide != empty && wide != both);
    call.free(none);
    call.free(empty);
    call.free(both);
    call.free(wide);
}

static void overflow_gives_null_and_enomem(void **state) {
    (void)state;
    static const struct {
        size_t count, size;
    } cases[] = {
        {SIZE_MAX, 2},
        {2, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2},
        {SIZE_MAX / 4 + 2, 4},
        {(size_t)1 << 32, (size_t)1 << 32},
        {SIZE_MAX, SIZE_MAX},
        {((size_t)1 << 33) + 1, (size_t)1 << 31},
        {SIZE_MAX / 16 + 2, 16},
        {1, SIZE_MAX},
        {SIZE_MAX - 3, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        errno = UNTOUCHED;
        assert_null(call.calloc(cases[i].count, cases[i].size));
        assert_int_equal(errno, ENOMEM);
    }
}

static void success_leaves_errno_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        errno = UNTOUCHED;
        void *block = call.calloc(1, interesting_sizes[i]);
        assert_int_equal(errno, UNTOUCHED);
        call.free(block);
    }
}

// A large fresh block costs address space, not memory, until it is touched.
static void a_large_fresh_block_is_not_written(void **state) {
    (void)state;
    size_t before = resident_bytes();
    unsigned char *block = call.calloc(1, 512 * MIB);
    assert_non_null(block);
    assert_true(resident_bytes() < before + 32 * MIB);
    assert_int_equal(block[0] + block[256 * MIB] + block[512 * MIB - 1], 0);
    call.free(block);
}

// Large blocks are not cleared where they read as zero already: fresh ones, purged ones, those of a huge page.
static void large_blocks_are_zeroed_wherever_they_come_from(void **state) {
    enum { BLOCKS = 64, STEPS = 2000 };
    static const size_t sizes[] = {33000, 65536, 100000, 262144, 900000, 1048576, 1500000, 4194304};
    uint32_t random = 12345;
    char *blocks[BLOCKS] = {NULL};
    (void)state;
    for (size_t step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        size_t place = (random >> 8) % BLOCKS;
        size_t size = sizes[(random >> 16) % COUNT_OF(sizes)];
        bool cleared = random >> 31;
        call.free(blocks[place]);
        blocks[place] = cleared ? call.calloc(1, size) : call.malloc(size);
        assert_non_null(blocks[place]);
        assert_true(!cleared || is_zero(blocks[place], size));
        memset(blocks[place], 0xff, size);
        if (step % 500 == 0)
            malloc_trim(0);
    }
    for (size_t place = 0; place < BLOCKS; place++)
        call.free(blocks[place]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(every_size_is_zeroed_and_aligned),
        cmocka_unit_test(reused_blocks_are_zeroed),
        cmocka_unit_test(memory_given_back_dirty_comes_again_zeroed),
        cmocka_unit_test(large_blocks_of_changing_sizes_are_zeroed),
        cmocka_unit_test(large_blocks_are_zeroed_wherever_they_come_from),
        cmocka_unit_test(the_product_counts),
        cmocka_unit_test(zero_count_or_size_gives_blocks_that_differ),
        cmocka_unit_test(overflow_gives_null_and_enomem),
        cmocka_unit_test(success_leaves_errno_alone),
        cmocka_unit_test(a_large_fresh_block_is_not_written),
    };
    return cmocka_run_group_tests_name("calloc", tests, NULL, NULL);
}
