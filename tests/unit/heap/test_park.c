// Parked stacks: earned by swings, given up when idle, and no block is lost or doubled.
#include "unit/unit.h"

#include "unit/heap/heaps.h"

enum { MANY = 8 * STACK_SLOTS };
static void *blocks[MANY];

static struct heap_class *class_mine(unsigned class_index) {
    return &heap_mine()->classes[class_index];
}

// Allocates and frees `count` blocks, again and again.
static void burst(unsigned class_index, unsigned count, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) {
        allocate_many(class_index, blocks, count);
        release_many(blocks, count);
    }
}

static int compare(const void *a, const void *b) {
    const char *one = *(char *const *)a, *other = *(char *const *)b;
    return one < other ? -1 : one > other;
}

static void expect_all_different(unsigned count) {
    qsort(blocks, count, sizeof *blocks, compare);
    for (unsigned i = 1; i < count; i++)
        assert_ptr_not_equal(blocks[i], blocks[i - 1]);
}

static void the_first_burst_goes_back(void **state) {
    unsigned class_index = class_of(112);
    (void)state;
    burst(class_index, MANY, 1);
    assert_null(class_mine(class_index)->parked);
    assert_int_equal(class_mine(class_index)->park_allowance, 0);
    assert_int_equal(blocks_out(class_index), 0);
}

static void a_loop_soon_moves_no_block(void **state) {
    unsigned class_index = class_of(128);
    (void)state;
    burst(class_index, MANY, 20);
    assert_true(class_mine(class_index)->parked_count > 0);
    struct counts before = counts_of(class_index);
    assert_true(before.cached_blocks >= MANY);
    burst(class_index, MANY, 20);
    struct counts after = counts_of(class_index);
    assert_int_equal(after.counters.refills, before.counters.refills);
    assert_int_equal(after.counters.flushes, before.counters.flushes);
    allocate_many(class_index, blocks, MANY);
    expect_all_different(MANY);
    assert_int_equal(blocks_out(class_index), MANY);
    release_many(blocks, MANY);
    assert_int_equal(blocks_out(class_index), 0);
}

// The look around at the full stack obeys the request and empties it.
static void a_stack_that_a_trim_emptied_is_not_parked(void **state) {
    unsigned class_index = class_of(144), released = 0;
    (void)state;
    burst(class_index, MANY, 20);
    allocate_many(class_index, blocks, MANY);
    assert_int_equal(class_mine(class_index)->parked_count, 0);
    assert_true(class_mine(class_index)->park_allowance > 0);
    while (heap_stack_blocks(heap_mine(), class_index) < STACK_MAX_DEPTH)
        release(blocks[released++]);
    shared_add(&heap_trim_turn, 1);
    release(blocks[released++]);
    assert_int_equal(class_mine(class_index)->parked_count, 0);
    assert_int_equal(heap_stack_blocks(heap_mine(), class_index), 1);
    assert_int_equal(blocks_out(class_index), MANY - released);
    release_many(blocks + released, MANY - released);
}

static void what_is_parked_counts_as_granted(void **state) {
    unsigned class_index = class_of(160);
    (void)state;
    struct heap *heap = heap_mine();
    burst(class_index, MANY, 20);
    size_t granted = heap->granted_bytes;
    unsigned parked = class_mine(class_index)->parked_count;
    assert_true(parked > 0);
    while (class_mine(class_index)->parked != NULL)
        heap_flush_parked(heap, class_index);
    assert_int_equal(heap->granted_bytes, granted - parked * PARK_BLOCKS * class_bytes(class_index));
    assert_int_equal(blocks_out(class_index), 0);
}

static void large_blocks_are_not_parked(void **state) {
    unsigned class_index = class_of(20000); // its stack is never as deep as a cell
    (void)state;
    burst(class_index, 200, 20);
    assert_int_equal(class_mine(class_index)->parked_count, 0);
}

// Bursts of `count` blocks while every 16th of as many lives on, so that slabs don't come and go as a whole.
static void burst_beside_others(unsigned class_index, void **more, unsigned count, unsigned rounds) {
    enum { STEP = 16 };
    static void *kept[20000 / STEP];
    unsigned others = 0;
    allocate_many(class_index, more, count);
    for (unsigned i = 0; i < count; i++)
        if (i % STEP == 0)
            kept[others++] = more[i];
        else
            release(more[i]);
    for (unsigned i = 0; i < rounds; i++) {
        allocate_many(class_index, more, count - others);
        release_many(more, count - others);
    }
    release_many(kept, others);
}

