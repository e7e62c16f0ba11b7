// The learner in a process: what modes, options, files and the user have to say, and what is left at the end. Each test
// is a process of its own: the library starts once.
#include "unit/unit.h"

#include <sys/stat.h>

#include "learn/decide.h"
#include "unit/learn/learning.h"

// ---- the beginning

static void start_in_mode(void *mode) {
    bool learns = strcmp(mode, "learning") == 0 || strcmp(mode, "research") == 0;
    start_with(mode, "none");
    MUST((learn_is_on != 0) == learns);
    work(1000);
    MUST((learn_begin_slow() == 0 || learns) && heap_mine() != NULL);
}

static void two_modes_learn(void **state) {
    const char *const modes[] = {"minimal", "fast", "balanced", "learning", "research"};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(modes); i++)
        child_must_succeed(start_in_mode, (void *)(uintptr_t)modes[i]);
}

static void call_slowly(void *unused) {
    (void)unused;
    start_with("learning", "none");
    struct heap *heap = heap_mine();
    heap->learn_turns = heap->learn_left = 0;
    MUST(learn_begin_slow() == 0);
    learn_look_slow(0); // the first one: there is no time before it
    MUST(heap->learn_turns == LEARN_TURNS && heap->learn_left == LEARN_TURNS);
    for (unsigned i = 1; i < LEARN_TURNS; i++) {
        MUST(learn_begin_slow() == 0);
        learn_look_slow(0);
        MUST(heap->learn_left == LEARN_TURNS - i);
    }
    MUST(learn_begin_slow() != 0); // the one that is timed
    heap->learn_turns = LEARN_MOST_TURNS;
    os_sleep(10000);
    learn_look_slow(0); // calls have become few
    MUST(heap->learn_turns == LEARN_TURNS && heap->learn_left == LEARN_TURNS);
}

static void one_slow_call_of_many_is_timed(void **state) {
    (void)state;
    child_must_succeed(call_slowly, NULL);
}

static void start_fast_for_batches(void *unused) {
    (void)unused;
    setenv("HAKMEM_RETAIN_SHARE", "3", 1);
    start_with("fast", "batch");
    MUST(DECIDED(thread_bytes) == 32 * MIB); // the mode's
    MUST(DECIDED(retain_min) == 1024 * GIB); // the profile's, above the mode's
    MUST(DECIDED(retain_share) == 3);        // the option's, above both
    MUST(DECIDED(allowance_least) == 0);     // the default
    MUST(snapshot_now()->depth[CLASS_FIRST] > 0);
}

static void profiles_win_over_modes_and_options_over_both(void **state) {
    (void)state;
    child_must_succeed(start_fast_for_batches, NULL);
}

static void obey(void *unused) {
    (void)unused;
    learn_obey_user(DECISION_retain_min, 77 * MIB); // starts it, if need be
    MUST(DECIDED(retain_min) == 77 * MIB);
    start_with("fast", "batch"); // too late: it has started
    MUST(DECIDED(retain_min) == 77 * MIB && DECIDED(thread_bytes) == STACK_THREAD_BYTES);
}

static void the_user_may_decide_before_anybody_else(void **state) {
    (void)state;
    child_must_succeed(obey, NULL);
}

static void obey_while_learning(void *unused) {
    (void)unused;
    start_with("learning", "none");
    work(1000);
    learn_obey_user(DECISION_retain_min, 77 * MIB);
    work(100000);
    MUST(DECIDED(retain_min) == 77 * MIB);
}

static void the_users_decision_outlives_what_is_learned(void **state) {
    (void)state;
    child_must_succeed(obey_while_learning, NULL);
}

static void start_with_a_file(void *mode) {
    name_file();
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fputs("hakmem-policy 1\nretain_min 99614720\nclass 1040\ndepth 4096 9\nend\n", file);
    fclose(file);
    start_with(mode, "none");
    remove_file();
    MUST(DECIDED(retain_min) == 99614720);
    MUST(class_bytes(class_of(1040)) == 1040 && class_bytes(class_of(1041)) > 1041);
    MUST(snapshot_now()->depth[class_of(4096)] == 9);
    work(1000);
}

