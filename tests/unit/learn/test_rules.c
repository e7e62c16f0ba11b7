// Site rules in a process: each busy site plays its arms, the better one becomes its rule, and otherwise nothing stays.
// Each test is a process of its own: rules are learned once.
#include "unit/unit.h"

#include "big/routes.h"
#include "learn/rules.h"
#include "sample/callers.h"

enum { SITES = 3 };
// Return addresses, as calls in this executable would have.
static uintptr_t sites[SITES];
static size_t site_bytes[SITES] = {3 * MIB, 20 * MIB, 1500 * KIB};
static struct observation seen;

static void begin_test(void) {
    os_start();
    size_class_start();
    for (unsigned i = 0; i < SITES; i++)
        sites[i] = (uintptr_t)begin_test + 1 + i;
    seen.now_ns = SECOND_NS;
    seen.busy_ns = 1;
}

static size_t rule_of_site(unsigned site) {
    return routes_find(sites[site], 0);
}

// A window in which the first `busy` sites asked for blocks, and the process took so much time.
static bool window_costing(uint64_t busy_ns, unsigned busy) {
    seen.now_ns += TRYOUT_NS;
    seen.busy_ns += busy_ns;
    for (unsigned i = 0; i < busy; i++)
        for (unsigned k = 0; k < 16 * (SITES - i); k++)
            callers_note(sites[i], site_bytes[i]);
    return rules_step(&seen, BIG_THRESHOLD_BYTES, TRYOUT_MAY);
}

// As many windows as they want, each of which costs less where a site has a rule, by so much.
static unsigned play(const int *less_by_rule, unsigned busy) {
    unsigned windows = 0;
    while (windows++ < 3000) {
        int cost = 1000 + 10 * (int)(windows % 3);
        for (unsigned i = 0; i < SITES; i++)
            cost -= rule_of_site(i) != 0 ? less_by_rule[i] : 0;
        if (!window_costing((uint64_t)cost * 100 * 1000, busy) && windows > 2)
            break;
    }
    return windows;
}

// ---- while no more may be tried

static void rest_until_it_may(void *unused) {
    unsigned windows = 0;
    (void)unused;
    begin_test();
    for (unsigned i = 0; i < 20; i++)
        window_costing(1000 * 1000, 1);
    for (bool goes_on = true; goes_on && windows < 100; windows++) {
        seen.now_ns += TRYOUT_NS;
        seen.busy_ns += 1000 * 1000;
        for (unsigned k = 0; k < 16 * SITES; k++)
            callers_note(sites[0], site_bytes[0]);
        goes_on = rules_step(&seen, BIG_THRESHOLD_BYTES, TRYOUT_MAY_NOT);
    }
    MUST(windows <= 2 * (TRYOUT_SETTLING_WINDOWS + 1)); // the play that was begun
    MUST(rule_of_site(0) == 0);
    MUST(window_costing(1000 * 1000, 1)); // goes on where it was
}

static void without_leave_nothing_is_played(void **state) {
    (void)state;
    child_must_succeed(rest_until_it_may, NULL);
}

static void find_no_site(void *unused) {
    (void)unused;
    begin_test();
    for (unsigned i = 0; i < 50; i++) {
        for (unsigned k = 0; k < 16 * SITES; k++)
            callers_note(sites[0], site_bytes[0]);
        seen.now_ns += TRYOUT_NS;
        seen.busy_ns += 1000 * 1000;
        MUST(!rules_step(&seen, BIG_THRESHOLD_BYTES, TRYOUT_MAY_NOT) && rule_of_site(0) == 0);
    }
    MUST(rules_regret_ns() == 0);
}

static void without_leave_no_site_begins(void **state) {
    (void)state;
    child_must_succeed(find_no_site, NULL);
}

static void lose_by_rules(void *unused) {
    (void)unused;
    begin_test();
    play((const int[SITES]){-500, -500, -500}, 1);
    MUST(rules_regret_ns() > 0);
    rules_begin_life();
    MUST(rules_regret_ns() == 0);
}

static void what_playing_cost_was_the_parents(void **state) {
    (void)state;
    child_must_succeed(lose_by_rules, NULL);
}

// ---- what becomes a rule

