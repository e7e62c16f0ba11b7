// What all stacks together may hold: doubled on trial, where that is what stacks lack.
#include "unit/unit.h"

#include "unit/policy/depths_program.h"

static void the_budget_grows_as_depths_have_grown(void **state) {
    (void)state;
    step(CLASS, 0);
    assert_int_equal(program.snapshot.thread_bytes, STACK_THREAD_BYTES);
    assert_int_equal(program.snapshot.all_threads_bytes, STACK_ALL_THREADS_BYTES);
    deepen(OTHER, MIB, 4, 14);
    deepen(OTHER + 1, MIB / 2, 20, 10); // shallower: that is no loan to others
    deepen(CLASS + 1, 32 * KIB, 3, 67);
    program.seen.threads = 5;
    step(CLASS, 0);
    assert_int_equal(program.snapshot.thread_bytes, STACK_THREAD_BYTES + 12 * MIB);
    assert_int_equal(program.snapshot.all_threads_bytes, 5 * (STACK_THREAD_BYTES + 12 * MIB));
}

static void the_budget_is_at_most_an_eighth_of_what_is_in_use(void **state) {
    (void)state;
    deepen(OTHER, MIB, 20, 120);
    program.seen.in_use_bytes = 400 * MIB;
    step(CLASS, 0);
    assert_int_equal(program.snapshot.thread_bytes, 400 * MIB / 8);
    program.seen.threads = 4;
    step(CLASS, 0);
    assert_int_equal(program.snapshot.thread_bytes, 400 * MIB / 8 / 4);
    program.seen.in_use_bytes = MIB;
    step(CLASS, 0);
    assert_int_equal(program.snapshot.thread_bytes, STACK_THREAD_BYTES);
}

// A thread whose large blocks do not fit the budget: so many batches a second, of which a doubled budget saves a part.
static unsigned tries_of_budget(unsigned steps, double saves) {
    unsigned trials = 0;
    begin_class(OTHER, MIB, STACK_MAX_DEPTH);
    program.seen.cached_bytes = 4 * MIB;
    for (unsigned i = 0; i < steps; i++) {
        size_t before = program.snapshot.thread_bytes;
        program.seen.granted_bytes = before - MIB;
        double rate = 20000;
        for (size_t budget = before; budget > STACK_THREAD_BYTES; budget /= 2)
            rate *= 1 - saves;
        step(OTHER, (uint64_t)rate);
        trials += program.snapshot.thread_bytes > before;
    }
    return trials;
}

static void a_budget_that_is_too_small_is_doubled(void **state) {
    (void)state;
    assert_int_equal(tries_of_budget(40, 0.3), 3);
    assert_int_equal(program.snapshot.thread_bytes, 8 * STACK_THREAD_BYTES); // and no further
}

// Four steps of a program whose stacks have spent the budget; with the last one more of it is tried.
static void begin_trial_of_budget(void) {
    begin_class(OTHER, MIB, 1);
    program.seen.cached_bytes = 4 * MIB;
    program.seen.granted_bytes = STACK_THREAD_BYTES - MIB;
    step(CLASS, 0);
    step(CLASS, 0);
    step(CLASS, 10000);
    assert_int_equal(program.state.classes[CLASS].trial, DEPTH_TRIED);
    assert_int_equal(depth_of(CLASS), 32);
    program.batches[OTHER] += 20000;
    step(CLASS, 10000);
    assert_int_equal(program.state.budget.trial, DEPTH_TRIED);
    assert_int_equal(program.snapshot.thread_bytes, 2 * STACK_THREAD_BYTES);
}

static void along_with_the_budget_depths_are_tried_and_go(void **state) {
    (void)state;
    begin_trial_of_budget(); // what it does to others says nothing about a depth that is being tried
    assert_int_equal(depth_of(CLASS), 64);
    assert_int_equal(depth_of(OTHER), 2);
    assert_int_equal(program.snapshot.batch[OTHER], 1);
    program.batches[OTHER] += 20000;
    assert_int_equal(step(CLASS, 10000), 2);
    assert_int_equal(program.state.budget.doublings, 0);
    assert_int_equal(depth_of(CLASS), 32);
    assert_int_equal(depth_of(OTHER), 1);
    assert_int_equal(program.state.classes[OTHER].trial, DEPTH_IDLE);
}

