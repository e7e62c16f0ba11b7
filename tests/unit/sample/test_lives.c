// Lifetimes of blocks: which are followed and for how long, what is counted of them, and that windows have one owner.
#include "unit/unit.h"

#include "sample/lives.h"

enum { BYTES = 100, OWNERS = 4 };
static char memory[4096 * BLOCK_ALIGN];
static const int owner, other;

static void *block(size_t number) {
    return &memory[number * BLOCK_ALIGN];
}

static int start(void **state) {
    (void)state;
    size_class_start();
    return 0;
}

static int begin(void **state) {
    (void)state;
    memset(lives_followed, 0, sizeof lives_followed);
    memset(lives_kept, 0, sizeof lives_kept);
    memset(lives_by_kind, 0, sizeof lives_by_kind);
    lives_begin(&owner);
    return 0;
}

static void request(void *at, unsigned calls_left) {
    lives_note_request(&owner, at, BYTES, calls_left);
}

static void expect_counts(uint32_t followed, uint32_t kept) {
    assert_int_equal(lives_followed[sizes_entry(BYTES)], followed);
    assert_int_equal(lives_kept[sizes_entry(BYTES)], kept);
    assert_int_equal(lives_by_kind[sizes_kind(BYTES)][LIVES_SPAN_KEPT], kept);
}

// ---- one block

static void calls_between_request_and_free_are_counted_by_doublings(void **state) {
    static const struct {
        unsigned calls, span;
    } cases[] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {127, 7}, {128, 8}, {255, 8}, {256, 9}, {300, 9}};
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        begin(state);
        request(block(1), 400);
        lives_note_free(&owner, block(1), 400 - cases[i].calls);
        expect_counts(0, 0); // until the end nothing is
        lives_end(&owner, 0);
        assert_int_equal(lives_followed[sizes_entry(BYTES)], 1);
        for (unsigned span = 0; span < LIVES_SPANS; span++)
            assert_int_equal(lives_by_kind[sizes_kind(BYTES)][span], span == cases[i].span);
        assert_int_equal(lives_kept[sizes_entry(BYTES)], cases[i].span == LIVES_SPAN_KEPT);
    }
}

static void what_is_never_freed_is_kept(void **state) {
    (void)state;
    request(block(1), LIVES_CALLS);
    lives_end(&owner, 0);
    expect_counts(1, 1);
}

static void what_has_too_few_calls_to_be_freed_in_is_left_out(void **state) {
    (void)state;
    request(block(1), LIVES_CALLS - 1);
    request(block(2), LIVES_CALLS - 1);
    lives_note_free(&owner, block(2), LIVES_CALLS - 1);
    lives_end(&owner, 0);
    expect_counts(0, 0);
}

static void where_a_window_ends_early_so_is_what_began_late(void **state) {
    (void)state;
    request(block(1), 500);
    request(block(2), 490);
    lives_note_free(&owner, block(2), 480);
    request(block(3), 489);
    lives_note_free(&owner, block(3), 480);
    request(block(4), 489);
    lives_end(&owner, 490 - LIVES_CALLS);
    expect_counts(2, 1);
}

// ---- addresses

static void a_free_of_another_block_says_nothing(void **state) {
    (void)state;
    request(block(1), 500);
    for (unsigned i = 2; i < 1000; i++)
        lives_note_free(&owner, block(i), 400);
    lives_note_free(&owner, block(0), 400);
    lives_end(&owner, 0);
    expect_counts(1, 1);
}

static void an_address_may_have_many_lives(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        request(block(1), 511 - 2 * i);
        lives_note_free(&owner, block(1), 511 - 2 * i);
    }
    request(block(1), 300);
    lives_end(&owner, 0);
    expect_counts(101, 1);
    assert_int_equal(lives_by_kind[sizes_kind(BYTES)][0], 100);
}

static void what_another_thread_freed_was_freed_before_its_address_came_again(void **state) {
    (void)state;
    request(block(1), 500);
    request(block(1), 490); // nine calls later
    request(block(2), 489);
    request(block(2), 100); // too late to be followed, and for the first
    request(block(3), 488);
    request(block(3), 240); // not too late for this one
    lives_note_free(&owner, block(3), 240);
    lives_end(&owner, 0);
    expect_counts(4, 2);
    assert_int_equal(lives_by_kind[sizes_kind(BYTES)][4], 1);
    assert_int_equal(lives_by_kind[sizes_kind(BYTES)][8], 1);
}