static void adopt(void *unused) {
    (void)unused;
    begin_test();
    play((const int[SITES]){300, -200, 0}, 2);
    MUST(rule_of_site(0) == 2 * MIB); // the largest of those that concern its blocks
    MUST(rule_of_site(1) == 0);
    MUST(routes_least_bytes == 2 * MIB);
}

static void the_better_threshold_becomes_the_sites_rule(void **state) {
    (void)state;
    child_must_succeed(adopt, NULL);
}

static void adopt_nothing(void *unused) {
    (void)unused;
    begin_test();
    unsigned windows = play((const int[SITES]){0, 0, 20}, 3);
    MUST(windows > 3 * UCB_MOST_PLAYS && windows < 13 * UCB_MOST_PLAYS); // each of the three has played
    for (unsigned i = 0; i < SITES; i++)
        MUST(rule_of_site(i) == 0);
    MUST(routes_least_bytes == SIZE_MAX); // no size class is without its stack
}

static void without_a_better_one_nothing_stays(void **state) {
    (void)state;
    child_must_succeed(adopt_nothing, NULL);
}

// The windows in which an arm has just come into force cost three times as much, as changing does.
static void change_dearly(void *unused) {
    (void)unused;
    begin_test();
    size_t before = 0;
    for (unsigned windows = 0; windows < 3000; windows++) {
        size_t rule = rule_of_site(0);
        uint64_t cost = (rule != before ? 3000 : 1000) - (rule != 0 ? 100 : 0);
        before = rule;
        if (!window_costing(cost * 100 * 1000 + windows % 3, 1) && windows > 2)
            break;
    }
    MUST(rule_of_site(0) == 2 * MIB);
}

static void what_changing_costs_is_not_the_arms(void **state) {
    (void)state;
    child_must_succeed(change_dearly, NULL);
}

// Where the system does not say what processor time the process takes, memory alone does not tell which arm is better.
static void see_no_time(void *unused) {
    (void)unused;
    begin_test();
    seen.busy_ns = 0;
    for (unsigned i = 0; i < 1000; i++) {
        seen.retained_bytes = rule_of_site(0) != 0 ? 0 : GIB;
        window_costing(0, SITES);
    }
    for (unsigned i = 0; i < SITES; i++)
        MUST(rule_of_site(i) == 0);
}

static void without_processor_time_nothing_is_adopted(void **state) {
    (void)state;
    child_must_succeed(see_no_time, NULL);
}

// ---- who plays, and when

static void stay_quiet(void *unused) {
    (void)unused;
    begin_test();
    for (unsigned i = 0; i < 100; i++)
        MUST(!window_costing(1000, 0));
    callers_note(sites[0], RULES_LEAST_BYTES > MIB ? RULES_LEAST_BYTES / 8 : BIG_LEAST_BYTES);
    MUST(!window_costing(1000, 0));
    MUST(routes_least_bytes == SIZE_MAX);
}

static void nobody_plays_who_asks_for_little(void **state) {
    (void)state;
    child_must_succeed(stay_quiet, NULL);
}

static void rest_and_play_again(void *unused) {
    (void)unused;
    begin_test();
    play((const int[SITES]){300, 0, 0}, 1);
    MUST(rule_of_site(0) != 0 && !window_costing(1000, 1));
    seen.now_ns += UCB_REST_NS - SECOND_NS;
    MUST(!window_costing(1000, 1));
    seen.now_ns += SECOND_NS;
    play((const int[SITES]){-300, 0, 0}, 1); // it is worse now
    MUST(rule_of_site(0) == 0 && routes_least_bytes == SIZE_MAX);
}

static void after_its_rest_a_site_plays_again(void **state) {
    (void)state;
    child_must_succeed(rest_and_play_again, NULL);
}

static void ask_no_more(void *unused) {
    (void)unused;
    begin_test();
    MUST(!window_costing(1000, 1) || window_costing(1000, 1));
    MUST(window_costing(1000, 1));
    unsigned windows = 0;
    while (window_costing(1000, 0) && windows < 100)
        windows++;
    MUST(windows == RULES_IDLE_WINDOWS - 1 || windows == RULES_IDLE_WINDOWS - 2);
    MUST(rule_of_site(0) == 0);
}

static void who_asks_no_more_gives_up_his_turn(void **state) {
    (void)state;
    child_must_succeed(ask_no_more, NULL);
}

