// The tolerance of rounding: what classes are closed, request by request against a slow model, and which tolerance is
// chosen, against a slow model too.
#include "unit/unit.h"

#include "base/bits.h"
#include "policy/tolerance.h"

static uint32_t sizes[CLASS_END]; // of the fixed classes
static struct snapshot snapshot;
static const size_t all_tolerances[] = {100, 101, 107, 112, 113, 120, 125, 140, 150, 160, 175, 199, 200};

static int begin(void **state) {
    unsigned i = CLASS_FIRST;
    (void)state;
    for (uint32_t step = 1; step <= CLASS_LINEAR_COUNT; step++)
        sizes[i++] = step * BLOCK_ALIGN;
    for (unsigned parts = CLASS_FINE_STEPS; i < CLASS_COUNT; parts = i < CLASS_FIRST_LARGE ? parts : CLASS_LARGE_STEPS)
        for (uint32_t below = sizes[i - 1], step = 1; step <= parts; step++)
            sizes[i++] = below + below / parts * step;
    assert_int_equal(i, CLASS_COUNT);
    assert_int_equal(sizes[CLASS_COUNT - 1], CLASS_LARGE_MAX);
    return 0;
}

static void apply(size_t tolerance) {
    snapshot_default(&snapshot);
    snapshot.w_max = tolerance;
    tolerance_apply(&snapshot, sizes);
}

// The first class from i on that is open.
static unsigned open_from(unsigned i) {
    while (snapshot.closed[i] != 0)
        i++;
    assert_true(i < CLASS_COUNT);
    return i;
}

static unsigned count_closed(void) {
    unsigned closed = 0;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        closed += snapshot.closed[i];
    return closed;
}

// ---- what is closed

static void each_request_gets_what_it_had_or_what_is_tolerated(void **state) {
    (void)state;
    for (unsigned k = 0; k < COUNT_OF(all_tolerances); k++) {
        unsigned had = CLASS_FIRST, gets = CLASS_FIRST;
        apply(all_tolerances[k]);
        for (size_t request = 1; request <= CLASS_LARGE_MAX; request++) {
            if (request > sizes[had])
                had++;
            if (request == 1 || request > sizes[gets])
                gets = open_from(had);
            if (gets != had && (uint64_t)sizes[gets] * 100 > all_tolerances[k] * request)
                fail_msg("%zu: %u bytes for %zu", all_tolerances[k], sizes[gets], request);
        }
    }
}

static void powers_of_two_stay_open(void **state) {
    (void)state;
    for (unsigned k = 0; k < COUNT_OF(all_tolerances); k++) {
        apply(all_tolerances[k]);
        for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
            assert_false(snapshot.closed[i] != 0 && bits_is_power_of_two(sizes[i]));
    }
}

// None that is left could be closed, too: its smallest request would get too much.
static void as_many_are_closed_as_may_be(void **state) {
    (void)state;
    for (unsigned k = 0; k < COUNT_OF(all_tolerances); k++) {
        uint64_t smallest = 1;
        apply(all_tolerances[k]);
        for (unsigned i = open_from(CLASS_FIRST); i + 1 < CLASS_COUNT; i = open_from(i + 1)) {
            uint64_t next = sizes[open_from(i + 1)];
            assert_true(bits_is_power_of_two(sizes[i]) || next * 100 > all_tolerances[k] * smallest);
            smallest = sizes[i] + UINT64_C(1);
        }
    }
}

static void without_tolerance_none_is_closed(void **state) {
    (void)state;
    apply(100);
    assert_int_equal(count_closed(), 0);
    apply(0); // P1
    assert_int_equal(count_closed(), 0);
    apply(125);
    assert_in_range(count_closed(), 10, CLASS_COUNT / 2);
}

