// What lies idle: who says whether it goes, and what the next run is told.
#include "unit/learn/deciding.h"

#include "sys/options.h"

static void obey(void *unused) {
    (void)unused;
    begin();
    learn_pin(DECISION_retain_min, GIB);
    MUST(!decide_lets_idle_go());
}

static void obey_base(void *decision) {
    begin();
    *snapshot_field(&base, *(enum decision *)decision) = *(enum decision *)decision == DECISION_retain_share ? 2 : GIB;
    decide_start(&base, DECIDE_USUAL, seen.now_ns); // as an option or a profile has it
    MUST(!decide_lets_idle_go());
    seen.retained_bytes = 16 * MIB;
    seen.busy_ns = 1;
    step_later(10 * MS_NS);
    step_later(10 * SECOND_NS);
    MUST(decided.purge_delay == base.purge_delay); // no helper either
}

static void obey_a_policy(void *policy) {
    options.free_policy = *(unsigned *)policy;
    begin();
    MUST(!decide_lets_idle_go());
}

static void what_the_user_holds_stays(void **state) {
    unsigned policies[] = {OPTION_FREE_POLICY_KEEP, OPTION_FREE_POLICY_BATCH};
    (void)state;
    enum decision said[] = {DECISION_retain_min, DECISION_retain_share, DECISION_purge_delay};
    child_must_succeed(obey, NULL);
    for (unsigned i = 0; i < COUNT_OF(said); i++)
        child_must_succeed(obey_base, &said[i]);
    for (unsigned i = 0; i < COUNT_OF(policies); i++)
        child_must_succeed(obey_a_policy, &policies[i]);
}

// For longer than memory is held, with so much processor time in it.
static void pause_with(uint64_t busy_ns) {
    seen.retained_bytes = 16 * MIB;
    seen.busy_ns += busy_ns / LEARN_HASTE;
    step_later(3 * SECOND_NS);
    decide_note(seen.now_ns);
}

static void pause_long(void *unused) {
    (void)unused;
    begin();
    seen.busy_ns = 1;
    step_later(10 * MS_NS);
    pause_with(3 * SECOND_NS);
    MUST(decided.purge_delay > 0); // nobody looked
    MUST(!learned.values[DECISION_purge_delay].is_given);
    pause_with(0);
    MUST(learned.values[DECISION_purge_delay].is_given);
    MUST(learned.values[DECISION_purge_delay].value == decided.purge_delay);
}

static void the_next_run_has_a_helper_where_the_program_slept(void **state) {
    (void)state;
    child_must_succeed(pause_long, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_user_holds_stays),
        cmocka_unit_test(the_next_run_has_a_helper_where_the_program_slept),
    };
    return cmocka_run_group_tests_name("decide idle", tests, NULL, NULL);
}
