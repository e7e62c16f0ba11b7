// Which blocks of a window are short-lived: of a real heap's calls, with threads that free each other's, end and fork;
// and that what is kept tells of the blocks in use what requests do not.
#include "unit/unit.h"

#include "policy/classes.h"
#include "unit/heap/stamped.h"

static int start_lives(void **state) {
    memset(lives_followed, 0, sizeof lives_followed);
    memset(lives_kept, 0, sizeof lives_kept);
    return start_each(state);
}

static int end_lives(void **state) {
    return end_each(state) != 0 || lives_owner != NULL;
}

static void expect_counts(size_t bytes, uint32_t followed, uint32_t kept) {
    assert_int_equal(lives_followed[sizes_entry(bytes)], followed);
    assert_int_equal(lives_kept[sizes_entry(bytes)], kept);
}

// ---- one window

static void what_is_freed_in_the_window_is_short_lived(void **state) {
    (void)state;
    release(ask(3000)); // no window, no count
    open_window(SAMPLE_CALLS);
    for (unsigned i = 0; i < 10; i++)
        release(ask(1000));
    for (unsigned i = 0; i < 20; i++)
        held[i] = ask(2000);
    expect_counts(1000, 0, 0);
    for (unsigned i = 0; is_sampling(); i++)
        release(ask(3000));
    expect_counts(1000, 10, 0);
    expect_counts(2000, 20, 20);
    expect_counts(3000, (LIVES_MOST - 40) / 2, 0);
    for (unsigned i = 0; i < 20; i++)
        release(held[i]);
    memset(held, 0, sizeof held);
    expect_counts(2000, 20, 20);
}

static void a_trim_leaves_out_what_was_followed_too_briefly(void **state) {
    (void)state;
    open_window(SAMPLE_CALLS);
    for (unsigned i = 0; i < LIVES_CALLS / 2 + 5; i++)
        release(ask(1000));
    heap_trim(0);
    expect_counts(1000, 5, 0);
    assert_null(lives_owner);
}

static void blocks_of_all_classes_are_followed(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        open_window(LIVES_CALLS + 4);
        void *block = ask(class_bytes(i));
        release(ask(class_bytes(i)));
        while (is_sampling())
            release(ask(16));
        release(block);
        if (i > CLASS_FIRST)
            expect_counts(class_bytes(i), 2, 1);
    }
}

// ---- threads

static void *passed;

static void *free_passed(void *unused) {
    (void)unused;
    release(passed);
    heap_empty(heap_mine());
    return NULL;
}

static void what_another_thread_frees_is_kept_until_its_address_comes_again(void **state) {
    (void)state;
    open_window(SAMPLE_CALLS);
    passed = ask(100000);
    threads_run(1, free_passed);
    while (is_sampling())
        release(ask(16));
    expect_counts(100000, 1, 1);
    open_window(SAMPLE_CALLS);
    void *before = passed = ask(100000);
    threads_run(1, free_passed);
    unsigned more = 0;
    while ((held[more++] = ask(100000)) != before)
        assert_true(more < 100);
    while (is_sampling())
        release(ask(16));
    expect_counts(100000, 2 + more, 1 + more);
    release_many(held, more);
    memset(held, 0, sizeof held);
}

static void *own_one_and_end(void *unused) {
    (void)unused;
    open_window(10 * SAMPLE_CALLS);
    MUST(lives_are_of(heap_mine()));
    for (unsigned i = 0; i < LIVES_CALLS + 10; i++)
        held[i] = ask(500);
    return NULL;
}

static void a_thread_that_ends_leaves_its_window_to_others(void **state) {
    (void)state;
    for (unsigned i = 1; i <= 3; i++) {
        threads_run(1, own_one_and_end);
        assert_null(lives_owner);
        expect_counts(500, 10 * i, 10 * i);
        release_many(held, LIVES_CALLS + 10);
        memset(held, 0, sizeof held);
    }
}

static void *wait_as_owner(void *unused) {
    (void)unused;
    open_window(SAMPLE_CALLS);
    MUST(lives_are_of(heap_mine()));
    void *block = ask(500);
    come_to(1);
    wait_for_stage(2);
    release(block);
    MUST(lives_are_of(heap_mine()));
    end_window();
    return NULL;
}

static void begin_anew(void *unused) {
    (void)unused;
    MUST(lives_owner == NULL); // its thread did not come along
    open_window(SAMPLE_CALLS);
    MUST(lives_are_of(heap_mine()));
    while (is_sampling())
        release(ask(700));
    MUST(lives_followed[sizes_entry(700)] == LIVES_MOST / 2 && lives_kept[sizes_entry(700)] == 0);
}

static void a_window_without_the_table_is_one_all_the_same(void **state) {
    pthread_t thread;
    (void)state;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, wait_as_owner, NULL), 0);
    wait_for_stage(1);
    open_window(SAMPLE_CALLS);
    assert_true(is_sampling() && !lives_are_of(heap_mine()));
    while (is_sampling())
        release(ask(700));
    assert_int_equal(sizes_seen[sizes_entry(700)], SAMPLE_CALLS / 2);
    expect_counts(700, 0, 0);
    child_must_succeed(begin_anew, NULL);
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void go_on_as_owner(void *unused) {
    (void)unused;
    MUST(lives_are_of(heap_mine()));
    while (is_sampling())
        release(ask(700));
    MUST(lives_followed[sizes_entry(700)] == LIVES_MOST / 2 && lives_owner == NULL);
}