static void what_was_closed_already_stays_so(void **state) {
    (void)state;
    snapshot_default(&snapshot);
    snapshot.closed[CLASS_FIRST + 2] = 1; // by a line of its own
    snapshot.w_max = 125;
    tolerance_apply(&snapshot, sizes);
    assert_int_equal(snapshot.closed[CLASS_FIRST + 2], 1);
}

// ---- which is chosen

static uint64_t blocks[CLASS_END], slabs[CLASS_END];
static struct tolerance_report report = {sizes, blocks, slabs, 1, 0, 0};

static int begin_choice(void **state) {
    memset(blocks, 0, sizeof blocks);
    memset(slabs, 0, sizeof slabs);
    report.threads = 1;
    report.in_use_bytes = 16 * MIB;
    report.price = 1000 * SECOND_NS; // memory is dear
    return begin(state);
}

// Class by class what would be there: each set of classes that one serves together has the slack of the smallest that
// is used.
static int64_t model_saved(size_t tolerance) {
    int64_t saved = 0;
    apply(tolerance);
    for (unsigned first = CLASS_FIRST; first < CLASS_COUNT;) {
        unsigned last = open_from(first), used = 0;
        for (unsigned i = first; i <= last; i++) {
            if (slabs[i] == 0)
                continue;
            uint64_t slack = slabs[i] > blocks[i] * sizes[i] ? slabs[i] - blocks[i] * sizes[i] : 0;
            uint64_t most = (SLICE_BYTES / 4 + sizes[i]) * report.threads;
            slack = slack < most ? slack : most;
            saved += used++ > 0 ? (int64_t)(slack + report.threads * STACK_BYTES) : 0;
            saved -= (int64_t)(blocks[i] * (sizes[last] - sizes[i]));
        }
        first = last + 1;
    }
    return saved;
}

static size_t model_choose(uint64_t *most) {
    const size_t candidates[] = {125, 140, 150, 160, 175};
    size_t best = 100;
    *most = 0;
    for (unsigned k = 0; k < COUNT_OF(candidates); k++) {
        int64_t saved = model_saved(candidates[k]);
        if (saved < (int64_t)(256 * KIB) || saved < (int64_t)(report.in_use_bytes / 32) || (uint64_t)saved <= *most)
            continue;
        *most = (uint64_t)saved;
        best = candidates[k];
    }
    return best;
}

static void the_choice_is_that_of_the_model(void **state) {
    struct random random = random_start();
    unsigned chosen = 0, left = 0;
    enum { ROUNDS = 3000 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t saved, model;
        begin_choice(state);
        report.threads = 1 + (unsigned)random_below(&random, 64);
        size_t most_blocks = (size_t)1 << random_below(&random, 12), used = 1 + random_below(&random, 100);
        for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
            if (random_below(&random, 100) >= used)
                continue;
            blocks[i] = random_below(&random, most_blocks);
            slabs[i] = (blocks[i] * sizes[i] / SLICE_BYTES + random_below(&random, 4)) * SLICE_BYTES;
        }
        size_t choice = tolerance_choose(&report, &saved);
        assert_int_equal(choice, model_choose(&model));
        assert_int_equal(saved, model);
        chosen += choice != 100;
        left += choice == 100;
    }
    assert_in_range(chosen, ROUNDS / 10, ROUNDS);
    assert_in_range(left, ROUNDS / 10, ROUNDS);
}

// Each class has a slab with one block.
static void use_all_classes_a_little(void) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        blocks[i] = 1;
        slabs[i] = sizes[i] < SLICE_BYTES ? SLICE_BYTES : sizes[i];
    }
}

static void classes_that_are_used_little_go(void **state) {
    uint64_t saved;
    (void)state;
    use_all_classes_a_little();
    assert_true(tolerance_choose(&report, &saved) > 100);
    assert_true(saved >= 256 * KIB);
}

static void classes_that_are_full_stay(void **state) {
    uint64_t saved;
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        blocks[i] = 2 * MIB / sizes[i];
        slabs[i] = 2 * MIB;
    }
    assert_int_equal(tolerance_choose(&report, &saved), 100);
    assert_int_equal(saved, 0);
}