static void along_with_the_budget_depths_stay(void **state) {
    (void)state;
    begin_trial_of_budget();
    program.batches[OTHER] += 10000;
    assert_int_equal(step(CLASS, 10000), 0);
    assert_int_equal(program.snapshot.thread_bytes, 2 * STACK_THREAD_BYTES);
    assert_int_equal(depth_of(CLASS), 64);
    assert_int_equal(depth_of(OTHER), 2);
    program.batches[OTHER] += 10000;
    step(CLASS, 0); // from now on each is judged for itself
    assert_int_equal(depth_of(OTHER), 4);
    assert_int_equal(program.state.classes[OTHER].trial, DEPTH_TRIED);
}

static void a_trial_that_is_broken_off_ends_for_what_goes_along(void **state) {
    (void)state;
    begin_trial_of_budget();
    depths_settle(&program.state);
    assert_int_equal(program.state.classes[OTHER].trial, DEPTH_IDLE);
    assert_int_equal(program.state.classes[CLASS].trial, DEPTH_IDLE);
}

// What moves too little for its memory, or has the greatest depth there is, has nothing to be tried.
static void along_with_the_budget_goes_only_what_may_pay(void **state) {
    (void)state;
    enum { SLOW = OTHER + 1, DEEPEST = OTHER + 2 };
    begin_class(SLOW, MIB, 1);
    begin_class(DEEPEST, 32 * KIB, STACK_MAX_DEPTH);
    program.batches[SLOW] = program.batches[DEEPEST] = 1;
    begin_trial_of_budget();
    assert_int_equal(depth_of(SLOW), 1);
    assert_int_equal(program.state.classes[SLOW].trial, DEPTH_IDLE);
    assert_int_equal(depth_of(DEEPEST), STACK_MAX_DEPTH);
}

// A class deeper than there was room for moves as many batches as before.
static void what_was_of_no_use_without_room_is_tried_with_it(void **state) {
    (void)state;
    begin_class(OTHER, MIB, 1);
    program.seen.in_use_bytes = 100 * MIB;
    program.seen.cached_bytes = 4 * MIB;
    program.seen.granted_bytes = STACK_THREAD_BYTES - MIB;
    for (unsigned i = 0; i < 3; i++)
        step(OTHER, 20000);
    assert_int_equal(program.state.classes[OTHER].trial, DEPTH_USELESS);
    assert_int_equal(depth_of(OTHER), 1);
    step(OTHER, 20000);
    assert_int_equal(depth_of(OTHER), 2);
    step(OTHER, 10000); // with twice the budget
    assert_int_equal(program.state.classes[OTHER].trial, DEPTH_IDLE);
    assert_int_equal(depth_of(OTHER), 2);
}

// What stacks may hold at most is never more than all that the program has.
static void a_program_that_has_little_at_times_keeps_its_budget(void **state) {
    (void)state;
    begin_class(OTHER, MIB, 1);
    program.seen.cached_bytes = 2 * MIB;
    program.seen.granted_bytes = STACK_THREAD_BYTES - MIB;
    for (unsigned i = 0; i < 40; i++) {
        program.seen.in_use_bytes = i % 7 == 0 ? MIB : 100 * MIB;
        step(OTHER, 20000);
        assert_int_equal(program.state.budget.doublings, 0);
    }
    program.seen.granted_bytes = MIB; // nothing limits it for a moment, and what was before that is forgotten
    program.seen.in_use_bytes = MIB;
    step(OTHER, 20000);
    program.seen.in_use_bytes = 100 * MIB;
    program.seen.granted_bytes = STACK_THREAD_BYTES - MIB;
    unsigned steps = 0;
    for (; program.state.budget.doublings == 0 && steps < 6; steps++)
        step(OTHER, 20000);
    assert_true(steps < 6);
}

static void a_doubled_budget_that_does_not_help_is_taken_back(void **state) {
    (void)state;
    assert_int_equal(tries_of_budget(40, 0.05), 1);
    assert_int_equal(program.snapshot.thread_bytes, STACK_THREAD_BYTES);
}