static void a_fork_doubles_the_owners_window(void **state) {
    (void)state;
    open_window(SAMPLE_CALLS);
    child_must_succeed(go_on_as_owner, NULL);
    go_on_as_owner(NULL);
}

// ---- what it is for

// Sizes that one class serves. Many more blocks of the first are asked for than of all others; it is freed soon, they
// are not.
enum { SIZES = 6, PART = 10, SHORT = 40, CALLS = 200000, WEIGHT = 31 };
static const size_t sizes_of_one[SIZES] = {1040, 1056, 1072, 1088, 1104, 1120};
static const unsigned weights[SIZES] = {0, 1, 2, 4, 8, 16};
static void *in_use[CALLS];
static uint64_t asked[SIZES], lasting;

static unsigned random_lasting(struct random *random) {
    unsigned which = 0;
    for (size_t pick = random_below(random, WEIGHT); pick >= weights[which]; which++)
        pick -= weights[which];
    return which;
}

static void run_program(void) {
    struct random random = random_start();
    memset(asked, 0, sizeof asked);
    lasting = 0;
    for (unsigned step = 0; step < CALLS; step++) {
        unsigned which = random_below(&random, PART) == 0 ? random_lasting(&random) : 0;
        void **slot = which == 0 ? &held[asked[0] % SHORT] : &in_use[lasting++];
        if (!is_sampling() && random_below(&random, SAMPLE_CALLS) == 0)
            open_window(SAMPLE_CALLS);
        if (*slot != NULL)
            release(*slot);
        *slot = ask(sizes_of_one[which]);
        asked[which]++;
    }
    end_window();
    release_many(in_use, lasting);
    memset(in_use, 0, sizeof in_use);
    for (unsigned i = 0; i < SHORT; i++) {
        if (held[i] != NULL)
            release(held[i]);
        held[i] = NULL;
    }
}

// Pearson's: with SIZES - 2 = 4 degrees of freedom it exceeds 36 once in three million times.
static void expect_the_mix_of_what_lasts(void) {
    double all = 0, sum = 0;
    for (unsigned i = 1; i < SIZES; i++)
        all += lives_kept[sizes_entry(sizes_of_one[i])];
    for (unsigned i = 1; i < SIZES; i++) {
        double expected = all * weights[i] / WEIGHT, seen = lives_kept[sizes_entry(sizes_of_one[i])];
        sum += (seen - expected) * (seen - expected) / expected;
    }
    assert_true(all > 1000);
    assert_int_equal(lives_kept[sizes_entry(sizes_of_one[0])], 0); // none is taken for one that lasts
    if (sum > 36)
        fail_msg("chi square %.1f of what was kept", sum);
}

// The size that is chosen by what is known, and what it really would save.
static uint32_t choose_size(const uint32_t *kept, uint64_t *really_saved) {
    static uint32_t bytes[CLASS_MAP_COUNT], class_sizes[CLASS_END];
    static uint64_t blocks[CLASS_END];
    struct size_choice choice;
    struct size_report report = {
        .entries = CLASS_MAP_COUNT,
        .bytes = bytes,
        .seen = sizes_seen,
        .kept = kept,
        .class_of = class_map,
        .class_bytes = class_sizes,
        .class_blocks = blocks,
        .threads = 1,
        .least_seen = DYN_LEAST_SEEN,
        .in_use_bytes = 16 * MIB,
    };
    for (unsigned i = 0; i < CLASS_MAP_COUNT; i++)
        bytes[i] = (uint32_t)size_class_bytes_of_entry(i);
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        class_sizes[i] = (uint32_t)class_bytes(i);
    blocks[class_of(sizes_of_one[0])] = lasting + SHORT;
    assert_true(classes_choose(&report, &choice));
    *really_saved = 0;
    for (unsigned i = 1; i < SIZES && sizes_of_one[i] <= choice.bytes; i++)
        *really_saved += asked[i] * (class_bytes(class_of(sizes_of_one[0])) - choice.bytes);
    return choice.bytes;
}

static void what_is_kept_shows_the_sizes_of_blocks_in_use(void **state) {
    uint64_t by_requests, by_lives;
    (void)state;
    run_program();
    expect_the_mix_of_what_lasts();
    assert_int_equal(choose_size(NULL, &by_requests), 1040); // which nearly none of the blocks in use have
    assert_int_equal(choose_size(lives_kept, &by_lives), 1120);
    assert_true(by_requests == 0 && by_lives == lasting * 32);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start_lives, end_lives)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(what_is_freed_in_the_window_is_short_lived),
        EACH(a_trim_leaves_out_what_was_followed_too_briefly),
        EACH(blocks_of_all_classes_are_followed),
        EACH(what_another_thread_frees_is_kept_until_its_address_comes_again),
        EACH(a_thread_that_ends_leaves_its_window_to_others),
        EACH(a_window_without_the_table_is_one_all_the_same),
        EACH(a_fork_doubles_the_owners_window),
        EACH(what_is_kept_shows_the_sizes_of_blocks_in_use),
    };
    return cmocka_run_group_tests_name("lives of what windows see", tests, start_heap, NULL);
}