static void pause_often(void *unused) {
    (void)unused;
    begin_test();
    for (unsigned i = 0; i < 60; i++) {
        window_costing(1000, 1);
        if (i % 4 == 3) {
            rules_pause();
            MUST(rule_of_site(0) == 0 && routes_least_bytes == SIZE_MAX);
        }
    }
    MUST(!rules_step(&seen, MIB, TRYOUT_MAY) || rule_of_site(0) == 0); // another threshold for all: from the beginning
}

static void a_pause_takes_back_what_is_tried(void **state) {
    (void)state;
    child_must_succeed(pause_often, NULL);
}

static void obey_file(void *unused) {
    (void)unused;
    begin_test();
    MUST(routes_set(sites[0], MIB));
    for (unsigned i = 0; i < 100; i++) {
        MUST(!window_costing(1000, 1));
        MUST(rule_of_site(0) == MIB);
    }
}

static void a_rule_from_a_file_stays(void **state) {
    (void)state;
    child_must_succeed(obey_file, NULL);
}

static void forget_callers(void) {
    for (unsigned i = 0; callers_list(&(struct caller){0}, 1) > 0 && i < 64; i++)
        callers_fade();
}

static void come_back_with_other_sizes(void *unused) {
    (void)unused;
    begin_test();
    play((const int[SITES]){300, 0, 0}, 1);
    MUST(rule_of_site(0) == 2 * MIB);
    forget_callers();
    seen.now_ns += UCB_REST_NS;
    site_bytes[0] = 1500 * KIB; // of which the rule says nothing
    MUST(play((const int[SITES]){0, 0, 0}, 1) > UCB_MOST_PLAYS);
    MUST(rule_of_site(0) == 2 * MIB);
    forget_callers();
    seen.now_ns += UCB_REST_NS;
    site_bytes[0] = 5 * MIB; // a larger threshold does the same
    play((const int[SITES]){300, 0, 0}, 1);
    MUST(rule_of_site(0) == 2 * MIB || rule_of_site(0) == 4 * MIB);
}

static void a_rule_stays_while_its_site_asks_for_other_sizes(void **state) {
    (void)state;
    child_must_succeed(come_back_with_other_sizes, NULL);
}

// ---- many sites

// Sites one after the other, each of which plays in vain; the last one gets a rule.
static void play_at_many_sites(void *unused) {
    (void)unused;
    begin_test();
    for (unsigned i = 0; i < 2 * ROUTES_MOST; i++) {
        sites[0] += 8;
        MUST(play((const int[SITES]){0, 0, 0}, 1) > UCB_MOST_PLAYS);
        MUST(rule_of_site(0) == 0);
        forget_callers();
        seen.now_ns += UCB_REST_NS;
    }
    play((const int[SITES]){300, 0, 0}, 1);
    MUST(rule_of_site(0) == 2 * MIB);
}

// Nobody plays where there is no room for a rule.
static void play_at_a_full_table(void *unused) {
    (void)unused;
    begin_test();
    for (uintptr_t i = 1; i <= ROUTES_MOST; i++)
        MUST(routes_set(i, MIB));
    for (unsigned i = 0; i < 10; i++)
        MUST(!window_costing(1000, 1));
    routes_drop(1);
    MUST(window_costing(1000, 1) || window_costing(1000, 1));
}

static void any_number_of_sites_may_play_one_after_the_other(void **state) {
    (void)state;
    child_must_succeed(play_at_many_sites, NULL);
    child_must_succeed(play_at_a_full_table, NULL);
}

// ---- beside threads that ask for blocks

static uint32_t asking;

static void *ask_meanwhile(void *number) {
    uintptr_t site = sites[(uintptr_t)number % SITES];
    for (unsigned turn = 0; __atomic_load_n(&asking, __ATOMIC_RELAXED) != 0; turn++) {
        if (turn % 1024 == 0) // seldom: else how much work a window has is chance
            callers_note(site, 3 * MIB);
        size_t threshold = routes_threshold(site, 3 * MIB, BIG_THRESHOLD_BYTES);
        MUST(threshold == BIG_THRESHOLD_BYTES || threshold == 2 * MIB);
    }
    return NULL;
}

