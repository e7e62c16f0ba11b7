// The tournaments in a process: one begins when there is what it is about, puts arms in force, settles, and ends with a
// champion; then the next has its turn.
#include "unit/unit.h"

#include "learn/tournament.h"

enum { BIG_BLOCKS = 1, FAULTS = 2, EVERYTHING = BIG_BLOCKS | FAULTS };
#define ENOUGH ((uint64_t)TRYOUT_LEAST_BYTES)
static struct observation seen;
static struct snapshot decided;

static int start(void **state) {
    (void)state;
    os_start();
    size_class_start();
    tournament_start();
    memset(&seen, 0, sizeof seen);
    seen.now_ns = SECOND_NS;
    seen.busy_ns = 1;
    snapshot_default(&decided);
    return 0;
}

// A window in which so much was asked for, and the process took so long by the threshold in force.
static bool window_costing(double (*cost)(size_t threshold), uint64_t bytes) {
    seen.now_ns += TRYOUT_NS;
    seen.big_bytes += bytes;
    seen.busy_ns += (uint64_t)(cost(decided.big_threshold) * 1000);
    return tournament_step(&seen, &decided, TRYOUT_MAY);
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
        assert_false(window_costing(small_is_dear, ENOUGH - 1));
    assert_int_equal(decided.big_threshold, BIG_THRESHOLD_BYTES);
    assert_int_equal(tournament_end(&decided), 0);
}

static void all_twelve_arms_come_into_force(void **state) {
    size_t arms[100] = {0};
    unsigned count = 0;
    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        window_costing(two_mib_is_best, ENOUGH);
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
    window_costing(two_mib_is_best, ENOUGH);
    while ((window_costing(two_mib_is_best, ENOUGH) || windows < 10) && windows < 2000)
        windows++;
    assert_in_range(windows, 160, 1800);
    assert_int_equal(decided.big_threshold, 2 * MIB);
    tournament_end(&decided);
    assert_int_equal(decided.big_threshold, 2 * MIB);
}

static void the_default_returns_where_nothing_is_better(void **state) {
    (void)state;
    for (unsigned i = 0; i < 400; i++)
        window_costing(small_is_dear, ENOUGH);
    assert_true(tournament_end(&decided) > 0);
    assert_int_equal(decided.big_threshold, BIG_THRESHOLD_BYTES);
}

static void anew_all_play_again(void **state) {
    (void)state;
    for (unsigned i = 0; i < 600; i++)
        window_costing(two_mib_is_best, ENOUGH);
    tournament_start();
    decided.big_threshold = BIG_THRESHOLD_BYTES;
    assert_int_equal(tournament_end(&decided), 0);
    window_costing(small_is_dear, ENOUGH);
    window_costing(small_is_dear, ENOUGH);
    assert_int_equal(tournament_end(&decided), 0); // no game is over yet
}

static void ratings_are_those_of_the_arms_while_it_is_played(void **state) {
    uint16_t ratings[TOURNAMENT_ARMS];
    unsigned best = 0, sum = 0;
    (void)state;
    tournament_list_ratings(ratings);
    for (unsigned i = 0; i < TOURNAMENT_ARMS; i++)
        assert_int_equal(ratings[i], 0);
    for (unsigned i = 0; i < 600; i++)
        window_costing(two_mib_is_best, ENOUGH);
    tournament_list_ratings(ratings);
    for (unsigned i = 0; i < TOURNAMENT_ARMS; i++) {
        best = ratings[i] > ratings[best] ? i : best;
        sum += ratings[i];
    }
    assert_int_equal(tournament_threshold(best), 2 * MIB);
    assert_in_range(sum, 1500 * TOURNAMENT_ARMS - TOURNAMENT_ARMS, 1500 * TOURNAMENT_ARMS + TOURNAMENT_ARMS); // cut off
}

// ---- while no more may be tried

