// Depths by measured gain: deeper where batches become fewer for it, back where not, shallower where hardly any move.
#include "unit/unit.h"

#include "unit/policy/depths_program.h"

// Batches of a program that takes and frees `need` blocks in turn, so many blocks a second.
static uint64_t rate_of_swings(unsigned need, unsigned depth, uint64_t blocks) {
    return depth >= need ? 10 : blocks / depth;
}

static void it_deepens_while_doubling_helps(void **state) {
    (void)state;
    for (unsigned expected = 32; expected <= 64; expected *= 2) {
        assert_int_equal(step(CLASS, MIB / depth_of(CLASS)), 1);
        assert_int_equal(depth_of(CLASS), expected);
        assert_int_equal(program.snapshot.batch[CLASS], expected / 2);
    }
    step(CLASS, MIB / depth_of(CLASS));
    assert_int_equal(depth_of(CLASS), STACK_MAX_DEPTH); // and no further
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(step(CLASS, MIB / depth_of(CLASS)), 0);
}

static void it_stops_where_doubling_no_longer_helps(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++)
        step(CLASS, depth_of(CLASS) < 32 ? 40000 : 20000); // twice as many are enough, four times no better
    assert_int_equal(depth_of(CLASS), 32);
    assert_int_equal(program.snapshot.batch[CLASS], 16);
    assert_int_equal(step(CLASS, 20000), 0);
}

static void it_stays_where_stacks_suffice(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++)
        step(CLASS, rate_of_swings(50, depth_of(CLASS), MIB));
    assert_int_equal(depth_of(CLASS), 64);
}

static void a_class_that_gains_nothing_goes_back_and_is_left_alone(void **state) {
    (void)state;
    assert_int_equal(step(CLASS, 10000), 1);
    assert_int_equal(depth_of(CLASS), 32); // a trial
    assert_int_equal(step(CLASS, 10000), 1);
    assert_int_equal(depth_of(CLASS), 16);
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(step(CLASS, 7000 + 200 * i), 0);
    assert_int_equal(depth_of(CLASS), 16);
}

static void dear_memory_keeps_stacks_shallow(void **state) {
    (void)state;
    program.seen.price = 1000 * COST_MIB_SECOND_NS;
    begin_class(CLASS, 4096, 16);
    assert_int_equal(step(CLASS, 500), 0);
    program.seen.price = COST_MIB_SECOND_NS;
    assert_int_equal(step(CLASS, 500), 1);
    assert_int_equal(depth_of(CLASS), 32);
}

static void from_the_deepest_it_goes_back_to_what_it_was(void **state) {
    (void)state;
    begin_class(CLASS, 64, 94);
    step(CLASS, 10000);
    assert_int_equal(depth_of(CLASS), STACK_MAX_DEPTH);
    step(CLASS, 10000);
    assert_int_equal(depth_of(CLASS), 94);
}

static void only_the_deepest_can_be_parked_and_stay_so(void **state) {
    (void)state;
    begin_class(CLASS, 64, STACK_MAX_DEPTH / 2);
    step(CLASS, 10000);
    assert_int_equal(depth_of(CLASS), STACK_MAX_DEPTH);
    deepen(CLASS, PARK_MOST_BYTES, STACK_MAX_DEPTH / 2, STACK_MAX_DEPTH);
    deepen(OTHER, PARK_MOST_BYTES + 16, STACK_MAX_DEPTH / 2, STACK_MAX_DEPTH); // is not parked
    step(OTHER, 10000);
    for (unsigned i = 0; i < 10; i++)
        step(CLASS, 0);
    assert_int_equal(depth_of(CLASS), STACK_MAX_DEPTH);
    assert_int_equal(depth_of(OTHER), STACK_MAX_DEPTH / 2);
}

static void another_rate_is_another_trial(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        step(CLASS, 10000);
    assert_int_equal(depth_of(CLASS), 16);
    assert_int_equal(step(CLASS, 30000), 1);
    assert_int_equal(depth_of(CLASS), 32);
    for (unsigned i = 0; i < 10; i++)
        step(CLASS, 30000); // and again for nothing
    assert_int_equal(depth_of(CLASS), 16);
    assert_int_equal(step(CLASS, 30000), 0);
}

static void unused_classes_stay_as_they_are(void **state) {
    (void)state;
    begin_class(OTHER, 40960, 12);
    program.snapshot.depth[CLASS_FIRST] = 77; // of a class that does not exist
    program.batches[CLASS_FIRST] = 5;
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(step(CLASS, 0), 0);
    assert_int_equal(depth_of(OTHER), 12);
    assert_int_equal(depth_of(CLASS), 16);
    assert_int_equal(depth_of(CLASS_FIRST), 77);
}

