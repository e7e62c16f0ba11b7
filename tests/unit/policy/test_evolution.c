// The life cycle: it freezes what holds still, tries what is new on a bounded part of the run, and wakes up again.
#include "unit/unit.h"

#include "policy/evolution.h"

enum {
    CALM_WINDOWS = 6,
    FIRST_WINDOWS = 4,
    CANARY_WINDOWS = 12,
    MOST_LEARN_WINDOWS = 64,
    MOST_IN_ALL = 1024,
    WEEK_SECONDS = 7 * 24 * 3600
};

static struct evolution life;
static uint64_t now_ns;

static int start(void **state) {
    (void)state;
    now_ns = 12345;
    evolution_start(&life, now_ns);
    return 0;
}

// A window that ends as soon as it may.
static enum evolution_act step(struct evolution_window window) {
    while (!evolution_is_due(&life, now_ns))
        now_ns += MS_NS;
    window.now_ns = now_ns;
    return evolution_step(&life, &window);
}

static enum evolution_act steps(unsigned count, struct evolution_window window) {
    enum evolution_act last = EVOLUTION_GO_ON;
    for (unsigned i = 0; i < count; i++)
        last = step(window);
    return last;
}

static const struct evolution_window calm = {.p99_ns = 1000};
static const struct evolution_window decided_calm = {.p99_ns = 1000, .is_new = true};

static void freeze(void) {
    assert_int_equal(steps(CALM_WINDOWS, calm), EVOLUTION_KEEP_NEW);
    assert_int_equal(life.state, EVOLUTION_FROZEN);
}

static void begin_canary(void) {
    assert_int_equal(steps(CALM_WINDOWS, decided_calm), EVOLUTION_SHOW_OLD);
    assert_int_equal(life.state, EVOLUTION_CANARY);
}

// A pair of windows in CANARY; every other one is the other way round.
static enum evolution_act pair(double old_cost, double new_cost) {
    bool is_reversed = life.pairs % 2 == 1;
    assert_int_equal(step((struct evolution_window){.cost = is_reversed ? new_cost : old_cost}),
                     is_reversed ? EVOLUTION_SHOW_OLD : EVOLUTION_SHOW_NEW);
    return step((struct evolution_window){.cost = is_reversed ? old_cost : new_cost});
}

// ---- LEARN

static void it_freezes_only_after_enough_windows(void **state) {
    (void)state;
    assert_int_equal(steps(CALM_WINDOWS - 1, calm), EVOLUTION_GO_ON);
    assert_int_equal(life.state, EVOLUTION_LEARN);
    assert_int_equal(step(calm), EVOLUTION_KEEP_NEW);
    assert_int_equal(life.frozen, 1);
}

static void a_decision_puts_freezing_off_until_three_windows_later(void **state) {
    (void)state;
    for (unsigned last_change = 1; last_change < 20; last_change++) {
        start(NULL);
        unsigned windows = last_change + 3 > CALM_WINDOWS ? last_change + 3 : CALM_WINDOWS;
        for (unsigned i = 1; i < windows; i++)
            assert_int_equal(step((struct evolution_window){.p99_ns = 1000, .has_changed = i <= last_change}),
                             EVOLUTION_GO_ON);
        assert_int_equal(step(calm), EVOLUTION_KEEP_NEW);
    }
}

static void a_p99_that_moves_puts_freezing_off(void **state) {
    const double steady[] = {1000, 1240, 1000, 0, 1000, 800}, restless[] = {1000, 1350, 1000, 1350, 1000, 1350};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(steady); i++)
        assert_int_equal(step((struct evolution_window){.p99_ns = steady[i]}),
                         i + 1 < CALM_WINDOWS ? EVOLUTION_GO_ON : EVOLUTION_KEEP_NEW);
    start(NULL);
    for (unsigned i = 0; i < COUNT_OF(restless); i++)
        assert_int_equal(step((struct evolution_window){.p99_ns = restless[i]}), EVOLUTION_GO_ON);
    assert_int_equal(steps(2, (struct evolution_window){.p99_ns = 1350}), EVOLUTION_GO_ON);
    assert_int_equal(step((struct evolution_window){.p99_ns = 1350}), EVOLUTION_KEEP_NEW);
}

