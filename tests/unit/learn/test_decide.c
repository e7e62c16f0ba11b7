// What is decided follows from what was observed; the file gets what was learned, and nothing else. Each test is a
// process: a program's decisions are made once.
#include "unit/unit.h"

#include "learn/parts.h"
#include "policy/retention.h"
#include "sample/lives.h"
#include "sys/options.h"
#include "unit/learn/deciding.h"

// ---- what a file says

static void take_a_policy(void *unused) {
    (void)unused;
    begin();
    unsigned index = class_of(4096);
    learned.values[DECISION_retain_min] = (struct policy_value){.is_given = true, .value = 99 * MIB};
    learned.classes[learned.class_count++].bytes = 1040;
    learned.closed[learned.closed_count++].bytes = 1280;
    learned.closed[learned.closed_count++].bytes = 1281; // no class has that size
    learned.depths[learned.depth_count++] = (struct policy_depth){4096, 9};
    learned.depths[learned.depth_count++] = (struct policy_depth){4097, 9};
    decide_take_policy();
    MUST(decided.retain_min == 99 * MIB && decided.retain_share == base.retain_share);
    MUST(has_spare(1040));
    MUST(decided.closed[class_of(1280)] == 1);
    MUST(decided.depth[index] == 9 && decided.batch[index] == 5);
    unsigned differing = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        differing += decided.depth[i] != base.depth[i] || decided.closed[i] != 0;
    MUST(differing == 2);
}

static void a_files_decisions_are_taken_over(void **state) {
    (void)state;
    child_must_succeed(take_a_policy, NULL);
}

static void take_a_tolerance(void *unused) {
    unsigned closed = 0;
    (void)unused;
    begin();
    learned.values[DECISION_w_max] = (struct policy_value){.is_given = true, .value = 140};
    learned.closed[learned.closed_count++].bytes = 16 * 3; // by a line of its own
    decide_take_policy();
    MUST(decided.w_max == 140);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        closed += decided.closed[i];
    MUST(closed > 10 && decided.closed[class_of(48)] == 1);
    MUST(decided.closed[class_of(1152)] == 1); // 1280 is at most 1.4 times 1025
    learn_publish(&decided);
    MUST(heap_change_classes());
    for (size_t bytes = 1; bytes <= CLASS_LARGE_MAX; bytes += bytes / 100 + 1)
        MUST(class_bytes(class_of(bytes)) * 100 <= bytes * 140 || bytes < 160);
    MUST(class_bytes(class_of(1025)) > 1152 && class_bytes(class_of(1024)) == 1024);
}

static void a_tolerance_in_a_file_closes_classes(void **state) {
    (void)state;
    child_must_succeed(take_a_tolerance, NULL);
}

// ---- memory and depths

static void refault(void *unused) {
    (void)unused;
    begin();
    MUST(!step_later(100 * MS_NS));
    for (unsigned i = 0; i < 3; i++) {
        seen.refaulted_bytes += 40 * MIB;
        seen.allowance_bytes = 40 * MIB;
        MUST(step_later(100 * MS_NS) == (i == 0)); // a change, once
    }
    MUST(decided.allowance_least == 40 * MIB);
    decide_note(seen.now_ns);
    const struct policy_value *row = &learned.values[DECISION_allowance_first];
    MUST(row->is_given && row->value == 32 * MIB && strcmp(row->evidence.why, "refaults") == 0); // a level below
    MUST(row->evidence.windows == 4);
}

static void memory_that_is_needed_again_is_held(void **state) {
    (void)state;
    child_must_succeed(refault, NULL);
}

// Also after LEARN: what the program does no more would be held for good.
static void stop_refaulting(void *unused) {
    (void)unused;
    refault(NULL);
    seen.page.fault_ns *= 4; // worth holding for longer
    uint64_t hold_ns = retention_hold_ns(retention_ns(&seen.page, COST_MIB_SECOND_NS));
    seen.now_ns += hold_ns / 2;
    decide_hold(&seen);
    MUST(decided.allowance_least == 40 * MIB); // it may come again
    seen.now_ns += hold_ns;
    decide_hold(&seen);
    MUST(decided.allowance_least == 0);
}

static void memory_that_is_needed_no_more_is_let_go(void **state) {
    (void)state;
    child_must_succeed(stop_refaulting, NULL);
}

static void move_batches(void *unused) {
    (void)unused;
    begin();
    unsigned index = class_of(2048);
    seen.classes[index].refills = 1;
    step_later(100 * MS_NS);
    seen.classes[index].refills += 100000;
    MUST(!step_later(100 * MS_NS)); // depths wander, which is no change
    MUST(decided.depth[index] > base.depth[index]);
    decide_note(seen.now_ns);
    MUST(learned.depth_count == 1 && learned.depths[0].bytes == 2048);
    MUST(learned.depths[0].depth == decided.depth[index]);
    decide_note(seen.now_ns); // again, as after a fork
    MUST(learned.depth_count == 1);
}