static void idle_classes_go_down_to_the_default(void **state) {
    static const unsigned depths[] = {100, 64, 24, 12, 4, 3};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(depths); i++) {
        begin(state);
        begin_class(OTHER, 40960, 3);
        program.snapshot.depth[OTHER] = (uint8_t)depths[i];
        step(OTHER, 10); // it was used once
        for (unsigned k = 0; k < 50; k++)
            step(OTHER, 0);
        assert_int_equal(depth_of(OTHER), 3);
        assert_int_equal(program.snapshot.batch[OTHER], depths[i] > 3 ? 2 : program.snapshot.batch[OTHER]);
        assert_int_equal(step(OTHER, 0), 0);
    }
}

static void an_idle_class_that_is_used_again_deepens_again(void **state) {
    (void)state;
    begin_class(OTHER, 40960, 6);
    program.snapshot.depth[OTHER] = 24;
    step(OTHER, 100);
    for (unsigned k = 0; k < 50; k++)
        step(OTHER, 0);
    assert_int_equal(depth_of(OTHER), 6);
    for (unsigned k = 0; k < 10; k++)
        step(OTHER, 10 * MIB / depth_of(OTHER));
    assert_true(depth_of(OTHER) >= 24);
}

// Nanoseconds a second, in the currency of the decisions: what batches cost, and blocks that lie half the time.
static double cost(double blocks, unsigned depth, uint32_t bytes, unsigned threads) {
    return blocks / depth * COST_BATCH_NS + (double)depth / 2 * bytes * threads / MIB * COST_MIB_SECOND_NS;
}

// A program whose batches are half as many with twice the depth has one depth that is best.
static void it_finds_the_best_depth(void **state) {
    struct random random = random_start();
    unsigned deepened = 0;
    for (unsigned round = 0; round < 500; round++) {
        begin(state);
        uint32_t bytes = 256u << random_below(&random, 8);
        uint64_t blocks = 5000u << random_below(&random, 10);
        unsigned depth = 4, best = 4;
        program.seen.threads = 1u << random_below(&random, 11);
        begin_class(OTHER, bytes, depth);
        for (unsigned k = 0; k < 20; k++)
            step(OTHER, blocks / depth_of(OTHER));
        for (; depth <= 128; depth *= 2)
            best = cost((double)blocks, depth, bytes, program.seen.threads) <
                           cost((double)blocks, best, bytes, program.seen.threads)
                       ? depth
                       : best;
        double found = cost((double)blocks, depth_of(OTHER), bytes, program.seen.threads);
        if (best > 4) // else it is below the default: see idle_classes_go_down_to_a_quarter
            assert_true(found <= 1.15 * cost((double)blocks, best, bytes, program.seen.threads));
        deepened += depth_of(OTHER) > 4 && depth_of(OTHER) < STACK_MAX_DEPTH;
    }
    assert_true(deepened > 50);
}

static void memory_has_its_price(void **state) {
    (void)state;
    begin_class(OTHER, 512 * 1024, 4);
    assert_int_equal(step(OTHER, 10), 0); // a MiB more for five batches a second
    assert_int_equal(step(OTHER, 4000), 1);
    begin(state);
    begin_class(OTHER, 512 * 1024, 4);
    program.seen.threads = 1000; // the same in each of them
    assert_int_equal(step(OTHER, 4000), 0);
}

static void too_little_time_says_nothing(void **state) {
    (void)state;
    struct snapshot before = program.snapshot;
    program.batches[CLASS] += MIB;
    program.seen.now_ns += 15 * MS_NS;
    assert_int_equal(depths_step(&program.state, &program.seen, &program.snapshot), 0);
    assert_memory_equal(&program.snapshot, &before, sizeof before);
    program.seen.now_ns += 15 * MS_NS; // together it is enough
    assert_int_equal(depths_step(&program.state, &program.seen, &program.snapshot), 1);
}

static void the_first_look_decides_nothing(void **state) {
    (void)state;
    struct snapshot before = program.snapshot;
    memset(&program.state, 0, sizeof program.state);
    program.batches[CLASS] = GIB; // from before
    assert_int_equal(depths_step(&program.state, &program.seen, &program.snapshot), 0);
    assert_memory_equal(&program.snapshot, &before, sizeof before);
    assert_int_equal(step(CLASS, 0), 0); // and they are no batches of now
    assert_int_equal(depth_of(CLASS), 16);
}

static void without_threads_nothing_is_decided(void **state) {
    (void)state;
    program.seen.threads = 0;
    assert_int_equal(step(CLASS, MIB), 0);
    assert_int_equal(depth_of(CLASS), 16);
}

// ---- any program

static void depths_must_be_valid(void) {
    const struct snapshot *snapshot = &program.snapshot;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        if (program.bytes[i] == 0)
            continue;
        unsigned least = program.defaults[i];
        assert_in_range(snapshot->depth[i], least, STACK_MAX_DEPTH);
        assert_int_equal(snapshot->batch[i], (snapshot->depth[i] + 1) / 2);
    }
    assert_true(snapshot->thread_bytes >= STACK_THREAD_BYTES);
    assert_true(snapshot->all_threads_bytes >= snapshot->thread_bytes);
    unsigned doublings = program.state.budget.doublings;
    size_t doubled = doublings > 0 ? (size_t)STACK_THREAD_BYTES * STACK_THREADS_TIMES << doublings : STACK_THREAD_BYTES;
    assert_true(doublings <= 3);
    assert_true(snapshot->thread_bytes <= doubled ||
                snapshot->thread_bytes <= program.seen.in_use_bytes / 8 / program.seen.threads);
}