// Windows without leave, until the standard is back; how many it took.
static unsigned windows_to_rest(void) {
    unsigned windows = 0;
    do {
        seen.now_ns += TRYOUT_NS;
        seen.big_bytes += ENOUGH;
        seen.busy_ns += (uint64_t)(small_is_dear(decided.big_threshold) * 1000);
        windows++;
    } while (tournament_step(&seen, &decided, TRYOUT_MAY_NOT) && windows < 100);
    return windows;
}

static void no_arm_comes_into_force_without_leave(void **state) {
    double before_ns = tournament_regret_ns(); // of other tests
    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(windows_to_rest(), 1);
        assert_int_equal(decided.big_threshold, BIG_THRESHOLD_BYTES);
    }
    assert_int_equal(tournament_end(&decided), 0);
    assert_true(tournament_regret_ns() == before_ns);
}

static void the_game_that_was_begun_is_played_to_its_end(void **state) {
    double before_ns = tournament_regret_ns();
    unsigned games = 0;
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        for (unsigned k = 0; k < 4; k++)
            window_costing(small_is_dear, ENOUGH);
        assert_in_range(windows_to_rest(), 1, 2 * (TRYOUT_SETTLING_WINDOWS + 1));
        assert_int_equal(decided.big_threshold, BIG_THRESHOLD_BYTES);
        struct snapshot ended = decided;
        unsigned now = tournament_end(&ended);
        assert_true(now > games || i == 0);
        games = now;
    }
    assert_true(tournament_regret_ns() > before_ns);
}

static void looks_may_be_rare_until_then(void **state) {
    bool goes_on = false;
    (void)state;
    for (unsigned i = 0; i < 5 && !goes_on; i++) {
        seen.now_ns += 10 * TRYOUT_NS;
        goes_on = window_costing(small_is_dear, ENOUGH);
    }
    assert_true(goes_on);
}

// ---- a contest after the other

static size_t value_of(enum decision decision) {
    return *snapshot_field(&decided, decision);
}

// A window in which so much happened of what contests are about, and that cost what the values in force say.
static bool window_of(unsigned activities, double (*cost)(void)) {
    seen.now_ns += TRYOUT_NS;
    seen.big_bytes += activities & BIG_BLOCKS ? ENOUGH : 1;
    seen.faults += activities & FAULTS ? 1000 : 10;
    seen.classes[class_of(1000)].refilled_blocks += ENOUGH / 1000 + 1;
    seen.busy_ns += (uint64_t)(cost() * 1000);
    return tournament_step(&seen, &decided, TRYOUT_MAY);
}

static double all_cost_the_same(void) {
    return 1000;
}

static double others_than_the_defaults_are_better(void) {
    return 1000 + (decided.big_threshold == 4 * MIB ? 0 : 500) + (decided.fifo_least == 16 * GIB ? 0 : 500) +
           (decided.prefault == 1 ? 0 : 500) + (decided.huge_pages == 2 ? 0 : 500);
}

static const struct {
    enum decision decision;
    unsigned arms;
    unsigned activity;
    size_t best; // of others_than_the_defaults_are_better
} contested[] = {
    {DECISION_big_threshold, 12, BIG_BLOCKS, 4 * MIB},
    {DECISION_fifo_least, 3, BIG_BLOCKS, 16 * GIB},
    {DECISION_prefault, 2, BIG_BLOCKS, 1},
    {DECISION_huge_pages, 3, FAULTS, 2},
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
    for (unsigned activity = BIG_BLOCKS; activity <= FAULTS; activity *= 2) {
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
    for (unsigned i = 0; i < 6000; i++)
        window_of(EVERYTHING, others_than_the_defaults_are_better);
    assert_true(tournament_end(&decided) > 0);
    for (unsigned i = 0; i < COUNT_OF(contested); i++)
        assert_int_equal(value_of(contested[i].decision), contested[i].best);
}

static void when_all_are_settled_no_look_is_wanted_soon(void **state) {
    bool soon = true;
    (void)state;
    for (unsigned i = 0; i < 6000; i++)
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
    for (unsigned i = 0; i < 600; i++)
        window_of(i % 3 < 2 ? BIG_BLOCKS : 0, all_cost_the_same); // one of a pair counts, the other has to settle
    assert_true(tournament_has_decided(DECISION_big_threshold));
    assert_int_equal(tournament_end(&decided), 0);
    for (unsigned i = 0; i < 600; i++)
        window_of(i % 6 < 5 ? BIG_BLOCKS : 0, all_cost_the_same); // the first puts an arm in force, which has to settle
    assert_in_range(tournament_end(&decided), 99, 100);
}

// The windows in which an arm has just come into force cost five times as much, as changing does.
static void what_changing_costs_is_not_the_arms(void **state) {
    size_t before = decided.big_threshold;
    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        size_t now = decided.big_threshold;
        seen.busy_ns += now != before ? 4 * 4000 * 1000 : 0;
        before = now;
        window_costing(two_mib_is_best, ENOUGH);
    }
    tournament_end(&decided);
    assert_int_equal(decided.big_threshold, 2 * MIB);
}