static void a_program_that_keeps_changing_is_frozen_at_last(void **state) {
    const struct evolution_window restless = {.has_changed = true, .is_new = true};
    (void)state;
    assert_int_equal(steps(MOST_LEARN_WINDOWS - 1, restless), EVOLUTION_GO_ON);
    assert_int_equal(step(restless), EVOLUTION_SHOW_OLD); // what was decided is tried as it is
    assert_int_equal(pair(100, 50), EVOLUTION_SHOW_NEW);
    assert_int_equal(steps(CANARY_WINDOWS - 2, restless), EVOLUTION_KEEP_NEW);
}

// It goes from phase to phase and never holds still: LEARN is over all the same.
static void a_program_of_short_phases_is_frozen_at_last(void **state) {
    unsigned windows = 0;
    (void)state;
    enum evolution_act last = EVOLUTION_GO_ON;
    for (; last == EVOLUTION_GO_ON && windows < 3 * MOST_IN_ALL; windows++) {
        struct evolution_window phase = {.has_changed = true, .is_new = true};
        phase.sizes[windows / 3 % 2] = EVOLUTION_LEAST_SEEN;
        last = step(phase);
    }
    assert_int_equal(last, EVOLUTION_SHOW_OLD);
    assert_in_range(windows, MOST_LEARN_WINDOWS + 1, MOST_IN_ALL);
}

// ---- CANARY

static void old_and_new_windows_take_turns(void **state) {
    (void)state;
    begin_canary();
    for (unsigned i = 1; i < CANARY_WINDOWS; i++) // old new, new old, and so on
        assert_int_equal(step(calm), i / 2 % 2 == i % 2 ? EVOLUTION_SHOW_OLD : EVOLUTION_SHOW_NEW);
    assert_int_equal(step(calm), EVOLUTION_KEEP_NEW); // and are a bounded part
    assert_int_equal(life.state, EVOLUTION_FROZEN);
}

static enum evolution_act result_of_pairs(unsigned worse_pairs, double worse, double otherwise) {
    enum evolution_act last = EVOLUTION_GO_ON;
    start(NULL);
    begin_canary();
    for (unsigned i = 0; i < CANARY_WINDOWS / 2; i++)
        last = pair(1000, i < worse_pairs ? worse : otherwise);
    return last;
}

static void what_is_not_worse_is_kept(void **state) {
    (void)state;
    assert_int_equal(result_of_pairs(0, 0, 500), EVOLUTION_KEEP_NEW);
    assert_int_equal(result_of_pairs(0, 0, 1000), EVOLUTION_KEEP_NEW);
    assert_int_equal(result_of_pairs(0, 0, 1009), EVOLUTION_KEEP_NEW); // by less than can be told
    assert_int_equal(result_of_pairs(3, 5000, 1000), EVOLUTION_KEEP_NEW);
    assert_int_equal(life.kept_old, 0);
    assert_int_equal(life.frozen, 1);
}

// What costs less and less, whatever is in force, does not make the later one of each pair the better one.
static void a_trend_favours_neither(void **state) {
    double cost = 1e6;
    (void)state;
    begin_canary();
    for (unsigned i = 0; i < CANARY_WINDOWS; i++, cost *= 1.03)
        step((struct evolution_window){.cost = cost});
    assert_int_equal(life.kept_old, 0);
    start(NULL);
    begin_canary();
    for (unsigned i = 0; i < CANARY_WINDOWS; i++, cost *= 0.97)
        step((struct evolution_window){.cost = life.pairs % 2 == i % 2 ? cost : 1.5 * cost}); // the new one is dearer
    assert_int_equal(life.kept_old, 1);
}

