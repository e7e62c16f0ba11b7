// Which sizes get classes of their own, when, and which wait for the next run.
#include "unit/learn/deciding.h"

#include "sample/lives.h"

static void grow(void *unused) {
    (void)unused;
    begin();
    seen.in_use_bytes = 16 * MIB;
    ask_for(1040, 1000, FEW_BLOCKS);
    MUST(step_later(10 * MS_NS));
    MUST(learned.class_count == 1 && learned.classes[0].bytes == 1040 && has_spare(1040));
    MUST(learned.classes[0].evidence.gain_permille > 0 && strcmp(learned.classes[0].evidence.why, "rounding") == 0);
    seen.classes[class_of(1040)].refilled_blocks *= 2;
    MUST(!step_later(10 * MS_NS)); // once
    MUST(learned.class_count == 1);
}

static void a_size_whose_class_grows_gets_one_of_its_own(void **state) {
    (void)state;
    child_must_succeed(grow, NULL);
}

static void stay_level(void *unused) {
    (void)unused;
    begin();
    ask_for(1040, 0, BLOCKS);
    MUST(!step_later(10 * MS_NS));
    ask_for(1040, 1000, BLOCKS); // its sizes are known now
    MUST(!step_later(10 * MS_NS));
    MUST(learned.class_count == 0 && !has_spare(1040));
    decide_note(seen.now_ns);
    MUST(learned.class_count == 1 && learned.classes[0].bytes == 1040);
}

// Where one saves most at every look the others are chosen all the same.
static void stay_level_with_several(void *unused) {
    (void)unused;
    begin();
    for (unsigned look = 0; look < 2; look++) {
        ask_for(1040, 1000 * look, BLOCKS);
        ask_for(2064, 1000 * look, BLOCKS);
        ask_for(4112, 1000 * look, BLOCKS);
        MUST(!step_later(10 * MS_NS));
    }
    decide_note(seen.now_ns);
    MUST(learned.class_count == 3 && learned.classes[0].bytes == 4112);
    MUST(learned.classes[1].bytes == 2064 && learned.classes[2].bytes == 1040);
}

static void grow_with_several(void *unused) {
    (void)unused;
    begin();
    seen.in_use_bytes = 16 * MIB;
    ask_for(1040, 1000, FEW_BLOCKS);
    ask_for(2064, 1000, FEW_BLOCKS / 3);
    MUST(step_later(10 * MS_NS));
    MUST(learned.class_count == 2 && has_spare(1040) && has_spare(2064));
}

static void several_sizes_get_classes_at_once(void **state) {
    (void)state;
    child_must_succeed(stay_level_with_several, NULL);
    child_must_succeed(grow_with_several, NULL);
}

static void one_whose_class_does_not_grow_gets_it_in_the_next_run(void **state) {
    (void)state;
    child_must_succeed(stay_level, NULL);
}

static void grow_fast(void *unused) {
    (void)unused;
    begin();
    ask_for(1040, 1000, BLOCKS);
    MUST(!step_later(10 * MS_NS)); // its blocks would stand beside those of the new class
    MUST(learned.class_count == 0);
    seen.classes[class_of(1040)].flushed_blocks = BLOCKS - 1000;
    MUST(step_later(10 * MS_NS));
    MUST(learned.class_count == 1 && learned.classes[0].bytes == 1040 && has_spare(1040));
    MUST(!step_later(10 * MS_NS)); // once
    MUST(learned.class_count == 1);
}

static void one_that_has_many_blocks_gets_it_when_they_are_gone(void **state) {
    (void)state;
    child_must_succeed(grow_fast, NULL);
}

// Most requests are for 1040 bytes, freed at once; what lives on has 1104.
static void grow_beside_what_is_freed(void *unused) {
    (void)unused;
    begin();
    seen.in_use_bytes = 16 * MIB;
    for (unsigned i = 0; i < DYN_LEAST_SEEN; i++)
        shared_add(&lives_kept[sizes_entry(1104)], 1u);
    for (unsigned i = 0; i < 1000; i++)
        sizes_note(1104);
    ask_for(1040, 9000, FEW_BLOCKS);
    MUST(step_later(10 * MS_NS));
    MUST(learned.class_count == 1 && learned.classes[0].bytes == 1104 && has_spare(1104));
}

static void the_size_that_lives_on_gets_the_class(void **state) {
    (void)state;
    child_must_succeed(grow_beside_what_is_freed, NULL);
}

static void see_much(void *unused) {
    (void)unused;
    begin();
    shared_add(&lives_kept[sizes_entry(1104)], 101u);
    ask_for(1040, SIZES_FADE_SEEN + 1, 0);
    step_later(10 * MS_NS);
    decide_fade_sizes(SIZES_FADE_SEEN + 1);
    MUST(sizes_seen[sizes_entry(1040)] == SIZES_FADE_SEEN / 2 && lives_kept[sizes_entry(1104)] == 50);
}

static void what_was_seen_long_ago_counts_less(void **state) {
    (void)state;
    child_must_succeed(see_much, NULL);
}

static void grow_with_few_seen(void *requests) {
    unsigned seen_requests = (unsigned)(uintptr_t)requests;
    begin();
    seen.in_use_bytes = 16 * MIB;
    ask_for(1040, seen_requests, FEW_BLOCKS);
    MUST(step_later(10 * MS_NS) == (seen_requests >= DYN_LEAST_SEEN));
    MUST(has_spare(1040) == (seen_requests >= DYN_LEAST_SEEN));
    decide_note(seen.now_ns);
    MUST(learned.class_count == (seen_requests >= DYN_LATER_LEAST_SEEN));
}

static void few_requests_are_enough_for_the_next_run(void **state) {
    (void)state;
    child_must_succeed(grow_with_few_seen, (void *)(uintptr_t)DYN_LEAST_SEEN);
    child_must_succeed(grow_with_few_seen, (void *)(uintptr_t)(DYN_LEAST_SEEN - 1));
    child_must_succeed(grow_with_few_seen, (void *)(uintptr_t)DYN_LATER_LEAST_SEEN);
    child_must_succeed(grow_with_few_seen, (void *)(uintptr_t)(DYN_LATER_LEAST_SEEN - 1));
}

static void ask_for_little(void *unused) {
    (void)unused;
    begin();
    ask_for(1040, 1000, DYN_LEAST_BYTES / 112); // saves as much, but not what a thread more would cost
    ask_for(5120, 1000, BLOCKS);                // saves nothing
    MUST(!step_later(10 * MS_NS));
    decide_note(seen.now_ns);
    MUST(learned.class_count == 0);
}

static void what_saves_little_gets_none(void **state) {
    (void)state;
    child_must_succeed(ask_for_little, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_whose_class_grows_gets_one_of_its_own),
        cmocka_unit_test(one_whose_class_does_not_grow_gets_it_in_the_next_run),
        cmocka_unit_test(several_sizes_get_classes_at_once),
        cmocka_unit_test(one_that_has_many_blocks_gets_it_when_they_are_gone),
        cmocka_unit_test(the_size_that_lives_on_gets_the_class),
        cmocka_unit_test(what_was_seen_long_ago_counts_less),
        cmocka_unit_test(few_requests_are_enough_for_the_next_run),
        cmocka_unit_test(what_saves_little_gets_none),
    };
    return cmocka_run_group_tests_name("decide_classes", tests, NULL, NULL);
}
