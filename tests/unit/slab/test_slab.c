// One slab: making, carving, taking, filling up, ending; its descriptor and what the slice table shows of it.
#include "unit/slab/slabs.h"

#include "region/huge.h"

static struct holder holder, other;
static void *blocks[MOST_BLOCKS];

static int start(void **state) {
    depot_holder_start(&holder, 3);
    depot_holder_start(&other, 5);
    return start_slabs(state);
}

static void put_bit(struct slab *slab, uint32_t index) {
    or_total(&slab->bits[index / 64], UINT64_C(1) << (index % 64)); // total: as put.c does
}

static void put_all_and_end(struct slab *slab) {
    for (uint32_t index = 0; index < slab->carved; index++)
        put_bit(slab, index);
    slab_give_back(slab);
}

static void a_new_slab_is_leased_and_its_slices_are_known_as_its(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct slab *slab = slab_make(i, &holder);
        assert_non_null(slab);
        assert_int_equal(state_of(slab), SLAB_LEASED);
        assert_int_equal(slab->class_index, i);
        assert_ptr_equal(slab->holder, &holder);
        size_t before = (uintptr_t)slab_block(slab, 0) - (uintptr_t)window_address(slab->first_slice);
        assert_in_range(before, 0, size_classes[i].colours * CACHE_LINE_BYTES);
        assert_int_equal(before % CACHE_LINE_BYTES, 0);
        for (size_t slice = slab->first_slice; slice < slab->first_slice + size_classes[i].slices; slice++) {
            assert_ptr_equal(slab_of_slice(slice), slab);
            for (unsigned tag = 0; tag < TAG_COUNT; tag++)
                assert_int_equal(window.views[slice * TAG_COUNT + tag],
                                 class_is_held(i) && tag != holder.tag ? CLASS_NONE : i);
        }
        slab_give_back(slab);
    }
}

static void a_new_holders_threads_see_its_held_slabs_and_others_no_more(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i <= CLASS_LAST_HELD; i++) {
        struct slab *slab = slab_make(i, &holder);
        const uint8_t *views = &window.views[(size_t)slab->first_slice * TAG_COUNT];
        slab_set_holder(slab, &other);
        assert_ptr_equal(slab->holder, &other);
        assert_int_equal(views[other.tag], i);
        assert_int_equal(views[holder.tag], CLASS_NONE);
        slab_give_back(slab);
    }
}

// C4.
static void slabs_whose_blocks_share_lines_of_their_pages_begin_at_different_ones(void **state) {
    enum { SLABS = 32, LINES = 4096 / CACHE_LINE_BYTES };
    struct slab *slabs[SLABS];
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        bool seen[LINES] = {false};
        unsigned lines = 0, of_one = 0;
        for (unsigned k = 0; k < SLABS; k++) {
            slabs[k] = slab_make(i, &holder);
            assert_non_null(slabs[k]);
            size_t line = (uintptr_t)slab_block(slabs[k], 0) / CACHE_LINE_BYTES % LINES;
            lines += !seen[line];
            seen[line] = true;
        }
        for (unsigned k = 0; k < SLABS; k++)
            slab_give_back(slabs[k]);
        of_one = size_classes[i].colours + 1u < LINES ? size_classes[i].colours + 1u : LINES;
        assert_in_range(lines, (of_one + 7) / 8, of_one); // where all slabs have four slices, a quarter is used
    }
    assert_true(size_classes[class_of(16400)].colours >= 63);
}

static void carving_hands_out_each_block_once_in_order(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct slab *slab = slab_make(i, &holder);
        unsigned carved = 0;
        while (carved < size_classes[i].blocks) {
            unsigned want = 1 + (unsigned)random_below(&random, 70);
            unsigned left = size_classes[i].blocks - carved;
            unsigned count = carve(slab, blocks, want);
            assert_int_equal(count, want < left ? want : left);
            assert_int_equal(slab_is_carved(slab), count == left);
            for (unsigned k = 0; k < count; k++)
                assert_ptr_equal(blocks[k], slab_block(slab, carved + k));
            carved += count;
            assert_int_equal(slab->carved, carved);
        }
        assert_int_equal(carve(slab, blocks, 1), 0);
        put_all_and_end(slab);
    }
}

