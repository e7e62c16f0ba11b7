// The tournament: ratings move by what games say, the best arm wins, and the default stays where nothing is better.
#include "unit/unit.h"

#include "policy/elo.h"

enum { ARMS = 12, STANDARD = 11 };

struct world {
    struct random random;
    unsigned best;
    double slope; // of the cost by arms away from the best
    double noise;
};

static double cost_of(struct world *world, unsigned arm) {
    double away = arm > world->best ? arm - world->best : world->best - arm;
    double noise = (double)random_below(&world->random, 1000) / 1000 - 0.5;
    return (100 + world->slope * away) * (1 + world->noise * noise);
}

static void play(struct elo *elo, struct world *world, unsigned windows) {
    for (unsigned i = 0; i < windows; i++)
        elo_note(elo, cost_of(world, elo_arm_now(elo)));
}

static void the_best_arm_becomes_champion(void **state) {
    struct world world = {random_start(), 0, 8, 0.1};
    (void)state;
    for (world.best = 0; world.best < STANDARD - 1; world.best++) {
        struct elo elo;
        elo_start(&elo, ARMS, STANDARD, random_next(&world.random));
        play(&elo, &world, 400);
        unsigned away = elo.champion > world.best ? elo.champion - world.best : world.best - elo.champion;
        assert_true(away <= 1);
    }
}

static void the_default_stays_where_all_cost_the_same(void **state) {
    struct world world = {random_start(), 0, 0, 0.05};
    unsigned left = 0;
    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct elo elo;
        elo_start(&elo, ARMS, STANDARD, random_next(&world.random));
        play(&elo, &world, 200);
        left += elo.champion != STANDARD;
    }
    assert_true(left <= 15); // noise wins now and then
}

static void the_default_stays_where_it_is_the_best(void **state) {
    struct world world = {random_start(), STANDARD, 5, 0.1};
    struct elo elo;
    (void)state;
    elo_start(&elo, ARMS, STANDARD, 7);
    for (unsigned i = 0; i < 300; i++) {
        play(&elo, &world, 1);
        assert_int_equal(elo.champion, STANDARD);
    }
}

static void every_arm_plays_and_ratings_move(void **state) {
    struct world world = {random_start(), 3, 5, 0.1};
    struct elo elo;
    double sum = 0;
    (void)state;
    elo_start(&elo, ARMS, STANDARD, 1);
    play(&elo, &world, 2 * 4 * ARMS);
    for (unsigned i = 0; i < ARMS; i++) {
        assert_true(elo.arm[i].games > 0);
        assert_true(elo.arm[i].rating != ELO_START);
        sum += elo.arm[i].rating;
    }
    assert_true(sum > ARMS * ELO_START - 0.01 && sum < ARMS * ELO_START + 0.01); // what one wins another loses
}

static void the_weaker_half_is_out_but_never_the_default(void **state) {
    struct world world = {random_start(), 0, 10, 0.02};
    struct elo elo;
    unsigned out = 0;
    (void)state;
    elo_start(&elo, ARMS, STANDARD, 5);
    play(&elo, &world, 600);
    for (unsigned i = 0; i < ARMS; i++)
        out += elo.arm[i].is_out;
    assert_true(out >= ARMS / 2 - 1 && out <= ARMS / 2);
    assert_false(elo.arm[STANDARD].is_out);
    assert_false(elo.arm[0].is_out);
}

// In a program that slows down all the time the second window of each pair costs more, whoever is in force.
static void a_trend_favours_nobody(void **state) {
    struct elo elo;
    double cost = 100;
    (void)state;
    elo_start(&elo, 2, 1, 3);
    for (unsigned i = 0; i < 400; i++, cost *= 1.02)
        elo_note(&elo, cost);
    double difference = elo.arm[0].rating - elo.arm[1].rating;
    assert_true(difference > -200 && difference < 200);
    assert_int_equal(elo.champion, 1);
}

// Not only in all: with two challengers each would have the same place in every game.
static void each_challenger_comes_first_by_turns(void **state) {
    enum { ALL = 3, GAMES = 300 };
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        unsigned games[ALL] = {0}, first[ALL] = {0};
        struct elo elo;
        elo_start(&elo, ALL, 1, seed);
        for (unsigned i = 0; i < GAMES; i++) {
            games[elo.challenger]++;
            first[elo.challenger] += elo.challenger_first;
            elo_note(&elo, 100);
            elo_note(&elo, 100);
        }
        for (unsigned arm = 0; arm < ALL; arm++)
            assert_in_range(2 * first[arm] + 8, games[arm], games[arm] + 16); // half of them, but for a few
    }
}

static void a_game_is_a_pair_of_windows(void **state) {
    struct elo elo;
    (void)state;
    elo_start(&elo, ARMS, STANDARD, 9);
    for (unsigned i = 0; i < 50; i++) {
        unsigned first = elo_arm_now(&elo);
        assert_false(elo_note(&elo, 100));
        assert_true(elo_arm_now(&elo) != first);
        assert_true(elo_note(&elo, 100));
    }
    assert_int_equal(elo.games, 50);
}

static void a_pair_that_is_broken_off_begins_anew(void **state) {
    struct elo elo;
    (void)state;
    elo_start(&elo, ARMS, STANDARD, 9);
    for (unsigned i = 0; i < 10; i++) {
        unsigned first = elo_arm_now(&elo);
        assert_false(elo_note(&elo, 1)); // counts for nobody
        elo_break_off(&elo);
        assert_int_equal(elo_arm_now(&elo), first);
        assert_false(elo_note(&elo, 100));
        assert_true(elo_note(&elo, 100));
        assert_true(elo.arm[elo.champion].rating == ELO_START); // a draw
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_arm_becomes_champion),
        cmocka_unit_test(the_default_stays_where_all_cost_the_same),
        cmocka_unit_test(the_default_stays_where_it_is_the_best),
        cmocka_unit_test(every_arm_plays_and_ratings_move),
        cmocka_unit_test(the_weaker_half_is_out_but_never_the_default),
        cmocka_unit_test(a_trend_favours_nobody),
        cmocka_unit_test(each_challenger_comes_first_by_turns),
        cmocka_unit_test(a_game_is_a_pair_of_windows),
        cmocka_unit_test(a_pair_that_is_broken_off_begins_anew),
    };
    return cmocka_run_group_tests_name("elo", tests, NULL, NULL);
}