static void a_files_decisions_are_in_force_from_the_start(void **state) {
    (void)state;
    child_must_succeed(start_with_a_file, "balanced");
    child_must_succeed(start_with_a_file, "learning");
    child_must_succeed(start_with_a_file, "research");
}

static void collapse_by_a_file(void *mode) {
    static const char text[] = "hakmem-policy 1\ncollapse 1\nend\n";
    bool learns = strcmp(mode, "learning") == 0;
    name_file();
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fputs(text, file);
    fclose(file);
    start_with(mode, "none");
    MUST(learn_is_on == (learns ? LEARN_ON : LEARN_COLLAPSES));
    work(10000);
    os_sleep(COLLAPSE_LOOK_NS / 1000);
    work(10000);
    ask();
    MUST(told.learns == learns && (told.looks > 0) == learns && (told.windows > 0) == learns);
    learn_end();
    struct stat left;
    bool is_left_alone = stat(path, &left) == 0 && left.st_size == (off_t)strlen(text);
    remove_file();
    MUST(is_left_alone != learns);
}

static void a_file_that_says_collapse_has_nothing_else_done(void **state) {
    (void)state;
    child_must_succeed(collapse_by_a_file, "balanced");
    child_must_succeed(collapse_by_a_file, "learning");
}

// ---- the end

static void end_in_mode(void *mode) {
    bool learns = strcmp(mode, "learning") == 0;
    name_file();
    start_with(mode, "none");
    if (learns)
        work_until_looked_at();
    work(10000);
    learn_end();
    unsigned runs = runs_in_file();
    remove_file();
    MUST(runs == learns);
}

static void a_process_that_learns_leaves_a_file(void **state) {
    (void)state;
    child_must_succeed(end_in_mode, "learning");
    child_must_succeed(end_in_mode, "balanced");
}

static void end_at_once(void *unused) {
    (void)unused;
    name_file();
    start_with("learning", "none");
    learn_end();
    MUST(runs_in_file() == 0);
}

static void one_that_has_seen_nothing_leaves_none(void **state) {
    (void)state;
    child_must_succeed(end_at_once, NULL);
}