static void a_swing_too_large_parks_nothing(void **state) {
    static void *more[20000];
    unsigned fits = class_of(384), does_not = class_of(512);
    (void)state;
    burst_beside_others(fits, more, 5000, 20);
    size_t parked = class_mine(fits)->parked_count * PARK_BLOCKS * class_bytes(fits);
    assert_true(parked > MIB && parked <= STACK_PARK_BYTES);
    burst_beside_others(does_not, more, 20000, 20);
    assert_int_equal(class_mine(does_not)->parked_count, 0);
}

static void small_swings_park_nothing(void **state) {
    unsigned class_index = class_of(176);
    (void)state;
    burst(class_index, 2 * STACK_SLOTS, 200);
    assert_int_equal(class_mine(class_index)->parked_count, 0);
}

static void a_small_share_of_a_class_in_use_is_parked_unearned(void **state) {
    static void *more[40000];
    unsigned class_index = class_of(352), most = 0;
    (void)state;
    allocate_many(class_index, more, COUNT_OF(more));
    size_t in_use = slabs_alive(class_index) * size_classes[class_index].slices * SLICE_BYTES;
    for (unsigned i = 0; i < COUNT_OF(more) / 16; i++) {
        release(more[i]);
        most = class_mine(class_index)->parked_count > most ? class_mine(class_index)->parked_count : most;
    }
    assert_int_equal(most, PARK_LEAST_SWING);
    assert_true(most * PARK_BLOCKS * class_bytes(class_index) <= in_use / PARK_SHARE);
    release_many(more + COUNT_OF(more) / 16, COUNT_OF(more) - COUNT_OF(more) / 16);
    assert_int_equal(class_mine(class_index)->parked_count, 0); // it only freed
}

static void idle_classes_let_go(void **state) {
    unsigned class_index = class_of(192), busy = class_of(208);
    (void)state;
    struct heap *heap = heap_mine();
    burst(class_index, MANY, 20);
    assert_true(class_mine(class_index)->parked_count > 0);
    unsigned allowance = class_mine(class_index)->park_allowance;
    for (unsigned i = 0; i < 10000 * LOOK_AROUND_TURNS && class_mine(class_index)->parked != NULL; i++)
        heap_look_around(heap, busy);
    assert_null(class_mine(class_index)->parked);
    assert_true(class_mine(class_index)->park_allowance < allowance); // and it has to be earned again
    assert_int_equal(blocks_out(class_index), 0);
}

static void emptying_empties_what_is_parked(void **state) {
    unsigned class_index = class_of(224);
    (void)state;
    burst(class_index, MANY, 20);
    assert_true(class_mine(class_index)->parked_count > 0);
    heap_empty(heap_mine());
    assert_null(class_mine(class_index)->parked);
    assert_int_equal(slabs_with_blocks_out(class_index), 0);
}

static void a_shallower_stack_becomes_deep_again(void **state) {
    unsigned class_index = class_of(240);
    (void)state;
    struct heap *heap = heap_mine();
    burst(class_index, MANY, 20);
    unsigned parked = class_mine(class_index)->parked_count;
    assert_true(parked > 0);
    heap_flush(heap, class_index, 0);
    heap_set_depth(heap, class_index, 5);
    void *block = allocate(class_index);
    assert_int_equal(class_mine(class_index)->parked_count, parked - 1);
    assert_int_equal(class_mine(class_index)->depth, STACK_MAX_DEPTH);
    assert_int_equal(heap_stack_blocks(heap, class_index), PARK_BLOCKS - 1);
    assert_null(heap_bottom(heap, class_index)[-1]); // T1
    release(block);
    assert_int_equal(blocks_out(class_index), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_burst_goes_back),
        cmocka_unit_test(a_loop_soon_moves_no_block),
        cmocka_unit_test(a_stack_that_a_trim_emptied_is_not_parked),
        cmocka_unit_test(what_is_parked_counts_as_granted),
        cmocka_unit_test(large_blocks_are_not_parked),
        cmocka_unit_test(a_swing_too_large_parks_nothing),
        cmocka_unit_test(small_swings_park_nothing),
        cmocka_unit_test(a_small_share_of_a_class_in_use_is_parked_unearned),
        cmocka_unit_test(idle_classes_let_go),
        cmocka_unit_test(emptying_empties_what_is_parked),
        cmocka_unit_test(a_shallower_stack_becomes_deep_again),
    };
    return cmocka_run_group_tests_name("park", tests, start_heap, NULL);
}
