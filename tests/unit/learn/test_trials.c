// What is tried in a running program, and its two budgets: processor time, and memory. Each test is a process.
#include "unit/unit.h"

#include "learn/parts.h"
#include "learn/tournament.h"
#include "learn/trials.h"
#include "policy/modes.h"
#include "sys/options.h"

#define ENOUGH ((uint64_t)TRYOUT_LEAST_BYTES)
static struct observation seen;
static struct snapshot snapshot;
static double lost_ns; // by arms, whether they had settled or not

static void begin(size_t share) {
    os_start();
    size_class_start();
    options.mode = MODE_research;
    options.trial_share = share;
    parts_read();
    tournament_start();
    snapshot_default(&snapshot);
    seen.now_ns = SECOND_NS;
    seen.in_use_bytes = 40 * MIB;
    seen.retained_bytes = 20 * MIB;
}

static bool is_tried(void) {
    return snapshot.big_threshold != BIG_THRESHOLD_BYTES;
}

// A look, after a window in which arms cost `times` as much as the default.
static bool look_after(uint64_t window_ns, uint64_t times) {
    uint64_t busy_ns = is_tried() ? times * window_ns : window_ns;
    lost_ns += (double)(busy_ns - window_ns) / LEARN_HASTE;
    seen.now_ns += window_ns;
    seen.busy_ns += busy_ns / LEARN_HASTE;
    seen.big_bytes += ENOUGH * window_ns / TRYOUT_NS;
    return trials_step(&seen, &snapshot);
}

static void look_until_something_is_tried(void) {
    for (unsigned i = 0; i < 10000 && !is_tried(); i++)
        look_after(TRYOUT_NS, 1);
    MUST(is_tried());
}

static void wait_for_the_first_turn(void *unused) {
    (void)unused;
    begin(1);
    while (seen.busy_ns + TRYOUT_NS / LEARN_HASTE < TRYOUT_FIRST_NS) {
        look_after(TRYOUT_NS, 1);
        MUST(!is_tried() && !trials_are_on());
    }
    look_until_something_is_tried();
}

static void a_short_program_tries_nothing(void **state) {
    (void)state;
    child_must_succeed(wait_for_the_first_turn, NULL);
}

// One turn more than is paid for, at most: a game of two arms, which settle.
static void keep_to_a_part(void *unused) {
    unsigned tried = 0, most_turn = 2 * (TRYOUT_SETTLING_WINDOWS + 1);
    (void)unused;
    begin(100 * LEARN_HASTE);
    for (unsigned i = 0; i < 200000; i++) {
        look_after(TRYOUT_NS, 3);
        tried += is_tried();
        MUST(lost_ns <= (double)seen.busy_ns / 100 + (double)(most_turn * 2 * TRYOUT_NS / LEARN_HASTE));
    }
    MUST(tried > 100);
    MUST(lost_ns <= (double)seen.busy_ns / 100);
    MUST(trials_regret_ns() >= lost_ns);
}

static void pay_first(void *unused) {
    double last_ns = 0, before_ns = 0;
    bool had_turn = false;
    (void)unused;
    begin(100 * LEARN_HASTE);
    for (unsigned i = 0; i < 100000; i++) {
        double regret_ns = trials_regret_ns();
        bool has_turn = look_after(TRYOUT_NS, 3);
        if (has_turn && !had_turn) {
            MUST((regret_ns + last_ns) * 100 <= (double)seen.busy_ns);
            before_ns = regret_ns;
        }
        if (!has_turn && had_turn)
            last_ns = trials_regret_ns() - before_ns;
        had_turn = has_turn;
    }
    MUST(last_ns > 0);
}

static void a_turn_is_paid_before_it_begins(void **state) {
    (void)state;
    child_must_succeed(pay_first, NULL);
}

static void trying_costs_its_part_of_the_time(void **state) {
    (void)state;
    child_must_succeed(keep_to_a_part, NULL);
}

static void take_all_it_takes(void *unused) {
    unsigned tried = 0;
    (void)unused;
    begin(1);
    look_until_something_is_tried();
    for (unsigned i = 0; i < 100; i++) {
        look_after(TRYOUT_NS, 3);
        tried += is_tried();
    }
    MUST(tried > 40); // by turns with the default
}

static void it_may_take_all_it_takes(void **state) {
    (void)state;
    child_must_succeed(take_all_it_takes, NULL);
}

