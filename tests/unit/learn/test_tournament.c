// The tournament in a process: it begins when there is big traffic, puts arms in force, settles, and ends with a
// champion.
#include "unit/unit.h"

#include "learn/tournament.h"

static struct observation seen;
static struct snapshot decided;

static int start(void **state) {
    (void)state;
    os_start();
    size_class_start();
    tournament_reset();
    memset(&seen, 0, sizeof seen);
    seen.now_ns = SECOND_NS;
    snapshot_default(&decided);
    return 0;
}

// A window in which calls for big blocks took so long by the threshold in force.
static bool window_costing(double (*cost)(size_t threshold), unsigned calls) {
    seen.now_ns += TOURNAMENT_WINDOW_NS;
    seen.big_calls += calls;
    seen.big_ns += (uint64_t)(cost(decided.big_threshold) * 1000);
    return tournament_step(&seen, &decided);
}

static double small_is_dear(size_t threshold) {
    return threshold < 2 * MIB ? 5000 : 1000;
}

static double two_mib_is_best(size_t threshold) {
    return threshold == 2 * MIB ? 1000 : threshold < 2 * MIB ? 4000 : 3000;
}

static void nothing_is_played_without_big_blocks(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        assert_false(window_costing(small_is_dear, 1));
    assert_int_equal(decided.big_threshold, BIG_THRESHOLD_BYTES);
    assert_int_equal(tournament_end(&decided), 0);
}

static void all_twelve_arms_come_into_force(void **state) {
    size_t arms[100] = {0};
    unsigned count = 0;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        window_costing(two_mib_is_best, 100);
        unsigned place = 0;
        while (place < count && arms[place] != decided.big_threshold)
            place++;
        arms[place] = decided.big_threshold;
        count += place == count;
    }
    assert_int_equal(count, 12);
    assert_true(tournament_end(&decided) >= 50);
}

static void it_settles_on_the_cheapest(void **state) {
    unsigned windows = 0;
    (void)state;
    window_costing(two_mib_is_best, 100);
    while ((window_costing(two_mib_is_best, 100) || windows < 10) && windows < 1000)
        windows++;
    assert_in_range(windows, 80, 900);
    assert_int_equal(decided.big_threshold, 2 * MIB);
    tournament_end(&decided);
    assert_int_equal(decided.big_threshold, 2 * MIB);
}

static void the_default_returns_where_nothing_is_better(void **state) {
    (void)state;
    for (unsigned i = 0; i < 400; i++)
        window_costing(small_is_dear, 100);
    assert_true(tournament_end(&decided) > 0);
    assert_int_equal(decided.big_threshold, BIG_THRESHOLD_BYTES);
}

static void anew_all_play_again(void **state) {
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        window_costing(two_mib_is_best, 100);
    tournament_reset();
    decided.big_threshold = BIG_THRESHOLD_BYTES;
    assert_int_equal(tournament_end(&decided), 0);
    window_costing(small_is_dear, 100);
    window_costing(small_is_dear, 100);
    assert_int_equal(tournament_end(&decided), 0); // no game is over yet
}

static void ratings_are_those_of_the_arms_while_it_is_played(void **state) {
    uint16_t ratings[TOURNAMENT_ARMS];
    unsigned best = 0, sum = 0;
    (void)state;
    tournament_list_ratings(ratings);
    for (unsigned i = 0; i < TOURNAMENT_ARMS; i++)
        assert_int_equal(ratings[i], 0);
    for (unsigned i = 0; i < 300; i++)
        window_costing(two_mib_is_best, 100);
    tournament_list_ratings(ratings);
    for (unsigned i = 0; i < TOURNAMENT_ARMS; i++) {
        best = ratings[i] > ratings[best] ? i : best;
        sum += ratings[i];
    }
    assert_int_equal(tournament_threshold(best), 2 * MIB);
    assert_in_range(sum, 1500 * TOURNAMENT_ARMS - TOURNAMENT_ARMS, 1500 * TOURNAMENT_ARMS + TOURNAMENT_ARMS); // cut off
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_played_without_big_blocks, start),
        cmocka_unit_test_setup(all_twelve_arms_come_into_force, start),
        cmocka_unit_test_setup(it_settles_on_the_cheapest, start),
        cmocka_unit_test_setup(the_default_returns_where_nothing_is_better, start),
        cmocka_unit_test_setup(anew_all_play_again, start),
        cmocka_unit_test_setup(ratings_are_those_of_the_arms_while_it_is_played, start),
    };
    return cmocka_run_group_tests_name("tournament", tests, NULL, NULL);
}