// What was put back and nothing else is taken, each block once, up to the number wanted.
static void taking_clears_what_was_put_back(void **state) {
    static bool is_back[MOST_BLOCKS];
    struct random random = random_start();
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i += 3) {
        struct slab *slab = slab_make(i, &holder);
        unsigned all = carve_all(slab, blocks), back = 0;
        memset(is_back, 0, sizeof is_back);
        for (unsigned step = 0; step < 300; step++) {
            for (size_t k = random_below(&random, 40); k > 0; k--) {
                uint32_t index = (uint32_t)random_below(&random, all);
                put_bit(slab, index);
                back += !is_back[index];
                is_back[index] = true;
            }
            assert_int_equal(slab_free_blocks(slab), back);
            unsigned want = 1 + (unsigned)random_below(&random, 30);
            unsigned count = take(slab, blocks, want);
            assert_int_equal(count, want < back ? want : back);
            for (unsigned k = 0; k < count; k++) {
                assert_true(index_of(slab, blocks[k]) < all && is_back[index_of(slab, blocks[k])]);
                is_back[index_of(slab, blocks[k])] = false;
            }
            back -= count;
            assert_int_equal(slab_is_exhausted(slab), back == 0);
        }
        put_all_and_end(slab);
    }
}

static void blocks_never_handed_out_are_not_taken(void **state) {
    (void)state;
    struct slab *slab = slab_make(class_of(64), &holder);
    assert_int_equal(take(slab, blocks, 10), 0);
    assert_int_equal(carve(slab, blocks, 3), 3);
    put_bit(slab, 1);
    assert_int_equal(take(slab, blocks, 10), 1);
    assert_ptr_equal(blocks[0], slab_block(slab, 1));
    assert_false(slab_is_exhausted(slab)); // there is more to carve
    put_all_and_end(slab);
}

static void a_slab_is_wholly_free_when_every_carved_block_is_back(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i += 7) {
        struct slab *slab = slab_make(i, &holder);
        assert_true(slab_is_wholly_free(slab));
        unsigned half = (size_classes[i].blocks + 1u) / 2;
        assert_int_equal(carve(slab, blocks, half), half);
        for (uint32_t index = half; index > 0; index--) {
            assert_false(slab_is_wholly_free(slab));
            put_bit(slab, index - 1);
        }
        assert_true(slab_is_wholly_free(slab));
        slab_give_back(slab);
    }
}

static void a_slab_without_blocks_becomes_full_for_everybody(void **state) {
    (void)state;
    struct slab *slab = make_full(class_of(1000), &holder, blocks);
    assert_int_equal(slab_free_blocks(slab), 0);
    slab->state = slab_word_with(slab->state, SLAB_LEASED);
    put_all_and_end(slab);
}

static void a_block_that_comes_back_just_then_keeps_the_lease(void **state) {
    (void)state;
    struct slab *slab = slab_make(class_of(1000), &holder);
    carve_all(slab, blocks);
    put_bit(slab, 5); // by a thread that still saw LEASED
    assert_false(slab_leased_to_full(slab));
    assert_int_equal(state_of(slab), SLAB_LEASED);
    assert_int_equal(take(slab, blocks, 9), 1);
    put_all_and_end(slab);
}