static void what_is_worse_gives_way_to_what_was_before(void **state) {
    (void)state;
    assert_int_equal(result_of_pairs(6, 1020, 0), EVOLUTION_KEEP_OLD);
    assert_int_equal(life.state, EVOLUTION_FROZEN);
    assert_int_equal(life.kept_old, 1);
    assert_int_equal(result_of_pairs(4, 1020, 1000), EVOLUTION_KEEP_OLD);
}

static void a_program_that_costs_nothing_keeps_what_was_decided(void **state) {
    (void)state;
    begin_canary();
    assert_int_equal(steps(CANARY_WINDOWS, (struct evolution_window){.cost = 0}), EVOLUTION_KEEP_NEW);
}

// ---- FROZEN

static void three_windows_with_a_worse_p99_in_a_row_wake_it(void **state) {
    const struct evolution_window worse = {.p99_ns = 1250}, better = {.p99_ns = 100}, same = {.p99_ns = 1190};
    (void)state;
    freeze();
    assert_int_equal(steps(FIRST_WINDOWS, calm), EVOLUTION_GO_ON);
    for (unsigned i = 0; i < 10; i++) { // not one, not two, however often
        assert_int_equal(steps(1 + i % 2, worse), EVOLUTION_GO_ON);
        assert_int_equal(step(same), EVOLUTION_GO_ON);
    }
    assert_int_equal(steps(50, better), EVOLUTION_GO_ON);
    assert_int_equal(steps(2, worse), EVOLUTION_GO_ON);
    assert_int_equal(step(worse), EVOLUTION_LEARN_ANEW);
    assert_int_equal(life.state, EVOLUTION_LEARN);
    assert_int_equal(life.relearned, 1);
}

// A percentile of few calls moves from window to window.
static void a_p99_is_worse_than_the_highest_of_the_first_windows(void **state) {
    const struct evolution_window high = {.p99_ns = 1900}, higher = {.p99_ns = 2300};
    (void)state;
    freeze();
    assert_int_equal(steps(FIRST_WINDOWS - 1, calm), EVOLUTION_GO_ON);
    assert_int_equal(steps(1, high), EVOLUTION_GO_ON);
    assert_int_equal(steps(50, high), EVOLUTION_GO_ON);
    assert_int_equal(life.relearned, 0);
    assert_int_equal(steps(2, higher), EVOLUTION_GO_ON);
    assert_int_equal(step(higher), EVOLUTION_LEARN_ANEW);
    start(NULL);
    freeze();
    assert_int_equal(steps(FIRST_WINDOWS, calm), EVOLUTION_GO_ON);
    assert_int_equal(steps(2, high), EVOLUTION_GO_ON); // too late to count as usual
    assert_int_equal(step(high), EVOLUTION_LEARN_ANEW);
}

// `moved` of a hundred requests are of another kind than at first.
static struct evolution_window sized(unsigned moved, unsigned requests) {
    struct evolution_window window = {.sizes = {[3] = requests - requests * moved / 100}};
    window.sizes[9] = requests * moved / 100;
    return window;
}

static void three_windows_that_cost_much_more_wake_it(void **state) {
    const struct evolution_window usual = {.cost = 1e8}, dearer = {.cost = 1.55e8}, dear = {.cost = 1.7e8};
    (void)state;
    freeze();
    step(usual);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(step(dearer), EVOLUTION_GO_ON); // half as much again, and a hundredth of a processor
    assert_int_equal(steps(2, dear), EVOLUTION_GO_ON);
    assert_int_equal(step(dear), EVOLUTION_LEARN_ANEW);
}

static void what_costs_next_to_nothing_may_cost_a_multiple_of_it(void **state) {
    const struct evolution_window usual = {.cost = 1e5}, dear = {.cost = 5e6};
    (void)state;
    freeze();
    step(usual);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(step(dear), EVOLUTION_GO_ON);
}