static void end_family(void *unused) {
    int status;
    (void)unused;
    name_file();
    start_with("learning", "none");
    work(10000);
    for (unsigned i = 0; i < 4; i++) { // two of them work
        pid_t child = fork();
        if (child == 0) {
            usleep(20000); // a look is due
            work(i % 2 == 0 ? 10000 : 0);
            learn_end();
            _exit(0);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
        MUST(runs_in_file() == 1 + i / 2);
    }
    learn_end();
    unsigned runs = runs_in_file();
    remove_file();
    MUST(runs == 3);
}

static void fork_children_that_work_are_runs_of_their_own(void **state) {
    (void)state;
    child_must_succeed(end_family, NULL);
}

// ---- what is told

static void tell_of_looks(void *unused) {
    (void)unused;
    uint64_t begin_ns = os_now_ns();
    start_with("learning", "none");
    ask();
    MUST(told.learns && told.looks == 0 && told.look_ns == 0 && told.windows == 0 && told.history.row_count == 0);
    while (told.looks < 10) {
        work(10000);
        ask();
    }
    MUST(told.history.change_count >= 1);
    MUST(told.windows > 0 && told.seen_blocks == 0); // what notes sizes is above
    MUST(told.look_ns > 0 && told.look_ns < told.run_ns && told.run_ns <= os_now_ns() - begin_ns);
    MUST(told.history.row_count == told.looks);
    const struct history_row *last = &told.history.rows[told.looks - 1];
    MUST(last->at_ns < told.run_ns && last->in_use_bytes > 0 && last->batches > 0);
    MUST(last->thread_bytes == DECIDED(thread_bytes) && last->big_threshold == BIG_THRESHOLD_BYTES);
}

static void looks_and_windows_are_told(void **state) {
    (void)state;
    child_must_succeed(tell_of_looks, NULL);
}

static void tell_in_child(void *unused) {
    int status;
    (void)unused;
    tell_of_looks(NULL);
    pid_t child = fork();
    if (child == 0) {
        ask();
        MUST(told.looks == 0 && told.look_ns == 0 && told.windows == 0 && told.seen_blocks == 0);
        MUST(told.history.row_count == 0 && told.history.change_count == 1);
        while (told.looks == 0) {
            work(10000);
            ask();
        }
        MUST(told.history.row_count == told.looks);
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void a_fork_child_tells_of_itself_alone(void **state) {
    (void)state;
    child_must_succeed(tell_in_child, NULL);
}

// A look comes if one is due.
static void offer_looks(void) {
    for (unsigned i = 0; i < 64; i++)
        learn_look(0);
}

// Looks are paid with the time in which a program is busy: one that sleeps has few.
static void be_busy(void) {
    for (uint64_t end_ns = os_now_ns() + MS_NS; os_now_ns() < end_ns;)
        offer_looks();
}

static bool is_frozen(void) {
    ask();
    return told.state == EVOLUTION_FROZEN;
}

static uint32_t looks_noted(void) {
    return learned.values[DECISION_allowance_first].evidence.windows;
}

static void learn_after_parent(void *unused) {
    int status;
    (void)unused;
    name_file();
    start_with("learning", "none");
    while (!is_frozen()) { // nothing is freed meanwhile
        work(1000);
        be_busy();
    }
    MUST(told.looks > 5);
    pid_t child = fork();
    if (child == 0) {
        ask();
        MUST(told.state == EVOLUTION_LEARN);
        while (told.looks == 0) {
            work(10000);
            ask();
        }
        learn_end();
        MUST(looks_noted() <= told.looks + 1); // and one at the end
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    remove_file();
}

static void a_fork_child_learns_from_what_it_does_itself(void **state) {
    (void)state;
    child_must_succeed(learn_after_parent, NULL);
}

static void tell_of_nothing(void *unused) {
    (void)unused;
    start_with("balanced", "none");
    work(10000);
    ask();
    MUST(!told.learns && told.looks == 0);
}

static void where_nothing_is_learned_nothing_is_told(void **state) {
    (void)state;
    child_must_succeed(tell_of_nothing, NULL);
}

static void end_and_go_on(void *unused) {
    (void)unused;
    name_file();
    start_with("learning", "none");
    work(10000);
    learn_end();
    remove_file();
    ask();
    uint64_t looks = told.looks;
    usleep(20000);
    work(10000);
    ask();
    MUST(looks > 0 && told.looks == looks);
}

static void there_is_no_look_after_the_end(void **state) {
    (void)state;
    child_must_succeed(end_and_go_on, NULL);
}

// Milliseconds for which a thread looks until some of 12 MiB goes that nobody takes; more than `most` where they stay.
static unsigned lies_idle_for(unsigned most) {
    bool zeroed;
    size_t slices = (12 * MIB) >> SLICE_SHIFT, first = runs_take(slices, 1, &zeroed);
    unsigned ms = 0;
    runs_give(first, slices);
    uint64_t purged_bytes = runs_count().purged_bytes;
    for (; ms <= most && runs_count().purged_bytes == purged_bytes; ms++) {
        offer_looks();
        usleep(1000);
    }
    return ms;
}

static void let_idle_go(void *unused) {
    (void)unused;
    start_with("learning", "none");
    work(1000);
    MUST(lies_idle_for(60000) <= 60000);
    learn_obey_user(DECISION_retain_min, 77 * MIB);
    MUST(lies_idle_for(1000) > 1000);
}

static void what_lies_idle_goes_but_where_the_user_holds_it(void **state) {
    (void)state;
    child_must_succeed(let_idle_go, NULL);
}

// So much comes and goes, then a look comes.
static void burst_before_a_look(size_t bytes) {
    bool zeroed;
    size_t slices = bytes >> SLICE_SHIFT;
    runs_give(runs_take(slices, 1, &zeroed), slices);
    ask();
    for (uint64_t looks = told.looks; told.looks == looks; ask()) {
        usleep(1000);
        offer_looks();
    }
}

static void see_bursts(void *unused) {
    (void)unused;
    setenv("HAKMEM_MEMORY_PRICE", "1000", 1); // held for minutes
    start_with("learning", "none");
    work(1000);
    learn_obey_user(DECISION_retain_min, GIB); // nothing is purged, hence nothing faulted in again
    burst_before_a_look(64 * MIB);
    MUST(decided.allowance_least < 32 * MIB);
    burst_before_a_look(64 * MIB);
    MUST(decided.allowance_least >= 60 * MIB);
}

static void what_comes_again_between_looks_is_held(void **state) {
    (void)state;
    child_must_succeed(see_bursts, NULL);
}

static void look_slowly(unsigned calls) {
    for (unsigned i = 0; i < calls; i++)
        learn_look_slow(0);
    ask();
}

// Long before its thread looks at the clock.
static void see_growth(void *unused) {
    bool zeroed;
    (void)unused;
    start_with("research", "none"); // which learns for ever
    work_until_looked_at();
    struct heap *heap = heap_mine();
    os_sleep(20000); // a look may come again
    look_slowly(2 * LEARN_MOST_TURNS);
    os_sleep(20000);
    uint64_t looks = told.looks;
    heap->learn_turns = heap->learn_left = LEARN_MOST_TURNS;
    look_slowly(LEARN_MOVED_TURNS);
    MUST(told.looks == looks);
    runs_take((64 * MIB) >> SLICE_SHIFT, 1, &zeroed);
    look_slowly(LEARN_MOVED_TURNS);
    MUST(told.looks == looks + 1);
    MUST(heap->learn_left == LEARN_MOST_TURNS - 2 * LEARN_MOVED_TURNS);
    look_slowly(LEARN_MOVED_TURNS);
    MUST(told.looks == looks + 1); // nothing has moved since
}

static void much_more_in_use_is_looked_at_soon(void **state) {
    (void)state;
    child_must_succeed(see_growth, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_modes_learn),
        cmocka_unit_test(one_slow_call_of_many_is_timed),
        cmocka_unit_test(profiles_win_over_modes_and_options_over_both),
        cmocka_unit_test(the_user_may_decide_before_anybody_else),
        cmocka_unit_test(the_users_decision_outlives_what_is_learned),
        cmocka_unit_test(a_files_decisions_are_in_force_from_the_start),
        cmocka_unit_test(a_file_that_says_collapse_has_nothing_else_done),
        cmocka_unit_test(a_process_that_learns_leaves_a_file),
        cmocka_unit_test(one_that_has_seen_nothing_leaves_none),
        cmocka_unit_test(fork_children_that_work_are_runs_of_their_own),
        cmocka_unit_test(looks_and_windows_are_told),
        cmocka_unit_test(a_fork_child_tells_of_itself_alone),
        cmocka_unit_test(a_fork_child_learns_from_what_it_does_itself),
        cmocka_unit_test(where_nothing_is_learned_nothing_is_told),
        cmocka_unit_test(there_is_no_look_after_the_end),
        cmocka_unit_test(what_lies_idle_goes_but_where_the_user_holds_it),
        cmocka_unit_test(what_comes_again_between_looks_is_held),
        cmocka_unit_test(much_more_in_use_is_looked_at_soon),
    };
    return cmocka_run_group_tests_name("learn", tests, NULL, NULL);
}
