// Depths for the next run: those of the busiest phase only as far as they pay all the time, and none that nobody would
// notice.
#include "unit/unit.h"

#include "heap/heap.h"
#include "learn/next_depths.h"
#include "policy/cost.h"
#include "sys/options.h"

static struct snapshot base;
static uint8_t decided_depths[CLASS_END], chosen[CLASS_COUNT];
static uint64_t batches[CLASS_END];
static uint8_t usual[CLASS_END];
static uint64_t busy_ns;
static struct depths_seen seen = {.batches = batches, .usual = usual, .threads = 1};
static unsigned own; // the class that moves

static int begin(void **state) {
    (void)state;
    assert_true(heap_process_start());
    heap_default_snapshot(&base);
    memcpy(decided_depths, base.depth, sizeof decided_depths);
    own = class_of(16384);
    usual[own] = 0;
    options.memory_price = COST_MIB_SECOND_NS;
    seen.threads = 1;
    next_depths_begin_life();
    next_depths_note(&seen, decided_depths, busy_ns);
    return 0;
}

// A phase in which so much of the time is spent with batches at that depth.
static void pass(double seconds, double share, unsigned depth) {
    decided_depths[own] = (uint8_t)depth;
    batches[own] += (uint64_t)(seconds * 1e9 * share / (double)cost_of_batch_ns(16384));
    seen.now_ns += (uint64_t)(seconds * 1e9);
    busy_ns += (uint64_t)(seconds * 1e9);
    next_depths_note(&seen, decided_depths, busy_ns);
}

static unsigned choose(void) {
    next_depths_choose(base.depth, decided_depths, chosen);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        assert_true(i == own || chosen[i] == base.depth[i]);
    return chosen[own];
}

static void what_moves_all_the_time_has_the_depth_that_it_came_to(void **state) {
    (void)state;
    pass(4, 0.05, 100);
    assert_int_equal(choose(), 100);
}

static void the_depth_of_a_phase_that_moved_most_counts(void **state) {
    (void)state;
    pass(4, 0.05, 100);
    pass(4, 0.0001, base.depth[own]); // the program's last moments
    assert_in_range(choose(), 90, 100);
}

// A batch moves as many blocks as the depth in force says, which what is in use may make deeper.
static void what_was_moved_goes_by_the_depth_in_force(void **state) {
    (void)state;
    pass(4, 0.05, 100);
    usual[own] = 127;
    pass(4, 0.05, base.depth[own]);
    unsigned by_blocks = (100 * 100 + 127 * base.depth[own]) / (100 + 127);
    assert_in_range(choose(), by_blocks - 1, by_blocks + 1);
}

// As much work, in a hundredth of the time.
static void what_one_phase_needs_is_less_where_the_others_do_without(void **state) {
    (void)state;
    pass(1, 0.05, 100);
    unsigned busy = choose();
    for (unsigned i = 0; i < 3; i++) {
        seen.threads = 16; // so many stacks
        pass(8, 0, 100);
    }
    busy_ns -= (uint64_t)24e9 - 1; // the program slept
    next_depths_note(&seen, decided_depths, busy_ns);
    assert_int_equal(busy, 100);
    assert_in_range(choose(), base.depth[own] + 1, 60);
}

static void depths_that_nobody_would_notice_are_the_default(void **state) {
    (void)state;
    pass(4, 0.0008, 100); // six times that by default
    assert_int_equal(choose(), base.depth[own]);
    pass(4, 0.01, 100);
    assert_in_range(choose(), base.depth[own] + 1, 100);
}

static void where_a_class_was_not_used_its_depth_stays(void **state) {
    (void)state;
    pass(4, 0, 77); // the file's
    assert_int_equal(choose(), 77);
    next_depths_begin_life();
    assert_int_equal(choose(), 77);
}

static void a_childs_life_is_its_own(void **state) {
    (void)state;
    pass(4, 0.05, 100);
    next_depths_begin_life();
    next_depths_note(&seen, decided_depths, busy_ns);
    pass(4, 0.0008, 100); // not even with what the process was busy before
    assert_int_equal(choose(), base.depth[own]);
}

static void what_the_process_did_before_does_not_count(void **state) {
    (void)state;
    busy_ns += 1000 * SECOND_NS;
    next_depths_begin_life();
    next_depths_note(&seen, decided_depths, busy_ns);
    pass(4, 0.05, 100);
    assert_int_equal(choose(), 100);
}

static void where_it_is_no_longer_known_what_pays_is_kept(void **state) {
    (void)state;
    pass(4, 0.05, 100);
    next_depths_note(&seen, decided_depths, 0);
    assert_int_equal(choose(), 100);
}

static void where_processor_time_is_not_known_what_pays_is_kept(void **state) {
    (void)state;
    busy_ns = 0;
    next_depths_begin_life();
    decided_depths[own] = 100;
    next_depths_note(&seen, decided_depths, 0);
    batches[own] += 4000000;
    seen.now_ns += SECOND_NS;
    next_depths_note(&seen, decided_depths, 0);
    assert_int_equal(choose(), 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_moves_all_the_time_has_the_depth_that_it_came_to, begin),
        cmocka_unit_test_setup(the_depth_of_a_phase_that_moved_most_counts, begin),
        cmocka_unit_test_setup(what_was_moved_goes_by_the_depth_in_force, begin),
        cmocka_unit_test_setup(what_one_phase_needs_is_less_where_the_others_do_without, begin),
        cmocka_unit_test_setup(depths_that_nobody_would_notice_are_the_default, begin),
        cmocka_unit_test_setup(where_a_class_was_not_used_its_depth_stays, begin),
        cmocka_unit_test_setup(a_childs_life_is_its_own, begin),
        cmocka_unit_test_setup(what_the_process_did_before_does_not_count, begin),
        cmocka_unit_test_setup(where_it_is_no_longer_known_what_pays_is_kept, begin),
        cmocka_unit_test_setup(where_processor_time_is_not_known_what_pays_is_kept, begin),
    };
    return cmocka_run_group_tests_name("next_depths", tests, NULL, NULL);
}