static void of_more_requests_than_there_is_room_for_the_first_are_followed(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2 * LIVES_MOST; i++) {
        request(block(i), 10000);
        if (i >= LIVES_MOST)
            lives_note_free(&owner, block(i), 10000);
    }
    lives_end(&owner, 0);
    expect_counts(LIVES_MOST, LIVES_MOST);
}

// ---- all of it

// A slow model: each call of a window, and what became of each block.
struct step {
    unsigned block; // asked for or freed
    bool asks;
    bool unseen; // the free, by another thread
    size_t bytes;
};
static uint32_t followed[CLASS_MAP_COUNT], kept[CLASS_MAP_COUNT];

// What a window of so many of the steps is to have counted.
static void model_count(const struct step *steps, unsigned count) {
    for (unsigned i = 0; i < count && i < LIVES_MOST; i++) {
        if (!steps[i].asks || count - 1 - i < LIVES_CALLS)
            continue;
        bool is_freed = false, ends = false;
        for (unsigned k = i + 1; k < count && !ends; k++) {
            if (steps[k].block != steps[i].block)
                continue;
            ends = steps[k].asks || !steps[k].unseen; // U2
            is_freed = ends && k - i - 1 < LIVES_CALLS;
        }
        followed[sizes_entry(steps[i].bytes)]++;
        kept[sizes_entry(steps[i].bytes)] += !is_freed;
    }
}

static void counts_are_those_of_a_slow_model(void **state) {
    static struct step steps[SAMPLE_CALLS];
    struct random random = random_start();
    unsigned all = 0, lived_on = 0;
    (void)state;
    lives_end(&owner, 0);
    for (unsigned round = 0; round < 2000; round++) {
        bool out[COUNT_OF(memory) / BLOCK_ALIGN] = {false};
        unsigned blocks = 1 + (unsigned)random_below(&random, 300);
        unsigned ends = random_below(&random, 4) > 0 ? SAMPLE_CALLS : (unsigned)random_below(&random, SAMPLE_CALLS);
        lives_begin(&owner);
        for (unsigned i = 0; i < ends; i++) {
            unsigned number = (unsigned)random_below(&random, blocks), left = SAMPLE_CALLS - 1 - i;
            steps[i] = (struct step){number, !out[number], random_below(&random, 8) == 0,
                                     random_below(&random, CLASS_LARGE_MAX + 1)};
            out[number] = !out[number];
            if (steps[i].asks)
                lives_note_request(&owner, block(number), steps[i].bytes, left);
            else if (!steps[i].unseen)
                lives_note_free(&owner, block(number), left + 1);
        }
        lives_end(&owner, SAMPLE_CALLS - ends);
        model_count(steps, ends);
    }
    for (unsigned i = 0; i < CLASS_MAP_COUNT; i++) {
        assert_int_equal(lives_followed[i], followed[i]);
        assert_int_equal(lives_kept[i], kept[i]);
        all += followed[i];
        lived_on += kept[i];
    }
    assert_in_range(lived_on, all / 10, all - all / 10); // else it does not try what it should
}

// ---- owners

static void a_window_has_one_owner(void **state) {
    (void)state;
    lives_begin(&other);
    assert_true(lives_are_of(&owner) && !lives_are_of(&other));
    lives_note_request(&other, block(1), BYTES, 500);
    request(block(2), 500);
    lives_note_free(&other, block(2), 499);
    lives_end(&other, 0);
    lives_drop(&other);
    lives_end(&owner, 0);
    expect_counts(1, 1);
    lives_begin(&other);
    assert_true(lives_are_of(&other));
    request(block(3), 500);
    lives_end(&other, 0);
    expect_counts(1, 1);
}

static void of_a_window_that_is_dropped_nothing_is_counted(void **state) {
    (void)state;
    request(block(1), 500);
    lives_drop(&owner);
    assert_false(lives_are_of(&owner));
    lives_begin(&other);
    lives_end(&other, 0);
    expect_counts(0, 0);
}

static struct meeting meeting;
static uint32_t owned, at_work;