static void what_is_little_of_the_heap_is_left(void **state) {
    uint64_t saved;
    (void)state;
    use_all_classes_a_little();
    report.in_use_bytes = 64 * GIB;
    assert_int_equal(tolerance_choose(&report, &saved), 100);
    assert_int_equal(saved, 0);
}

// Cheap memory is not worth the time that rounding costs.
static void what_it_saves_is_worth_the_time(void **state) {
    uint64_t saved, least;
    (void)state;
    use_all_classes_a_little();
    assert_true(tolerance_choose(&report, &least) > 100);
    report.price = SECOND_NS / 50 * MIB / least + 1;
    assert_true(tolerance_choose(&report, &saved) > 100);
    report.price -= report.price / 50;
    assert_int_equal(tolerance_choose(&report, &saved), 100);
    report.price = COST_MIB_SECOND_NS;
    assert_int_equal(tolerance_choose(&report, &saved), 100);
}

static void one_class_alone_has_nothing_to_share(void **state) {
    uint64_t saved;
    (void)state;
    report.threads = 1000;
    slabs[CLASS_FIRST + 20] = GIB;
    assert_int_equal(tolerance_choose(&report, &saved), 100);
    assert_int_equal(saved, 0);
}

// What closing folds together comes apart by the requests that were seen.
static void what_is_closed_is_unfolded_by_what_was_seen(void **state) {
    static uint8_t serves[CLASS_COUNT];
    static uint64_t requests[CLASS_COUNT], before[CLASS_COUNT];
    (void)state;
    apply(140);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        serves[i] = (uint8_t)open_from(i);
        before[i] = i % 3 == 0 ? 0 : 1000 * i;
        requests[i] = before[i] / 10;
        blocks[serves[i]] += before[i];
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        slabs[i] = snapshot.closed[i] != 0 ? 0 : blocks[i] * sizes[i] + SLICE_BYTES;
    assert_true(tolerance_unfold(sizes, serves, requests, blocks, slabs));
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        bool alone = serves[i] == i && (i == CLASS_FIRST || serves[i - 1] != i);
        assert_in_range(blocks[i] + 1, before[i], before[i] + 1); // rounded
        assert_int_equal(slabs[i], before[i] == 0 && !alone ? 0 : blocks[i] * sizes[i] + SLICE_BYTES);
    }
    memset(requests, 0, sizeof requests);
    assert_false(tolerance_unfold(sizes, serves, requests, blocks, slabs));
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        serves[i] = (uint8_t)i;
    assert_true(tolerance_unfold(sizes, serves, requests, blocks, slabs)); // nothing is closed
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_request_gets_what_it_had_or_what_is_tolerated, begin),
        cmocka_unit_test_setup(powers_of_two_stay_open, begin),
        cmocka_unit_test_setup(as_many_are_closed_as_may_be, begin),
        cmocka_unit_test_setup(without_tolerance_none_is_closed, begin),
        cmocka_unit_test_setup(what_was_closed_already_stays_so, begin),
        cmocka_unit_test_setup(the_choice_is_that_of_the_model, begin_choice),
        cmocka_unit_test_setup(classes_that_are_used_little_go, begin_choice),
        cmocka_unit_test_setup(classes_that_are_full_stay, begin_choice),
        cmocka_unit_test_setup(what_is_little_of_the_heap_is_left, begin_choice),
        cmocka_unit_test_setup(what_it_saves_is_worth_the_time, begin_choice),
        cmocka_unit_test_setup(one_class_alone_has_nothing_to_share, begin_choice),
        cmocka_unit_test_setup(what_is_closed_is_unfolded_by_what_was_seen, begin_choice),
    };
    return cmocka_run_group_tests_name("tolerance", tests, NULL, NULL);
}
