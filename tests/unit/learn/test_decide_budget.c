// The budget of stacks in the file: doubled where that was worth it while the program ran, and valid.
#include "unit/learn/deciding.h"

// A program that is denied stacks unless their budget is doubled; then it ends with nothing to do.
static void run_denied(void) {
    unsigned index = class_of(256 * KIB);
    seen.granted_bytes = 6 * MIB;
    for (unsigned i = 0; i < 20; i++) {
        bool is_doubled = decided.thread_bytes > base.thread_bytes;
        seen.classes[index].denied += is_doubled ? 0 : 100000;
        seen.classes[index].refills += 1000;
        step_later(100 * MS_NS);
    }
    MUST(decided.thread_bytes > base.thread_bytes);
}

static void note_doubled(void *unused) {
    (void)unused;
    begin();
    run_denied();
    decide_note(seen.now_ns);
    MUST(learned.values[DECISION_thread_bytes].is_given);
    MUST(learned.values[DECISION_thread_bytes].value == 2 * base.thread_bytes);
    MUST(learned.values[DECISION_all_threads_bytes].value == 2 * base.all_threads_bytes);
}

static void note_bounded(void *unused) {
    (void)unused;
    begin();
    base.thread_bytes = decision_rows[DECISION_thread_bytes].most / 4 * 3; // doubled it would be refused
    base.all_threads_bytes = base.thread_bytes;
    decide_start(&base, DECIDE_USUAL, seen.now_ns);
    run_denied();
    decide_note(seen.now_ns);
    MUST(learned.values[DECISION_thread_bytes].value == decision_rows[DECISION_thread_bytes].most);
}

static void note_after_giving_up(void *unused) {
    struct snapshot before;
    (void)unused;
    begin();
    before = decided;
    run_denied();
    decide_give_up(&before);
    decide_note(seen.now_ns);
    MUST(!learned.values[DECISION_thread_bytes].is_given && !learned.values[DECISION_all_threads_bytes].is_given);
}

static void a_budget_that_was_doubled_is_for_the_next_run(void **state) {
    (void)state;
    child_must_succeed(note_doubled, NULL);
}

static void a_doubled_budget_is_a_valid_decision(void **state) {
    (void)state;
    child_must_succeed(note_bounded, NULL);
}

static void a_budget_given_up_does_not_come_back_by_the_file(void **state) {
    (void)state;
    child_must_succeed(note_after_giving_up, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_that_was_doubled_is_for_the_next_run),
        cmocka_unit_test(a_doubled_budget_is_a_valid_decision),
        cmocka_unit_test(a_budget_given_up_does_not_come_back_by_the_file),
    };
    return cmocka_run_group_tests_name("budget of stacks, decided", tests, NULL, NULL);
}
