// What CANARY found to be worse is gone: from what is in force, from the file, and from what the next LEARN begins
// with.
#include "unit/learn/deciding.h"

static void give_up_depths(void *unused) {
    struct snapshot before;
    (void)unused;
    begin();
    before = decided;
    unsigned index = class_of(16384);
    seen.classes[index].refills = 1;
    step_later(100 * MS_NS);
    for (unsigned i = 0; i < 3; i++) {
        seen.classes[index].refills += 100000 >> i;
        step_later(100 * MS_NS);
    }
    MUST(decided.depth[index] > base.depth[index]);
    decide_give_up(&before);
}

static void note_after_giving_up(void *unused) {
    give_up_depths(unused);
    decide_note(seen.now_ns);
    MUST(learned.depth_count == 0);
}

static void depths_given_up_do_not_come_back_by_the_file(void **state) {
    (void)state;
    child_must_succeed(note_after_giving_up, NULL);
}

static void learn_anew_after_giving_up(void *unused) {
    give_up_depths(unused);
    unsigned index = class_of(16384);
    decide_anew();
    seen.classes[index].refills += 25000 * 600;
    step_later(60 * SECOND_NS);                          // FROZEN; its batches are as many as before
    MUST(decided.depth[index] <= 2 * base.depth[index]); // a first trial at most
}

static void depths_given_up_do_not_come_back_with_learn(void **state) {
    (void)state;
    child_must_succeed(learn_anew_after_giving_up, NULL);
}

static void change_nothing_after_giving_up(void *unused) {
    (void)unused;
    begin();
    struct snapshot before = decided;
    for (unsigned i = 0; i < 4; i++) {
        seen.refaulted_bytes += 40 * MIB;
        seen.allowance_bytes = 40 * MIB;
        step_later(100 * MS_NS);
    }
    MUST(decided.allowance_least == 40 * MIB);
    decide_give_up(&before);
    decide_anew();
    seen.now_ns += 60 * SECOND_NS;
    decide_hold(&seen);
    MUST(decided.allowance_least == 0);
    MUST(!step_later(100 * MS_NS)); // nothing was decided
}

static void giving_up_is_no_change_in_the_next_learn(void **state) {
    (void)state;
    child_must_succeed(change_nothing_after_giving_up, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depths_given_up_do_not_come_back_by_the_file),
        cmocka_unit_test(depths_given_up_do_not_come_back_with_learn),
        cmocka_unit_test(giving_up_is_no_change_in_the_next_learn),
    };
    return cmocka_run_group_tests_name("decide, given up", tests, NULL, NULL);
}