static void an_ended_slab_leaves_nothing_behind_but_its_generation(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct slab_totals before = slab_count(i);
        size_t in_use = runs_count().in_use_slices;
        struct slab *slab = slab_make(i, &holder);
        size_t first = slab->first_slice;
        uint64_t word = slab->state;
        assert_int_equal(runs_count().in_use_slices, in_use + size_classes[i].slices);
        slab_give_back(slab);
        assert_int_equal(state_of(slab), SLAB_NONE);
        assert_int_equal(slab_generation_of(slab->state), slab_generation_of(word) + 1);
        assert_int_equal(runs_count().in_use_slices, in_use);
        for (size_t slice = first; slice < first + size_classes[i].slices; slice++) {
            assert_null(slab_of_slice(slice));
            assert_true(is_zero(&window.views[slice * TAG_COUNT], TAG_COUNT));
        }
        assert_int_equal(slab_count(i).made, before.made + 1);
        assert_int_equal(slab_count(i).returned, before.returned + 1);
    }
}

// S7: a late reader of a descriptor finds one, of a slab with as long a bitmap, and another generation.
static void descriptors_are_reused_for_slabs_with_equal_bitmaps(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct slab *slab = slab_make(i, &holder);
        uint64_t generation = slab_generation_of(slab->state);
        carve_all(slab, blocks);
        put_all_and_end(slab);
        struct slab *again = slab_make(i, &other);
        assert_ptr_equal(again, slab);
        assert_true(slab_generation_of(again->state) > generation);
        assert_true(slab_is_wholly_free(again) && again->carved == 0);
        assert_ptr_equal(again->holder, &other);
        slab_give_back(again);
    }
}

static void give_back_with_a_block_out(void *context) {
    (void)context;
    struct slab *slab = slab_make(class_of(100), &holder);
    carve(slab, blocks, 2);
    put_bit(slab, 0);
    slab_give_back(slab);
}

static void take_without_lease(void *context) {
    (void)context;
    take(make_full(class_of(100), &holder, blocks), blocks, 1);
}

static void checked_builds_stop_at_a_broken_rule(void **state) {
    (void)state;
    child_must_trap_when_checked(give_back_with_a_block_out, NULL);
    child_must_trap_when_checked(take_without_lease, NULL);
}

static void make_until_there_is_no_memory(void *context) {
    struct rlimit limit = {256 * MIB, 256 * MIB};
    unsigned count = 0;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    start_slabs(context);
    errno = UNTOUCHED;
    struct slab *last = NULL, *slab;
    for (; (slab = slab_make(CLASS_COUNT - 1, &holder)) != NULL; last = slab)
        count++;
    MUST(errno == UNTOUCHED && count > 50);
    slab_give_back(last); // and then there is room for one
    MUST(slab_make(CLASS_COUNT - 1, &holder) != NULL);
    MUST(slab_make(CLASS_COUNT - 1, &holder) == NULL);
}

static void without_memory_there_is_no_slab(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    child_must_succeed(make_until_there_is_no_memory, NULL);
}

int main(void) {
    const struct CMUnitTest before_start[] = {
        cmocka_unit_test(without_memory_there_is_no_slab),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_slab_is_leased_and_its_slices_are_known_as_its),
        cmocka_unit_test(a_new_holders_threads_see_its_held_slabs_and_others_no_more),
        cmocka_unit_test(slabs_whose_blocks_share_lines_of_their_pages_begin_at_different_ones),
        cmocka_unit_test(carving_hands_out_each_block_once_in_order),
        TEST_BOTH(taking_clears_what_was_put_back),
        TEST_BOTH(blocks_never_handed_out_are_not_taken),
        cmocka_unit_test(a_slab_is_wholly_free_when_every_carved_block_is_back),
        TEST_BOTH(a_slab_without_blocks_becomes_full_for_everybody),
        cmocka_unit_test_setup(a_block_that_comes_back_just_then_keeps_the_lease, with_threads),
        cmocka_unit_test(an_ended_slab_leaves_nothing_behind_but_its_generation),
        cmocka_unit_test(descriptors_are_reused_for_slabs_with_equal_bitmaps),
        cmocka_unit_test(checked_builds_stop_at_a_broken_rule),
    };
    int failed = cmocka_run_group_tests_name("slab without memory", before_start, NULL, NULL);
    return failed + cmocka_run_group_tests_name("slab", tests, start, NULL);
}
