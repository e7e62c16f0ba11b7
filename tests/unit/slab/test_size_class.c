// Size classes, all of them, for every size; spare ones with every size they may have; slabs' geometry; the division
// that finds a block's index.
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
        if (class_bytes(i) >= bytes && class_bytes(i) >= align && class_bytes(i) % align == 0 &&
            (align <= CACHE_LINE_BYTES || size_classes[i].colours == 0))
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

// C4.
static void colours_take_what_is_left_of_a_slab(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        const struct size_class *row = &size_classes[i];
        size_t left = row->slices * SLICE_BYTES - (size_t)row->blocks * row->bytes;
        bool is_whole_pages = row->bytes % 4096 == 0, spreads_itself = row->bytes % 512 != 0;
        assert_true(bits_is_power_of_two(row->colours + 1u) && row->colours * CACHE_LINE_BYTES <= left);
        if (is_whole_pages || spreads_itself)
            assert_int_equal(row->colours, 0);
        else
            assert_true(4 * row->colours * CACHE_LINE_BYTES >= left || row->colours == 255);
        assert_int_equal(class_first_offset(row, 0), 0);
        assert_int_equal(class_first_offset(row, row->colours), row->colours * CACHE_LINE_BYTES);
    }
    assert_int_equal(size_classes[class_of(4096)].colours, 0);
    assert_in_range(size_classes[class_of(4097)].colours, 1, 255);
}

// ---- spare classes, and closed ones

static unsigned find_smallest_slowly(const bool *open, size_t bytes) {
    unsigned best = CLASS_NONE;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        if (open[i] && class_bytes(i) >= bytes && (best == CLASS_NONE || class_bytes(i) < class_bytes(best)))
            best = i;
    return best;
}

// Every size is served by the smallest of the classes that ought to be open.
static void expect_smallest_of(const bool *open) {
    unsigned expected = find_smallest_slowly(open, 0);
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        assert_int_equal(size_class_is_open(i), open[i]);
    for (size_t bytes = 0; bytes <= CLASS_LARGE_MAX; bytes++) {
        if (class_bytes(expected) < bytes)
            expected = find_smallest_slowly(open, bytes);
        unsigned found = class_of(bytes);
        if (found != expected &&
            (!open[found] || class_bytes(found) != class_bytes(expected))) // of two of one size any
            fail_msg("%zu bytes get class %u of %zu, not %u", bytes, found, class_bytes(found), expected);
    }
}

static void start_open(bool *open) {
    size_class_start();
    for (unsigned i = 0; i < CLASS_END; i++)
        open[i] = i >= CLASS_FIRST && i < CLASS_COUNT;
}

static void spare_classes_have_no_size_at_first(void **state) {
    bool open[CLASS_END];
    (void)state;
    start_open(open);
    expect_smallest_of(open);
    for (unsigned i = CLASS_COUNT; i < CLASS_END; i++) {
        assert_true(class_is_spare(i));
        assert_int_equal(class_bytes(i), 0);
        assert_false(class_is_large(i));
    }
    assert_false(class_is_spare(CLASS_COUNT - 1));
}

static void a_spare_class_serves_what_lies_below_it_until_it_is_closed(void **state) {
    bool open[CLASS_END];
    (void)state;
    start_open(open);
    size_t sizes[] = {size_class_step(260), size_class_step(1100), CLASS_FINE_MAX - 16, size_class_step(70 * KIB),
                      size_class_step(CLASS_LARGE_MAX - 100 * KIB)};
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        unsigned spare = CLASS_COUNT + i, without = class_of(sizes[i]);
        assert_true(class_bytes(without) > sizes[i]);
        size_class_make(spare, sizes[i]);
        open[spare] = true;
        assert_int_equal(class_of(sizes[i]), spare);
        assert_int_equal(class_of(class_bytes(without - 1) + 1), spare);
        assert_int_equal(class_of(class_bytes(without - 1)), without - 1);
        assert_int_equal(class_of(sizes[i] + 1), without);
        assert_int_equal(class_is_large(spare), sizes[i] > CLASS_FINE_MAX);
        assert_false(class_is_held(spare));
        expect_smallest_of(open);
    }
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        size_class_close(CLASS_COUNT + i);
        open[CLASS_COUNT + i] = false;
        assert_int_equal(class_bytes(CLASS_COUNT + i), sizes[i]); // its blocks are still out
        expect_smallest_of(open);
    }
}

static void powers_of_two_can_not_be_closed(void **state) {
    bool open[CLASS_END];
    (void)state;
    start_open(open);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        size_class_close(i);
        open[i] = bits_is_power_of_two(class_bytes(i));
    }
    expect_smallest_of(open);
    for (size_t bytes = 1; bytes <= CLASS_LARGE_MAX; bytes++)
        if (class_bytes(class_of(bytes)) >= 2 * bytes && bytes > BLOCK_ALIGN)
            fail_msg("%zu bytes get a block of %zu", bytes, class_bytes(class_of(bytes)));
    size_class_make(CLASS_COUNT, 4 * KIB); // a spare one is no fixed one, whatever its size
    size_class_close(CLASS_COUNT);
    assert_false(size_class_is_open(CLASS_COUNT));
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        size_class_open(i);
        open[i] = true;
    }
    expect_smallest_of(open);
}