static void a_doubled_budget_goes_with_what_it_was_for(void **state) {
    (void)state;
    tries_of_budget(40, 0.3);
    for (unsigned i = 0; i < 40; i++)
        step(OTHER, 1);
    assert_int_equal(program.snapshot.thread_bytes, STACK_THREAD_BYTES);
}

static void budget_stays(void) {
    for (unsigned i = 0; i < 40; i++) {
        step(OTHER, 20000);
        assert_int_equal(program.snapshot.thread_bytes, STACK_THREAD_BYTES);
    }
}

static void a_budget_that_is_not_used_is_not_doubled(void **state) {
    (void)state;
    begin_class(OTHER, MIB, STACK_MAX_DEPTH);
    program.seen.granted_bytes = STACK_THREAD_BYTES / 2;
    budget_stays();
    program.seen.granted_bytes = STACK_THREAD_BYTES;
    program.seen.cached_bytes = GIB / 4; // or holds much of the heap
    budget_stays();
    program.seen.cached_bytes = 0;
    program.seen.in_use_bytes = STACK_THREAD_BYTES - 1; // or could hold more than there is
    budget_stays();
}

// Few of several threads work: what they hold is far from the budget of all.
static void begin_with_idle_threads(void) {
    begin_class(OTHER, 256 * KIB, 4);
    program.seen.threads = 5;
    program.seen.granted_bytes = 24 * MIB;
    program.seen.cached_bytes = 8 * MIB;
    program.seen.in_use_bytes = 80 * MIB;
}

static void a_budget_is_too_small_where_stacks_are_denied_for_lack_of_it(void **state) {
    (void)state;
    begin_with_idle_threads();
    for (unsigned i = 0; i < 20; i++)
        step_denied(10000, 100); // a few are
    assert_int_equal(program.snapshot.all_threads_bytes, STACK_ALL_THREADS_BYTES);
    size_t twice = 2 * (STACK_ALL_THREADS_BYTES / 5 * 5);
    for (unsigned i = 0; i < 20; i++) // and none with twice the budget
        step_denied(1000, program.snapshot.all_threads_bytes < twice ? 100000 : 0);
    assert_int_equal(program.snapshot.all_threads_bytes, twice);
    assert_int_equal(program.snapshot.thread_bytes, twice / 5);
    assert_int_equal(depths_lasting_doublings(&program.state), 1); // in the time, too, that it made unlimited
}

// Steps a fiftieth of a second apart.
static void deny_for(unsigned steps, uint64_t denied_rate) {
    for (unsigned i = 0; i < steps; i++) {
        program.seen.now_ns -= (STEP_MS - 20) * MS_NS;
        step_denied(1000, denied_rate);
    }
}

static void what_limits_stacks_for_a_moment_doubles_nothing(void **state) {
    (void)state;
    begin_with_idle_threads();
    for (unsigned i = 0; i < 20; i++) {
        deny_for(7, 1000000);
        deny_for(1, 0);
        assert_int_equal(program.state.budget.doublings, 0);
    }
    deny_for(8, 1000000);
    assert_int_equal(program.state.budget.doublings, 1);
}

static void a_doubled_budget_goes_where_half_of_the_heap_lies_in_stacks(void **state) {
    (void)state;
    begin_with_idle_threads();
    for (unsigned i = 0; i < 20; i++)
        step_denied(1000, program.snapshot.all_threads_bytes == STACK_ALL_THREADS_BYTES ? 100000 : 0);
    assert_true(program.snapshot.all_threads_bytes > STACK_ALL_THREADS_BYTES);
    program.seen.cached_bytes = 41 * MIB;
    for (unsigned i = 0; i < 20; i++)
        step_denied(1000, 100000);
    assert_int_equal(program.snapshot.all_threads_bytes, STACK_ALL_THREADS_BYTES);
}

// What a program that had 100,000 denied requests a second moves besides, and has of those, with a doubled budget.
static size_t budget_where_others_move(uint64_t before, uint64_t then, uint64_t denied) {
    begin_with_idle_threads();
    size_t most = 0;
    for (unsigned i = 0; i < 8; i++) {
        bool is_doubled = program.snapshot.all_threads_bytes > STACK_ALL_THREADS_BYTES;
        most = is_doubled ? program.snapshot.all_threads_bytes : most;
        program.batches[OTHER] += (is_doubled ? then : before) * STEP_MS / 1000;
        step_denied(0, is_doubled ? denied : 100000);
    }
    assert_true(most > 0); // it was tried
    return program.snapshot.all_threads_bytes;
}