static void a_stack_that_is_often_empty_becomes_deeper(void **state) {
    (void)state;
    child_must_succeed(move_batches, NULL);
}

// ---- headroom

// So many blocks of a MiB were copied since the last look.
static bool copy_later(uint64_t later_ns, unsigned blocks) {
    seen.grown_blocks += blocks;
    seen.grown_bytes += blocks * MIB;
    return step_later(later_ns);
}

static void copy_much(void *unused) {
    (void)unused;
    begin();
    seen.grown_blocks = 1000; // before the first look
    seen.grown_bytes = GIB;
    MUST(!step_later(100 * MS_NS) && decided.headroom_share == REALLOC_HEADROOM_SHARE);
    MUST(!copy_later(100 * MS_NS, 1) && decided.headroom_share == REALLOC_HEADROOM_SHARE); // little
    MUST(copy_later(100 * MS_NS, 100) && decided.headroom_share == REALLOC_HEADROOM_SHARE / 2);
    MUST(!copy_later(100 * MS_NS, 0) && decided.headroom_share == REALLOC_HEADROOM_SHARE / 2);
    decide_note(seen.now_ns);
    const struct policy_value *row = &learned.values[DECISION_headroom_share];
    MUST(row->is_given && row->value == REALLOC_HEADROOM_SHARE / 2 && strcmp(row->evidence.why, "copies") == 0);
    MUST(!learned.values[DECISION_big_threshold].is_given);
}

static void copy_between_frequent_looks(void *unused) {
    (void)unused;
    begin();
    step_later(5 * MS_NS);
    for (unsigned i = 0; i < 3; i++)
        MUST(!copy_later(5 * MS_NS, 5)); // too short a time
    MUST(copy_later(5 * MS_NS, 5) && decided.headroom_share == REALLOC_HEADROOM_SHARE / 2);
}

static void where_much_is_copied_blocks_that_grow_get_more_room(void **state) {
    (void)state;
    child_must_succeed(copy_much, NULL);
    child_must_succeed(copy_between_frequent_looks, NULL);
}

// ---- a fork child

static void begin_another_life(void *unused) {
    (void)unused;
    begin();
    unsigned index = class_of(16384);
    seen.classes[index].refills = 1;
    step_later(100 * MS_NS);
    for (unsigned i = 0; i < 3; i++) {
        seen.classes[index].refills += 100000 >> i;
        copy_later(100 * MS_NS, i == 0 ? 100 : 0);
    }
    unsigned depth = decided.depth[index];
    size_t share = decided.headroom_share;
    MUST(depth > base.depth[index] && share < REALLOC_HEADROOM_SHARE);
    decide_begin_life(seen.now_ns + 59 * SECOND_NS);
    seen.classes[index].refills += 100; // before the fork, as the next ones
    copy_later(60 * SECOND_NS, 100);
    MUST(decided.depth[index] == depth && decided.headroom_share == share);
    seen.classes[index].refills += 12500;
    MUST(copy_later(100 * MS_NS, 100) && decided.headroom_share == share / 2); // by what came since
    decide_note(seen.now_ns);
    MUST(learned.values[DECISION_headroom_share].evidence.windows == 2);
    MUST(learned.values[DECISION_headroom_share].evidence.since_seconds == 1);
    MUST(learned.depth_count == 1 && learned.depths[0].depth <= decided.depth[index]);
}

static void a_fork_child_keeps_what_was_decided_and_counts_anew(void **state) {
    (void)state;
    child_must_succeed(begin_another_life, NULL);
}

// ---- parts

// What every part would decide something of.
static void do_everything(void) {
    unsigned index = class_of(2048);
    step_later(100 * MS_NS);
    for (unsigned i = 0; i < 3; i++) {
        ask_for(1040, 1000, FEW_BLOCKS);
        seen.classes[index].refills += 100000;
        seen.refaulted_bytes += 40 * MIB;
        seen.allowance_bytes = 40 * MIB;
        copy_later(100 * MS_NS, 100);
    }
    decide_note(seen.now_ns);
}

static bool is_given(enum decision decision) {
    return learned.values[decision].is_given;
}

static void learn_parts_alone(void *list) {
    options.learn_parts = list;
    begin();
    seen.in_use_bytes = 16 * MIB;
    parts_read();
    do_everything();
    MUST(is_given(DECISION_headroom_share) == part_learns(PART_headroom));
    MUST(is_given(DECISION_allowance_first) == part_learns(PART_memory));
    MUST((learned.depth_count > 0) == part_learns(PART_depths));
    MUST((learned.class_count > 0) == part_learns(PART_classes));
}

static void parts_that_are_off_decide_nothing(void **state) {
    const char *lists[] = {"", "depths", "classes", "memory", "headroom", "huge", "depths+memory"};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(lists); i++)
        child_must_succeed(learn_parts_alone, (void *)(uintptr_t)lists[i]);
}