static void three_windows_of_other_sizes_in_a_row_wake_it(void **state) {
    (void)state;
    freeze();
    assert_int_equal(steps(3, sized(0, 1000)), EVOLUTION_GO_ON);
    assert_int_equal(steps(9, sized(20, 1000)), EVOLUTION_GO_ON);
    assert_int_equal(steps(2, sized(30, 1000)), EVOLUTION_GO_ON);
    assert_int_equal(step(sized(0, 5000)), EVOLUTION_GO_ON);
    assert_int_equal(steps(9, sized(100, 150)), EVOLUTION_GO_ON); // too few to tell
    assert_int_equal(steps(2, sized(30, 1000)), EVOLUTION_GO_ON);
    assert_int_equal(step(sized(30, 1000)), EVOLUTION_LEARN_ANEW);
}

static void two_windows_of_other_sizes_in_a_row_begin_learn_anew(void **state) {
    uint64_t begin_ns = life.begin_ns;
    (void)state;
    steps(2, sized(0, 1000));
    step(sized(30, 1000));
    step(sized(0, 1000));
    step(sized(30, 1000));
    assert_true(life.begin_ns == begin_ns && life.windows == 5);
    assert_int_equal(step(sized(30, 1000)), EVOLUTION_GO_ON);
    assert_true(life.state == EVOLUTION_LEARN && life.begin_ns == now_ns && life.windows == 0);
}

static void sizes_are_compared_with_the_first_that_are_known(void **state) {
    (void)state;
    freeze();
    assert_int_equal(steps(5, sized(100, EVOLUTION_LEAST_SEEN - 1)), EVOLUTION_GO_ON); // unknown
    assert_int_equal(steps(5, sized(0, EVOLUTION_LEAST_SEEN)), EVOLUTION_GO_ON);
    assert_int_equal(steps(3, sized(100, EVOLUTION_LEAST_SEEN)), EVOLUTION_LEARN_ANEW);
}

// A program whose windows often have too few calls or requests to tell is noticed all the same.
static void a_window_that_says_nothing_neither_raises_nor_clears_suspicion(void **state) {
    const struct evolution_window nothing = {0}, slow = {.p99_ns = 9000};
    (void)state;
    freeze();
    for (unsigned i = 0; i < FIRST_WINDOWS; i++) {
        step(calm);
        step(nothing); // nor counts as one of the first
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(step(slow), EVOLUTION_GO_ON);
        assert_int_equal(steps(5, nothing), EVOLUTION_GO_ON);
    }
    assert_int_equal(step(slow), EVOLUTION_LEARN_ANEW);
    start(NULL);
    freeze();
    step(sized(0, 1000));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(step(sized(100, 1000)), EVOLUTION_GO_ON);
        assert_int_equal(steps(5, calm), EVOLUTION_GO_ON); // quick enough, but of unknown sizes
    }
    assert_int_equal(step(sized(100, 1000)), EVOLUTION_LEARN_ANEW);
    assert_int_equal(life.reason, EVOLUTION_OTHER);
}

static void learning_anew_is_learning_from_the_beginning(void **state) {
    (void)state;
    freeze();
    steps(FIRST_WINDOWS, calm);
    assert_int_equal(steps(3, (struct evolution_window){.p99_ns = 9000}), EVOLUTION_LEARN_ANEW);
    uint64_t woken_ns = now_ns;
    begin_canary();
    assert_int_equal(now_ns - woken_ns, CALM_WINDOWS * 50 * MS_NS); // with short windows again
    steps(CANARY_WINDOWS, calm);
    assert_int_equal(life.frozen, 2);
}

static void it_compares_with_the_sizes_since_it_was_frozen_last(void **state) {
    (void)state;
    freeze();
    steps(1, sized(0, 1000));
    assert_int_equal(steps(3, sized(100, 1000)), EVOLUTION_LEARN_ANEW);
    freeze();
    assert_int_equal(steps(10, sized(100, 1000)), EVOLUTION_GO_ON); // the usual ones now
    assert_int_equal(steps(3, sized(0, 1000)), EVOLUTION_LEARN_ANEW);
}