// Each follows blocks at the same addresses.
static void *own_in_turn(void *number) {
    static const char owners[OWNERS];
    const void *mine = &owners[(uintptr_t)number];
    meet(&meeting, OWNERS);
    for (unsigned i = 0; i < (SANITIZED ? 2000 : 20000); i++) {
        lives_begin(mine);
        shared_add(&owned, lives_are_of(mine) ? 1u : 0u);
        for (unsigned k = 0; k < 10; k++)
            lives_note_request(mine, block(k), BYTES, 500 - k);
        for (unsigned k = 0; k < 5; k++)
            lives_note_free(mine, block(k), 400);
        lives_end(mine, 0);
    }
    shared_add(&at_work, -1u);
    return NULL;
}

static void threads_own_windows_in_turn(void **state) {
    (void)state;
    lives_drop(&owner);
    store_relaxed(&owned, 0u);
    threads_run(OWNERS, own_in_turn);
    assert_true(owned > 0);
    expect_counts(10 * owned, 5 * owned);
}

static void *own_or_fade(void *number) {
    if ((uintptr_t)number < OWNERS)
        return own_in_turn(number);
    while (load_relaxed(&at_work) > 0) {
        lives_fade();
        MUST(load_relaxed(&lives_followed[sizes_entry(BYTES)]) <= 10 * OWNERS * 20000); // nor less than nothing
        MUST(lives_short_permille() <= 1000);
    }
    return NULL;
}

static void fading_meanwhile_takes_no_more_than_there_is(void **state) {
    (void)state;
    lives_drop(&owner);
    store_relaxed(&at_work, (uint32_t)OWNERS);
    threads_run(OWNERS + 1, own_or_fade);
}

// ---- what is made of it

static void fading_takes_half(void **state) {
    (void)state;
    lives_followed[7] = 11;
    lives_kept[7] = 5;
    lives_followed[CLASS_MAP_COUNT - 1] = 1;
    lives_fade();
    assert_int_equal(lives_followed[7], 5);
    assert_int_equal(lives_kept[7], 2);
    assert_int_equal(lives_followed[CLASS_MAP_COUNT - 1], 0);
    lives_drop(&owner);
}

static void the_short_lived_share_is_one_of_bytes(void **state) {
    (void)state;
    assert_int_equal(lives_short_permille(), 0); // of nothing
    lives_followed[sizes_entry(64)] = 1000;
    assert_int_equal(lives_short_permille(), 1000);
    lives_followed[sizes_entry(64000)] = lives_kept[sizes_entry(64000)] = 1;
    assert_int_equal(lives_short_permille(), 64000 * 1000 / (64000 + size_class_step(64000)));
    lives_kept[sizes_entry(64)] = 1001; // counted a moment later than the others
    assert_int_equal(lives_short_permille(), 0);
    lives_drop(&owner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(calls_between_request_and_free_are_counted_by_doublings, begin),
        cmocka_unit_test_setup(what_is_never_freed_is_kept, begin),
        cmocka_unit_test_setup(what_has_too_few_calls_to_be_freed_in_is_left_out, begin),
        cmocka_unit_test_setup(where_a_window_ends_early_so_is_what_began_late, begin),
        cmocka_unit_test_setup(a_free_of_another_block_says_nothing, begin),
        cmocka_unit_test_setup(an_address_may_have_many_lives, begin),
        cmocka_unit_test_setup(what_another_thread_freed_was_freed_before_its_address_came_again, begin),
        cmocka_unit_test_setup(of_more_requests_than_there_is_room_for_the_first_are_followed, begin),
        cmocka_unit_test_setup(counts_are_those_of_a_slow_model, begin),
        cmocka_unit_test_setup(a_window_has_one_owner, begin),
        cmocka_unit_test_setup(of_a_window_that_is_dropped_nothing_is_counted, begin),
        cmocka_unit_test_setup(threads_own_windows_in_turn, begin),
        cmocka_unit_test_setup(fading_meanwhile_takes_no_more_than_there_is, begin),
        cmocka_unit_test_setup(fading_takes_half, begin),
        cmocka_unit_test_setup(the_short_lived_share_is_one_of_bytes, begin),
    };
    return cmocka_run_group_tests_name("lives", tests, start, NULL);
}