// What the file says stays, and this run is no evidence of it.
static void keep_what_the_file_said(void *unused) {
    struct evidence evidence = {7, 31, 3, "refaults"};
    (void)unused;
    options.learn_parts = "classes";
    begin();
    parts_read();
    learned.values[DECISION_allowance_first] = (struct policy_value){true, 40 * MIB, evidence};
    learned.values[DECISION_thread_bytes] = (struct policy_value){true, 16 * MIB, evidence};
    learned.values[DECISION_headroom_share] = (struct policy_value){true, 2, evidence};
    learned.depths[learned.depth_count++] = (struct policy_depth){4096, 9};
    decide_take_policy();
    do_everything();
    const enum decision kept[] = {DECISION_allowance_first, DECISION_thread_bytes, DECISION_headroom_share};
    for (unsigned i = 0; i < COUNT_OF(kept); i++)
        MUST(learned.values[kept[i]].is_given && learned.values[kept[i]].evidence.windows == 0);
    MUST(learned.values[DECISION_headroom_share].value == 2 && decided.headroom_share == 2);
    MUST(learned.depth_count == 1 && learned.depths[0].depth == 9);
}

static void of_parts_that_are_off_the_file_is_right(void **state) {
    (void)state;
    child_must_succeed(keep_what_the_file_said, NULL);
}

static void play_tournaments(void *list) {
    bool soon;
    options.learn_parts = list;
    begin();
    parts_read();
    decide_start(&base, DECIDE_ALL, seen.now_ns);
    for (unsigned i = 0; i < 200; i++) { // four seconds
        seen.big_bytes += TRYOUT_LEAST_BYTES;
        seen.busy_ns += TRYOUT_NS;
        seen.now_ns += TRYOUT_NS;
        decide_step(&seen, &soon);
    }
    MUST(soon == part_learns(PART_tournaments));
}

static void tournaments_are_a_part(void **state) {
    (void)state;
    child_must_succeed(play_tournaments, (void *)(uintptr_t) "");
    child_must_succeed(play_tournaments, (void *)(uintptr_t) "depths");
}

// ---- what is noted

static void note_nothing(void *unused) {
    (void)unused;
    begin();
    decide_note(seen.now_ns);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        MUST(!learned.values[i].is_given);
    MUST(learned.class_count == 0 && learned.depth_count == 0);
}

static void where_nothing_was_learned_nothing_is_noted(void **state) {
    (void)state;
    child_must_succeed(note_nothing, NULL);
}

static void note_settings(void *unused) {
    (void)unused;
    begin();
    base.thread_bytes = 16 * MIB; // as a profile has it
    base.purge_delay = 1000;      // as an option says
    decide_start(&base, DECIDE_USUAL, seen.now_ns);
    decide_note(seen.now_ns);
    MUST(!learned.values[DECISION_thread_bytes].is_given && !learned.values[DECISION_purge_delay].is_given);
}

static void what_the_user_set_is_not_noted_as_learned(void **state) {
    (void)state;
    child_must_succeed(note_settings, NULL);
}

static void note_what_the_file_said(void *unused) {
    static struct policy file;
    (void)unused;
    begin();
    file.runs = 1;
    file.classes[file.class_count++] = (struct policy_class){1040, {4, 75, 9, "rounding"}};
    file.values[DECISION_retain_min] = (struct policy_value){true, 99 * MIB, {4, 75, 9, "refaults"}};
    learned = file;
    decide_take_policy();
    learned.runs = 1;
    decide_note(seen.now_ns);
    policy_merge(&file, &learned, POLICY_FILE_MOST);
    MUST(file.runs == 2 && file.class_count == 1 && file.classes[0].evidence.gain_permille == 75);
    MUST(file.classes[0].evidence.windows == 4); // this run has seen none
    MUST(file.values[DECISION_retain_min].evidence.windows == 4);
}

static void evidence_of_the_file_is_not_counted_again(void **state) {
    (void)state;
    child_must_succeed(note_what_the_file_said, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_files_decisions_are_taken_over),
        cmocka_unit_test(a_tolerance_in_a_file_closes_classes),
        cmocka_unit_test(memory_that_is_needed_again_is_held),
        cmocka_unit_test(memory_that_is_needed_no_more_is_let_go),
        cmocka_unit_test(a_stack_that_is_often_empty_becomes_deeper),
        cmocka_unit_test(where_much_is_copied_blocks_that_grow_get_more_room),
        cmocka_unit_test(a_fork_child_keeps_what_was_decided_and_counts_anew),
        cmocka_unit_test(parts_that_are_off_decide_nothing),
        cmocka_unit_test(of_parts_that_are_off_the_file_is_right),
        cmocka_unit_test(tournaments_are_a_part),
        cmocka_unit_test(where_nothing_was_learned_nothing_is_noted),
        cmocka_unit_test(what_the_user_set_is_not_noted_as_learned),
        cmocka_unit_test(evidence_of_the_file_is_not_counted_again),
    };
    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