static void learn_beside_threads(void *unused) {
    pthread_t threads[SITES];
    (void)unused;
    begin_test();
    for (unsigned i = 0; i < SITES; i++)
        site_bytes[i] = 3 * MIB;
    __atomic_store_n(&asking, 1, __ATOMIC_RELAXED);
    for (uintptr_t i = 0; i < SITES; i++)
        MUST(pthread_create(&threads[i], NULL, ask_meanwhile, (void *)i) == 0);
    play((const int[SITES]){300, 0, 0}, SITES);
    __atomic_store_n(&asking, 0, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < SITES; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(rule_of_site(0) == 2 * MIB && rule_of_site(1) == 0 && rule_of_site(2) == 0);
}

static void threads_that_ask_meanwhile_see_a_rule_or_none(void **state) {
    (void)state;
    child_must_succeed(learn_beside_threads, NULL);
}

// ---- for the file

static void fill_policy(void *unused) {
    static struct policy policy;
    char name[POLICY_WORD_LENGTH];
    (void)unused;
    begin_test();
    play((const int[SITES]){300, 0, 0}, 1);
    os_program_name(name, sizeof name);
    rules_note(0);
    rules_add_noted(&policy);
    MUST(policy.site_count == 1);
    const struct policy_site *row = &policy.sites[0];
    uintptr_t base;
    MUST(strcmp(row->module, name) == 0 && os_find_module(name, &base) && base + row->offset == sites[0]);
    MUST(row->threshold_bytes == 2 * MIB && strcmp(row->evidence.why, "ucb1") == 0);
    MUST(row->evidence.gain_permille >= 200 && row->evidence.gain_permille <= 400);
    MUST(row->evidence.windows >= 2 * UCB_SURE_ERRORS * UCB_SURE_ERRORS && row->evidence.since_seconds >= 1);
    policy.site_count = POLICY_SITES_MOST;
    rules_note(0);
    rules_add_noted(&policy);
    MUST(policy.site_count == POLICY_SITES_MOST);
}

static void the_file_gets_the_rule_with_its_evidence(void **state) {
    (void)state;
    child_must_succeed(fill_policy, NULL);
}

static void fill_childs_policy(void *unused) {
    static struct policy policy;
    (void)unused;
    begin_test();
    play((const int[SITES]){300, 0, 0}, 1);
    rules_begin_life();
    rules_note(seen.now_ns + SECOND_NS);
    rules_add_noted(&policy);
    MUST(policy.site_count == 1 && policy.sites[0].threshold_bytes == 2 * MIB);
    MUST(policy.sites[0].evidence.windows == 0 && policy.sites[0].evidence.since_seconds == 0);
    seen.now_ns += (uint64_t)3600 * SECOND_NS; // it has rested
    play((const int[SITES]){300, 0, 0}, 1);
    policy.site_count = 0;
    rules_note(seen.now_ns - SECOND_NS);
    rules_add_noted(&policy);
    MUST(policy.site_count == 1 && policy.sites[0].evidence.windows >= 2);
    MUST(policy.sites[0].evidence.windows <= 2 * UCB_MOST_PLAYS);
}

static void what_the_parent_saw_is_not_the_childs_evidence(void **state) {
    (void)state;
    child_must_succeed(fill_childs_policy, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_better_threshold_becomes_the_sites_rule),
        cmocka_unit_test(without_a_better_one_nothing_stays),
        cmocka_unit_test(what_changing_costs_is_not_the_arms),
        cmocka_unit_test(without_processor_time_nothing_is_adopted),
        cmocka_unit_test(nobody_plays_who_asks_for_little),
        cmocka_unit_test(after_its_rest_a_site_plays_again),
        cmocka_unit_test(who_asks_no_more_gives_up_his_turn),
        cmocka_unit_test(a_pause_takes_back_what_is_tried),
        cmocka_unit_test(a_rule_from_a_file_stays),
        cmocka_unit_test(a_rule_stays_while_its_site_asks_for_other_sizes),
        cmocka_unit_test(any_number_of_sites_may_play_one_after_the_other),
        cmocka_unit_test(threads_that_ask_meanwhile_see_a_rule_or_none),
        cmocka_unit_test(the_file_gets_the_rule_with_its_evidence),
        cmocka_unit_test(what_the_parent_saw_is_not_the_childs_evidence),
        cmocka_unit_test(without_leave_nothing_is_played),
        cmocka_unit_test(without_leave_no_site_begins),
        cmocka_unit_test(what_playing_cost_was_the_parents),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