static size_t random_step(struct random *random) {
    return size_class_bytes_of_entry(1 + (unsigned)random_below(random, CLASS_MAP_COUNT - 1));
}

static void the_smallest_open_class_serves_after_any_changes(void **state) {
    struct random random = random_start();
    bool open[CLASS_END];
    (void)state;
    start_open(open);
    for (unsigned turn = 0; turn < (SANITIZED ? 60 : 300); turn++) {
        for (unsigned change = 0; change < 8; change++) {
            unsigned i = random_below(&random, 2) == 0
                             ? CLASS_COUNT + (unsigned)random_below(&random, CLASS_SPARE_COUNT)
                             : CLASS_FIRST + (unsigned)random_below(&random, CLASS_COUNT - 1);
            if (open[i]) {
                size_class_close(i);
                open[i] = i < CLASS_COUNT && bits_is_power_of_two(class_bytes(i));
                continue;
            }
            if (class_is_spare(i) && (class_bytes(i) == 0 || random_below(&random, 3) > 0))
                size_class_make(i, random_step(&random)); // again with another size
            else
                size_class_open(i);
            open[i] = true;
        }
        expect_smallest_of(open);
    }
}

// Every size that a spare class may have: its slabs hold their blocks, and block starts have their index, others none.
static void spare_slabs_of_every_step_are_exact(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned entry = 1; entry < CLASS_MAP_COUNT; entry++) {
        const struct size_class *row = &size_classes[CLASS_COUNT];
        size_class_make(CLASS_COUNT, size_class_bytes_of_entry(entry));
        uint32_t room = (uint32_t)(row->slices * SLICE_BYTES), bytes = (uint32_t)size_class_bytes_of_entry(entry);
        assert_int_equal(row->bytes, bytes);
        assert_in_range(row->slices, 1, SLAB_MAX_SLICES);
        assert_int_equal(row->blocks, room / bytes);
        assert_int_equal(row->words, (row->blocks + 63) / 64);
        assert_true(room % bytes <= room / 8);
        for (uint32_t offset = 0; offset < room; offset += BLOCK_ALIGN) {
            uint32_t found = class_block_index(row, offset), index = offset / bytes;
            uint32_t between = offset + 1 + (uint32_t)random_below(&random, BLOCK_ALIGN - 1);
            bool right = offset % bytes == 0 && index < row->blocks ? found == index : found >= row->blocks;
            if (!right || class_block_index(row, between) < row->blocks)
                fail_msg("class of %u bytes, offset %u: index %u", bytes, offset, found);
        }
        size_class_close(CLASS_COUNT);
    }
}

// A class that was made to save memory loses little at the end of its slabs, where any number of slices allows that.
static void spare_slabs_lose_little_at_their_end(void **state) {
    (void)state;
    for (size_t bytes = 272; bytes <= CLASS_FINE_MAX; bytes += BLOCK_ALIGN) {
        const struct size_class *row = &size_classes[CLASS_COUNT];
        bool can_be = false;
        for (size_t slices = 1; slices <= SLAB_MAX_SLICES; slices++)
            can_be |= slices * SLICE_BYTES / bytes >= SLAB_MIN_BLOCKS &&
                      slices * SLICE_BYTES % bytes <= slices * SLICE_BYTES / SLAB_OWN_WASTE_SHARE;
        size_class_make(CLASS_COUNT, bytes);
        size_t room = row->slices * SLICE_BYTES;
        assert_true(room % bytes <= room / (can_be ? SLAB_OWN_WASTE_SHARE : SLAB_WASTE_SHARE / 2));
        size_class_close(CLASS_COUNT);
    }
}

static void aligned_requests_never_get_a_spare_class(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned i = CLASS_COUNT; i < CLASS_END; i++)
        size_class_make(i, i % 2 == 0 ? (size_t)32 << (i - CLASS_COUNT) : random_step(&random));
    aligned_requests_get_the_first_class_of_aligned_blocks(state);
    for (size_t align = BLOCK_ALIGN; align <= SLICE_BYTES; align *= 2)
        for (unsigned i = CLASS_COUNT; i < CLASS_END; i++)
            assert_false(class_is_spare(class_of_aligned(class_bytes(i), align)));
}

#define TEST_OF_SPARES(test) cmocka_unit_test_setup_teardown(test, start, start)

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
        cmocka_unit_test(colours_take_what_is_left_of_a_slab),
        TEST_OF_SPARES(spare_classes_have_no_size_at_first),
        TEST_OF_SPARES(a_spare_class_serves_what_lies_below_it_until_it_is_closed),
        TEST_OF_SPARES(powers_of_two_can_not_be_closed),
        TEST_OF_SPARES(the_smallest_open_class_serves_after_any_changes),
        TEST_OF_SPARES(spare_slabs_of_every_step_are_exact),
        TEST_OF_SPARES(spare_slabs_lose_little_at_their_end),
        TEST_OF_SPARES(aligned_requests_never_get_a_spare_class),
    };
    return cmocka_run_group_tests_name("size_class", tests, start, NULL);
}