static void distance_is_none_between_equals_and_one_between_strangers(void **state) {
    double one[EVOLUTION_SIZES] = {0.5, 0.5}, same[EVOLUTION_SIZES] = {0.5, 0.5}, half[EVOLUTION_SIZES] = {0.5, 0, 0.5};
    double strange[EVOLUTION_SIZES] = {0, 0, 0, [EVOLUTION_SIZES - 1] = 1};
    (void)state;
    assert_true(evolution_distance(one, same) == 0);
    assert_true(evolution_distance(one, half) == 0.5 && evolution_distance(half, one) == 0.5);
    assert_true(evolution_distance(one, strange) == 1);
}

// ---- time

static void a_run_of_seconds_gets_through(void **state) {
    uint64_t begin_ns = now_ns;
    (void)state;
    begin_canary();
    assert_int_equal(steps(CANARY_WINDOWS, calm), EVOLUTION_KEEP_NEW);
    assert_in_range((now_ns - begin_ns) / MS_NS, 900, 1500);
    begin_ns = now_ns;
    steps(FIRST_WINDOWS, calm);
    steps(3, (struct evolution_window){.p99_ns = 9000});
    assert_in_range((now_ns - begin_ns) / MS_NS, 350, 400); // and notices a change
}

static void learning_is_over_in_two_minutes_whatever_happens(void **state) {
    uint64_t begin_ns = now_ns;
    (void)state;
    while (step((struct evolution_window){.has_changed = true, .is_new = true}) != EVOLUTION_SHOW_OLD)
        ;
    assert_in_range((now_ns - begin_ns) / SECOND_NS, 10, 120);
}

static void a_service_of_weeks_notices_a_change_in_seconds(void **state) {
    (void)state;
    freeze();
    for (unsigned week = 0; week < 3; week++) {
        for (unsigned i = 0; i < 1000; i++)
            assert_int_equal(step(calm), EVOLUTION_GO_ON);
        now_ns += WEEK_SECONDS * SECOND_NS; // it slept
        assert_int_equal(step(calm), EVOLUTION_GO_ON);
    }
    uint64_t changed_ns = now_ns;
    assert_int_equal(steps(3, (struct evolution_window){.p99_ns = 9000}), EVOLUTION_LEARN_ANEW);
    assert_in_range((now_ns - changed_ns) / SECOND_NS, 2, 3);
}

static void windows_are_never_short_and_never_long(void **state) {
    (void)state;
    assert_false(evolution_is_due(&life, now_ns));
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t begin_ns = now_ns;
        steps(1, i == 500 ? decided_calm : calm);
        assert_in_range(now_ns - begin_ns, 50 * MS_NS, 2001 * MS_NS);
    }
}

// A phase of two seconds is not over before it is noticed that it is another; what was a false alarm costs little.
static void a_suspicion_is_looked_into_at_once(void **state) {
    const struct evolution_window cheap = {.p99_ns = 1000, .cost = 1e6}, dear = {.p99_ns = 1000, .cost = 1e9};
    (void)state;
    freeze();
    now_ns += 3600 * SECOND_NS;
    steps(2, cheap);
    assert_false(evolution_suspects(&life));
    assert_int_equal(step(dear), EVOLUTION_GO_ON);
    assert_true(evolution_suspects(&life));
    uint64_t since_ns = now_ns;
    assert_int_equal(step(dear), EVOLUTION_GO_ON);
    assert_int_equal(step(dear), EVOLUTION_LEARN_ANEW);
    assert_in_range(now_ns - since_ns, 150 * MS_NS, 250 * MS_NS);
    assert_false(evolution_suspects(&life));
    freeze();
    now_ns += 3600 * SECOND_NS;
    steps(2, cheap);
    step(dear);
    step(cheap);
    assert_false(evolution_suspects(&life));
    since_ns = now_ns;
    step(cheap);
    assert_int_equal(now_ns - since_ns, 2000 * MS_NS);
}