static void a_faster_program_moves_more_and_keeps_its_budget(void **state) {
    (void)state;
    assert_true(budget_where_others_move(400000, 550000, 0) > STACK_ALL_THREADS_BYTES);
    begin(state);
    assert_int_equal(budget_where_others_move(400000, 700000, 0), STACK_ALL_THREADS_BYTES);
    begin(state);
    assert_int_equal(budget_where_others_move(400000, 400000, 90000), STACK_ALL_THREADS_BYTES);
}

// ---- and for the next run

static void what_limited_stacks_is_doubled_for_good(void **state) {
    (void)state;
    assert_int_equal(depths_lasting_doublings(&program.state), 0);
    tries_of_budget(60, 0.3);
    assert_int_equal(program.state.budget.doublings, 3);
    assert_int_equal(depths_lasting_doublings(&program.state), 3);
    program.seen.granted_bytes = MIB;
    for (unsigned i = 0; i < 200; i++) // the program's last phase needs none of it
        step(OTHER, 1);
    assert_int_equal(program.state.budget.doublings, 0);
    assert_in_range(depths_lasting_doublings(&program.state), 2, 3);
}

static void what_did_not_help_is_not(void **state) {
    (void)state;
    tries_of_budget(40, 0.05);
    assert_int_equal(depths_lasting_doublings(&program.state), 0);
}

// Else the next start would refuse the file in which they stand.
static void the_budget_is_a_valid_decision(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST_LARGE; i < CLASS_END; i++)
        deepen(i, MIB, 1, STACK_MAX_DEPTH);
    program.seen.in_use_bytes = 1024 * GIB;
    program.seen.threads = 100;
    step(CLASS, 0);
    assert_int_equal(program.snapshot.thread_bytes, decision_rows[DECISION_thread_bytes].most);
    assert_int_equal(program.snapshot.all_threads_bytes, decision_rows[DECISION_all_threads_bytes].most);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_budget_grows_as_depths_have_grown, begin),
        cmocka_unit_test_setup(the_budget_is_at_most_an_eighth_of_what_is_in_use, begin),
        cmocka_unit_test_setup(a_budget_that_is_too_small_is_doubled, begin),
        cmocka_unit_test_setup(along_with_the_budget_depths_are_tried_and_go, begin),
        cmocka_unit_test_setup(along_with_the_budget_depths_stay, begin),
        cmocka_unit_test_setup(a_trial_that_is_broken_off_ends_for_what_goes_along, begin),
        cmocka_unit_test_setup(along_with_the_budget_goes_only_what_may_pay, begin),
        cmocka_unit_test_setup(what_was_of_no_use_without_room_is_tried_with_it, begin),
        cmocka_unit_test_setup(a_program_that_has_little_at_times_keeps_its_budget, begin),
        cmocka_unit_test_setup(a_doubled_budget_that_does_not_help_is_taken_back, begin),
        cmocka_unit_test_setup(a_doubled_budget_goes_with_what_it_was_for, begin),
        cmocka_unit_test_setup(a_budget_that_is_not_used_is_not_doubled, begin),
        cmocka_unit_test_setup(the_budget_is_a_valid_decision, begin),
        cmocka_unit_test_setup(a_budget_is_too_small_where_stacks_are_denied_for_lack_of_it, begin),
        cmocka_unit_test_setup(what_limits_stacks_for_a_moment_doubles_nothing, begin),
        cmocka_unit_test_setup(a_doubled_budget_goes_where_half_of_the_heap_lies_in_stacks, begin),
        cmocka_unit_test_setup(a_faster_program_moves_more_and_keeps_its_budget, begin),
        cmocka_unit_test_setup(what_limited_stacks_is_doubled_for_good, begin),
        cmocka_unit_test_setup(what_did_not_help_is_not, begin),
    };
    return cmocka_run_group_tests_name("budget of stacks", tests, NULL, NULL);
}
