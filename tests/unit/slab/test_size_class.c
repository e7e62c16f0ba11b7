// Size classes, all of them, for every size; slabs' geometry; the division that finds a block's index.
#include "unit/slab/slabs.h"

static int start(void **state) {
    (void)state;
    size_class_start();
    return 0;
}

static void classes_grow_in_multiples_of_the_alignment(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        assert_int_equal(class_bytes(i) % BLOCK_ALIGN, 0);
        assert_true(i == CLASS_FIRST || class_bytes(i) > class_bytes(i - 1));
    }
    assert_int_equal(class_bytes(CLASS_FIRST), BLOCK_ALIGN);
    assert_int_equal(class_bytes(CLASS_FIRST_LARGE - 1), CLASS_FINE_MAX);
    assert_int_equal(class_bytes(CLASS_COUNT - 1), CLASS_LARGE_MAX);
    assert_int_equal(class_bytes(CLASS_NONE), 0);
}

static void every_size_gets_the_smallest_class_that_holds_it(void **state) {
    unsigned expected = CLASS_FIRST;
    (void)state;
    for (size_t bytes = 0; bytes <= CLASS_LARGE_MAX; bytes++) {
        while (class_bytes(expected) < bytes)
            expected++;
        if (class_of(bytes) != expected)
            fail_msg("%zu bytes get class %u, not %u", bytes, class_of(bytes), expected);
    }
}

static void rounding_wastes_little(void **state) {
    (void)state;
    for (size_t bytes = 129; bytes <= CLASS_LARGE_MAX; bytes++) {
        size_t block = class_bytes(class_of(bytes));
        size_t divisor = bytes <= CLASS_FINE_MAX ? 8 : 5; // at most 12.5 % of a fine block, 20 % of a large one
        if ((block - bytes) * divisor > block)
            fail_msg("%zu bytes get a block of %zu", bytes, block);
    }
}

static void powers_of_two_are_classes(void **state) {
    (void)state;
    for (size_t bytes = BLOCK_ALIGN; bytes <= CLASS_LARGE_MAX; bytes *= 2)
        assert_int_equal(class_bytes(class_of(bytes)), bytes);
}

static void blocks_below_a_cache_line_are_held(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        assert_int_equal(class_is_held(i), class_bytes(i) < 64);
}

static void a_slab_has_room_for_its_blocks_and_bits(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        const struct size_class *row = &size_classes[i];
        size_t room = row->slices * SLICE_BYTES;
        size_t rest = room - (size_t)row->blocks * row->bytes;
        assert_in_range(row->slices, 1, SLAB_MAX_SLICES);
        assert_true(row->blocks >= 1 && (size_t)row->blocks * row->bytes <= room);
        assert_true(rest < row->bytes); // no block less than fit
        assert_true(rest <= room / 16); // little is lost at the end
        assert_int_equal(row->words, (row->blocks + 63) / 64);
    }
}

static void small_classes_have_many_blocks_in_a_slab(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        assert_true(class_bytes(i) > 8 * KIB || size_classes[i].blocks >= SLAB_MIN_BLOCKS);
}

// Every offset of every class's slab: the multiples of the block size have their index, all others none.
static void the_index_of_a_block_is_exact_and_others_have_none(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        const struct size_class *row = &size_classes[i];
        uint32_t room = (uint32_t)(row->slices * SLICE_BYTES), next = 0, index = 0;
        for (uint32_t offset = 0; offset < room; offset++) {
            uint32_t found = class_block_index(row, offset);
            bool right = offset == next ? found == index : found >= row->blocks;
            if (!right)
                fail_msg("class of %u bytes, offset %u: index %u", row->bytes, offset, found);
            if (offset == next) {
                next += row->bytes;
                index++;
            }
        }
    }
}

static unsigned find_aligned_slowly(size_t bytes, size_t align) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT && align <= SLICE_BYTES; i++)
        if (class_bytes(i) >= bytes && class_bytes(i) >= align && class_bytes(i) % align == 0)
            return i;
    return CLASS_NONE;
}

static void aligned_requests_get_the_first_class_of_aligned_blocks(void **state) {
    struct random random = random_start();
    (void)state;
    for (size_t align = 1; align <= 2 * SLICE_BYTES; align *= 2)
        for (unsigned i = 0; i < 2000; i++) {
            size_t bytes = i < 600 ? i : random_below(&random, 2 * CLASS_LARGE_MAX);
            unsigned found = class_of_aligned(bytes, align);
            if (found != find_aligned_slowly(bytes, align))
                fail_msg("%zu bytes aligned to %zu get class %u", bytes, align, found);
        }
    assert_int_equal(class_of_aligned(SIZE_MAX, 16), CLASS_NONE);
    assert_int_equal(class_of_aligned(16, (size_t)1 << 63), CLASS_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_grow_in_multiples_of_the_alignment),
        cmocka_unit_test(every_size_gets_the_smallest_class_that_holds_it),
        cmocka_unit_test(rounding_wastes_little),
        cmocka_unit_test(powers_of_two_are_classes),
        cmocka_unit_test(blocks_below_a_cache_line_are_held),
        cmocka_unit_test(a_slab_has_room_for_its_blocks_and_bits),
        cmocka_unit_test(small_classes_have_many_blocks_in_a_slab),
        cmocka_unit_test(the_index_of_a_block_is_exact_and_others_have_none),
        cmocka_unit_test(aligned_requests_get_the_first_class_of_aligned_blocks),
    };
    return cmocka_run_group_tests_name("size_class", tests, start, NULL);
}