static void each_state_has_its_reason(void **state) {
    const struct evolution_window restless = {.has_changed = true, .is_new = true}, worse = {.p99_ns = 1250};
    struct evolution_window other = {.sizes = {[3] = 1000}};
    (void)state;
    assert_int_equal(life.reason, EVOLUTION_BEGUN);
    freeze();
    assert_int_equal(life.reason, EVOLUTION_STILL);
    steps(FIRST_WINDOWS, calm);
    steps(3, worse);
    assert_int_equal(life.reason, EVOLUTION_SLOWER);
    steps(MOST_LEARN_WINDOWS, restless);
    assert_int_equal(life.reason, EVOLUTION_RESTLESS);
    for (unsigned i = 0; i < CANARY_WINDOWS / 2; i++)
        pair(100, 200);
    assert_int_equal(life.reason, EVOLUTION_WORSE);
    step(other);
    other.sizes[3] = 0;
    other.sizes[9] = 1000;
    steps(3, other);
    assert_int_equal(life.reason, EVOLUTION_OTHER);
    begin_canary();
    assert_int_equal(life.reason, EVOLUTION_STILL);
    for (unsigned i = 0; i < CANARY_WINDOWS / 2; i++)
        pair(200, 100);
    assert_int_equal(life.reason, EVOLUTION_NO_WORSE);
    step((struct evolution_window){.cost = 1e8});
    steps(3, (struct evolution_window){.cost = 3e8});
    assert_int_equal(life.reason, EVOLUTION_DEARER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_freezes_only_after_enough_windows, start),
        cmocka_unit_test_setup(a_decision_puts_freezing_off_until_three_windows_later, start),
        cmocka_unit_test_setup(a_p99_that_moves_puts_freezing_off, start),
        cmocka_unit_test_setup(a_program_that_keeps_changing_is_frozen_at_last, start),
        cmocka_unit_test_setup(a_program_of_short_phases_is_frozen_at_last, start),
        cmocka_unit_test_setup(old_and_new_windows_take_turns, start),
        cmocka_unit_test_setup(what_is_not_worse_is_kept, start),
        cmocka_unit_test_setup(a_trend_favours_neither, start),
        cmocka_unit_test_setup(what_is_worse_gives_way_to_what_was_before, start),
        cmocka_unit_test_setup(a_program_that_costs_nothing_keeps_what_was_decided, start),
        cmocka_unit_test_setup(three_windows_with_a_worse_p99_in_a_row_wake_it, start),
        cmocka_unit_test_setup(a_p99_is_worse_than_the_highest_of_the_first_windows, start),
        cmocka_unit_test_setup(three_windows_that_cost_much_more_wake_it, start),
        cmocka_unit_test_setup(what_costs_next_to_nothing_may_cost_a_multiple_of_it, start),
        cmocka_unit_test_setup(three_windows_of_other_sizes_in_a_row_wake_it, start),
        cmocka_unit_test_setup(two_windows_of_other_sizes_in_a_row_begin_learn_anew, start),
        cmocka_unit_test_setup(sizes_are_compared_with_the_first_that_are_known, start),
        cmocka_unit_test_setup(a_window_that_says_nothing_neither_raises_nor_clears_suspicion, start),
        cmocka_unit_test_setup(learning_anew_is_learning_from_the_beginning, start),
        cmocka_unit_test_setup(it_compares_with_the_sizes_since_it_was_frozen_last, start),
        cmocka_unit_test(distance_is_none_between_equals_and_one_between_strangers),
        cmocka_unit_test_setup(a_run_of_seconds_gets_through, start),
        cmocka_unit_test_setup(learning_is_over_in_two_minutes_whatever_happens, start),
        cmocka_unit_test_setup(a_service_of_weeks_notices_a_change_in_seconds, start),
        cmocka_unit_test_setup(windows_are_never_short_and_never_long, start),
        cmocka_unit_test_setup(a_suspicion_is_looked_into_at_once, start),
        cmocka_unit_test_setup(each_state_has_its_reason, start),
    };
    return cmocka_run_group_tests_name("evolution", tests, NULL, NULL);
}