// Half of the time for a third of the work is no gain.
static void the_work_counts_and_not_the_time(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        bool is_slow = decided.big_threshold == 2 * MIB;
        seen.busy_ns += is_slow ? 0 : 1000 * 1000;
        seen.big_bytes += is_slow ? 0 : 2 * ENOUGH;
        window_of(BIG_BLOCKS, all_cost_the_same);
    }
    tournament_end(&decided);
    assert_int_equal(decided.big_threshold, BIG_THRESHOLD_BYTES);
}

static double no_time_is_known(void) {
    return 0;
}

// Looks that came late, and a system that does not say what processor time there was, leave nothing to go by.
static void windows_that_say_nothing_are_no_game(void **state) {
    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        seen.now_ns += TRYOUT_LONG_WINDOWS * TRYOUT_NS;
        window_of(BIG_BLOCKS, others_than_the_defaults_are_better);
    }
    assert_int_equal(tournament_end(&decided), 0);
    start(state);
    seen.busy_ns = 0;
    for (unsigned i = 0; i < 600; i++)
        window_of(BIG_BLOCKS, no_time_is_known);
    assert_false(tournament_has_decided(DECISION_big_threshold));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_played_without_big_blocks, start),
        cmocka_unit_test_setup(all_twelve_arms_come_into_force, start),
        cmocka_unit_test_setup(it_settles_on_the_cheapest, start),
        cmocka_unit_test_setup(the_default_returns_where_nothing_is_better, start),
        cmocka_unit_test_setup(anew_all_play_again, start),
        cmocka_unit_test_setup(ratings_are_those_of_the_arms_while_it_is_played, start),
        cmocka_unit_test_setup(no_arm_comes_into_force_without_leave, start),
        cmocka_unit_test_setup(the_game_that_was_begun_is_played_to_its_end, start),
        cmocka_unit_test_setup(looks_may_be_rare_until_then, start),
        cmocka_unit_test_setup(nothing_is_decided_where_little_happens, start),
        cmocka_unit_test_setup(a_contest_is_played_while_there_is_what_it_is_about, start),
        cmocka_unit_test_setup(every_arm_of_every_contest_comes_into_force, start),
        cmocka_unit_test_setup(one_is_played_at_a_time_and_no_other_decision_touched, start),
        cmocka_unit_test_setup(champions_take_their_places, start),
        cmocka_unit_test_setup(when_all_are_settled_no_look_is_wanted_soon, start),
        cmocka_unit_test_setup(a_pair_of_windows_that_lie_apart_is_no_game, start),
        cmocka_unit_test_setup(what_changing_costs_is_not_the_arms, start),
        cmocka_unit_test_setup(the_work_counts_and_not_the_time, start),
        cmocka_unit_test_setup(windows_that_say_nothing_are_no_game, start),
    };
    return cmocka_run_group_tests_name("tournament", tests, NULL, NULL);
}
