// The tournaments in a process: one begins when there is what it is about, puts arms in force, settles, and ends with a
// champion; then the next has its turn.
#include "unit/unit.h"

#include "learn/tournament.h"

enum { BIG_CALLS = 1, FAULTS = 2, GROWTH = 4, EVERYTHING = BIG_CALLS | FAULTS | GROWTH };
static struct observation seen;
static struct snapshot decided;

static int start(void **state) {
    (void)state;
    os_start();
    size_class_start();
    tournament_start();
    memset(&seen, 0, sizeof seen);
    seen.now_ns = SECOND_NS;
    seen.page = COST_PAGE_DEFAULT;
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
    tournament_start();
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

// ---- a contest after the other

static size_t value_of(enum decision decision) {
    return *snapshot_field(&decided, decision);
}

// A window in which so much happened of what contests are about, and that cost what the values in force say.
static bool window_of(unsigned activities, double (*cost)(void)) {
    seen.now_ns += TOURNAMENT_WINDOW_NS;
    seen.big_calls += activities & BIG_CALLS ? 100 : 1;
    seen.faults += activities & FAULTS ? 1000 : 10;
    seen.grown_blocks += activities & GROWTH ? 100 : 1;
    seen.big_ns += (uint64_t)(cost() * 100000);
    return tournament_step(&seen, &decided);
}

static double all_cost_the_same(void) {
    return 1000;
}

static double others_than_the_defaults_are_better(void) {
    return 1000 + (decided.big_threshold == 4 * MIB ? 0 : 500) + (decided.fifo_least == 16 * GIB ? 0 : 500) +
           (decided.prefault == 1 ? 0 : 500) + (decided.huge_pages == 2 ? 0 : 500) +
           (decided.headroom_share == 1 ? 0 : 500);
}

static const struct {
    enum decision decision;
    unsigned arms;
    unsigned activity;
    size_t best; // of others_than_the_defaults_are_better
} contested[] = {
    {DECISION_big_threshold, 12, BIG_CALLS, 4 * MIB},
    {DECISION_fifo_least, 3, BIG_CALLS, 16 * GIB},
    {DECISION_prefault, 2, BIG_CALLS, 1},
    {DECISION_huge_pages, 3, FAULTS, 2},
    {DECISION_headroom_share, 4, GROWTH, 1},
};

static bool is_contested(enum decision decision) {
    for (unsigned i = 0; i < COUNT_OF(contested); i++)
        if (contested[i].decision == decision)
            return true;
    return false;
}

static void nothing_is_decided_where_little_happens(void **state) {
    (void)state;
    for (unsigned i = 0; i < 500; i++)
        assert_false(window_of(0, others_than_the_defaults_are_better));
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        assert_false(tournament_has_decided((enum decision)i));
        assert_int_equal(value_of((enum decision)i), decision_rows[i].initial);
    }
    assert_int_equal(tournament_end(&decided), 0);
}

// What there is nothing of is passed over.
static void a_contest_is_played_while_there_is_what_it_is_about(void **state) {
    for (unsigned activity = BIG_CALLS; activity <= GROWTH; activity *= 2) {
        start(state);
        for (unsigned i = 0; i < 1000; i++)
            window_of(activity, all_cost_the_same);
        for (unsigned i = 0; i < COUNT_OF(contested); i++)
            assert_int_equal(tournament_has_decided(contested[i].decision), contested[i].activity == activity);
    }
}

static void every_arm_of_every_contest_comes_into_force(void **state) {
    size_t arms[COUNT_OF(contested)][64];
    unsigned count[COUNT_OF(contested)] = {0};
    (void)state;
    for (unsigned window = 0; window < 2000; window++) {
        window_of(EVERYTHING, all_cost_the_same);
        for (unsigned i = 0; i < COUNT_OF(contested); i++) {
            size_t value = value_of(contested[i].decision);
            unsigned place = 0;
            while (place < count[i] && arms[i][place] != value)
                place++;
            arms[i][place] = value;
            count[i] += place == count[i];
            const struct decision_row *row = &decision_rows[contested[i].decision];
            assert_in_range(value, row->least, row->most);
        }
    }
    for (unsigned i = 0; i < COUNT_OF(contested); i++)
        assert_int_equal(count[i], contested[i].arms);
}

static void one_is_played_at_a_time_and_no_other_decision_touched(void **state) {
    (void)state;
    for (unsigned window = 0; window < 2000; window++) {
        struct snapshot before = decided;
        unsigned changed = 0;
        window_of(EVERYTHING, all_cost_the_same);
        for (unsigned i = 0; i < DECISION_COUNT; i++) {
            bool differs = value_of((enum decision)i) != *snapshot_field(&before, (enum decision)i);
            assert_false(differs && !is_contested((enum decision)i));
            changed += differs;
        }
        assert_true(changed <= 1);
    }
}

static void champions_take_their_places(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3000; i++)
        window_of(EVERYTHING, others_than_the_defaults_are_better);
    assert_true(tournament_end(&decided) > 0);
    for (unsigned i = 0; i < COUNT_OF(contested); i++)
        assert_int_equal(value_of(contested[i].decision), contested[i].best);
}

static void when_all_are_settled_no_look_is_wanted_soon(void **state) {
    bool soon = true;
    (void)state;
    for (unsigned i = 0; i < 3000; i++)
        soon = window_of(EVERYTHING, others_than_the_defaults_are_better);
    assert_false(soon);
    unsigned games = tournament_end(&decided);
    for (unsigned i = 0; i < 100; i++)
        assert_false(window_of(EVERYTHING, all_cost_the_same));
    assert_int_equal(tournament_end(&decided), games);
}

// While nothing happened the champion was in force: the window behind that says nothing of the arm whose turn it is.
static void a_pair_of_windows_that_lie_apart_is_no_game(void **state) {
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        window_of(i % 3 < 2 ? BIG_CALLS : 0, all_cost_the_same);
    assert_true(tournament_has_decided(DECISION_big_threshold));
    assert_int_equal(tournament_end(&decided), 0);
    for (unsigned i = 0; i < 400; i++)
        window_of(i % 4 < 3 ? BIG_CALLS : 0, all_cost_the_same); // the first puts an arm in force
    assert_in_range(tournament_end(&decided), 99, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_played_without_big_blocks, start),
        cmocka_unit_test_setup(all_twelve_arms_come_into_force, start),
        cmocka_unit_test_setup(it_settles_on_the_cheapest, start),
        cmocka_unit_test_setup(the_default_returns_where_nothing_is_better, start),
        cmocka_unit_test_setup(anew_all_play_again, start),
        cmocka_unit_test_setup(ratings_are_those_of_the_arms_while_it_is_played, start),
        cmocka_unit_test_setup(nothing_is_decided_where_little_happens, start),
        cmocka_unit_test_setup(a_contest_is_played_while_there_is_what_it_is_about, start),
        cmocka_unit_test_setup(every_arm_of_every_contest_comes_into_force, start),
        cmocka_unit_test_setup(one_is_played_at_a_time_and_no_other_decision_touched, start),
        cmocka_unit_test_setup(champions_take_their_places, start),
        cmocka_unit_test_setup(when_all_are_settled_no_look_is_wanted_soon, start),
        cmocka_unit_test_setup(a_pair_of_windows_that_lie_apart_is_no_game, start),
    };
    return cmocka_run_group_tests_name("tournament", tests, NULL, NULL);
}