static void where_a_class_gets_no_stack_the_others_go_back_to_their_defaults(void **state) {
    (void)state;
    begin_class(OTHER, 128 * 1024, 4);
    begin_class(CLASS, 4096, 16);
    program.snapshot.depth[CLASS] = 64;
    for (unsigned expected = 32; expected >= 16; expected /= 2) {
        step_denied(1000, 1000000);
        assert_int_equal(depth_of(CLASS), expected);
    }
    for (unsigned i = 0; i < 10; i++) { // no less than that, and no trial: it would be at the others' cost
        assert_int_equal(step_denied(20000, 1000000), 0);
        assert_int_equal(depth_of(CLASS), 16);
    }
    assert_int_equal(step_denied(20000, 0), 1); // as soon as there is room again
    assert_int_equal(depth_of(CLASS), 32);
}

static void a_few_denials_do_not_weigh_more_than_what_depth_saves(void **state) {
    (void)state;
    begin_class(OTHER, 128 * 1024, 4);
    begin_class(CLASS, 4096, 16);
    program.snapshot.depth[CLASS] = 64;
    for (unsigned i = 0; i < 10; i++) {
        step_denied(MIB / depth_of(CLASS), 100);
        assert_true(depth_of(CLASS) >= 64);
    }
}

static void denials_from_before_the_first_look_do_not_count(void **state) {
    (void)state;
    memset(&program.state, 0, sizeof program.state);
    begin_class(OTHER, 128 * 1024, 4);
    program.denied[OTHER] = GIB;
    step(CLASS, 0);
    assert_int_equal(step(CLASS, 100000), 1);
    assert_int_equal(depth_of(CLASS), 32);
}

static void whatever_happens_depths_are_valid(void **state) {
    struct random random = random_start();
    begin(state);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        begin_class(i, 16u << i * 16 / CLASS_COUNT, 1 + (unsigned)random_below(&random, STACK_MAX_DEPTH));
    for (unsigned round = 0; round < 5000; round++) {
        struct snapshot before = program.snapshot;
        unsigned differ = 0;
        for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
            program.batches[i] += random_below(&random, (size_t)1 << random_below(&random, 30));
            program.denied[i] += round % 3 == 0 ? random_below(&random, (size_t)1 << random_below(&random, 30)) : 0;
        }
        program.seen.threads = 1 + (unsigned)random_below(&random, 100);
        program.seen.in_use_bytes = (size_t)1 << random_below(&random, 40);
        program.seen.now_ns += 20 * MS_NS + random_below(&random, 1000 * MS_NS);
        unsigned changed = depths_step(&program.state, &program.seen, &program.snapshot);
        for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
            differ += program.snapshot.depth[i] != before.depth[i];
        assert_int_equal(changed, differ);
        depths_must_be_valid();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_deepens_while_doubling_helps, begin),
        cmocka_unit_test_setup(it_stops_where_doubling_no_longer_helps, begin),
        cmocka_unit_test_setup(it_stays_where_stacks_suffice, begin),
        cmocka_unit_test_setup(a_class_that_gains_nothing_goes_back_and_is_left_alone, begin),
        cmocka_unit_test_setup(dear_memory_keeps_stacks_shallow, begin),
        cmocka_unit_test_setup(from_the_deepest_it_goes_back_to_what_it_was, begin),
        cmocka_unit_test_setup(only_the_deepest_can_be_parked_and_stay_so, begin),
        cmocka_unit_test_setup(another_rate_is_another_trial, begin),
        cmocka_unit_test_setup(unused_classes_stay_as_they_are, begin),
        cmocka_unit_test_setup(idle_classes_go_down_to_the_default, begin),
        cmocka_unit_test_setup(an_idle_class_that_is_used_again_deepens_again, begin),
        cmocka_unit_test_setup(it_finds_the_best_depth, begin),
        cmocka_unit_test_setup(memory_has_its_price, begin),
        cmocka_unit_test_setup(too_little_time_says_nothing, begin),
        cmocka_unit_test_setup(the_first_look_decides_nothing, begin),
        cmocka_unit_test_setup(without_threads_nothing_is_decided, begin),
        cmocka_unit_test_setup(where_a_class_gets_no_stack_the_others_go_back_to_their_defaults, begin),
        cmocka_unit_test_setup(a_few_denials_do_not_weigh_more_than_what_depth_saves, begin),
        cmocka_unit_test_setup(denials_from_before_the_first_look_do_not_count, begin),
        cmocka_unit_test_setup(whatever_happens_depths_are_valid, begin),
    };
    return cmocka_run_group_tests_name("depths", tests, NULL, NULL);
}