static void limit_what_is_held(void *most) {
    size_t held = *(size_t *)most;
    begin(100 * LEARN_HASTE);
    snapshot.held_most = held;
    seen.retained_bytes = 24 * MIB;
    look_after(TRYOUT_NS, 1);
    seen.retained_bytes = 20 * MIB;
    look_until_something_is_tried();
    size_t more = 64 * MIB / TRYOUT_MEMORY_SHARE;
    MUST(snapshot.held_most == (held != 0 ? held : 64 * MIB + more));
    while (look_after(TRYOUT_NS, 3))
        MUST(snapshot.held_most == (held != 0 ? held : 64 * MIB + more));
    MUST(trials_are_on() && !is_tried() && snapshot.held_most == (held != 0 ? held : 64 * MIB)); // the way back
    seen.retained_bytes = 30 * MIB;
    for (unsigned i = 0; i <= TRYOUT_COOLING_WINDOWS; i++)
        look_after(TRYOUT_NS, 3);
    MUST(!trials_are_on() && snapshot.held_most == held);
}

static void the_program_holds_hardly_more_meanwhile(void **state) {
    size_t most[] = {0, 50 * MIB}; // of somebody else
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(most); i++)
        child_must_succeed(limit_what_is_held, &most[i]);
}

static void end_where_there_is_no_room(void *unused) {
    (void)unused;
    begin(1);
    look_until_something_is_tried();
    seen.in_use_bytes = 60 * MIB;
    seen.retained_bytes = 0;
    unsigned windows = 0;
    while (trials_are_on() && windows++ < 1000)
        look_after(TRYOUT_NS, 1);
    MUST(windows <= 2 * (TRYOUT_SETTLING_WINDOWS + 1) + TRYOUT_COOLING_WINDOWS);
    MUST(snapshot.held_most == 0 && !is_tried());
    seen.retained_bytes = 20 * MIB;
    look_until_something_is_tried();
    MUST(snapshot.held_most >= 80 * MIB);
}

static void a_program_that_grows_gets_room(void **state) {
    (void)state;
    child_must_succeed(end_where_there_is_no_room, NULL);
}

static void count_what_came_again(void *unused) {
    (void)unused;
    begin(100 * LEARN_HASTE);
    seen.refaulted_bytes = 7 * MIB;
    look_until_something_is_tried();
    MUST(trials_refaulted_bytes() == 0);
    uint64_t windows = 0;
    for (bool counts = true; counts; windows += counts) {
        seen.refaulted_bytes += MIB;
        counts = trials_are_on();
        look_after(TRYOUT_NS, 3);
    }
    MUST(windows > 0 && trials_refaulted_bytes() == windows * MIB);
}

static void what_was_faulted_in_meanwhile_is_counted_apart(void **state) {
    (void)state;
    child_must_succeed(count_what_came_again, NULL);
}

static void begin_a_childs_life(void *unused) {
    (void)unused;
    begin(1);
    look_until_something_is_tried();
    for (unsigned i = 0; i < 20; i++)
        look_after(TRYOUT_NS, 3);
    MUST(trials_regret_ns() > 0);
    trials_begin_life(&snapshot);
    MUST(trials_regret_ns() == 0 && !trials_are_on() && snapshot.held_most == 0);
    seen.busy_ns = 0;
    look_after(TRYOUT_NS, 1);
    MUST(!trials_are_on());
    seen.in_use_bytes = seen.retained_bytes = 5 * MIB; // hardly anything of its parent's
    trials_begin_life(&snapshot);
    look_until_something_is_tried();
    MUST(snapshot.held_most < 11 * MIB);
}

static void a_fork_child_has_tried_nothing(void **state) {
    (void)state;
    child_must_succeed(begin_a_childs_life, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_program_tries_nothing),
        cmocka_unit_test(trying_costs_its_part_of_the_time),
        cmocka_unit_test(a_turn_is_paid_before_it_begins),
        cmocka_unit_test(it_may_take_all_it_takes),
        cmocka_unit_test(the_program_holds_hardly_more_meanwhile),
        cmocka_unit_test(a_program_that_grows_gets_room),
        cmocka_unit_test(what_was_faulted_in_meanwhile_is_counted_apart),
        cmocka_unit_test(a_fork_child_has_tried_nothing),
    };
    return cmocka_run_group_tests_name("trials", tests, NULL, NULL);
}
