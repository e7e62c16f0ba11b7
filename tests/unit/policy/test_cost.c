// The one formula: each part has its price, per second where it is time.
#include "unit/unit.h"

#include "policy/cost.h"

enum { SMALL = 5, LARGE = 80 };
static const uint32_t class_bytes[CLASS_END] = {[CLASS_NONE] = 1, [SMALL] = 80, [LARGE] = 65536};
static const struct cost_seen nothing = {
    .elapsed_ns = SECOND_NS, .price = COST_MIB_SECOND_NS, .page = COST_PAGE_DEFAULT};

static double cost_of(struct cost_seen seen) {
    return cost_of_window(&seen, class_bytes);
}

static bool is_near(double one, double other) {
    return one - other < 1e-6 * other + 1e-9 && other - one < 1e-6 * other + 1e-9;
}

static void nothing_costs_nothing(void **state) {
    (void)state;
    assert_true(cost_of(nothing) == 0);
}

static void no_time_costs_nothing(void **state) {
    struct cost_seen seen = {.refaulted_bytes = GIB, .idle_bytes = GIB};
    (void)state;
    assert_true(cost_of(seen) == 0); // and divides by nothing
}

static void batches_have_their_price_by_size(void **state) {
    struct cost_seen seen = nothing;
    (void)state;
    assert_int_equal(cost_of_batch_ns(80), COST_BATCH_NS);
    assert_int_equal(cost_of_batch_ns(65536), COST_BATCH_NS + 16 * COST_PAGE_NS);
    seen.batches[SMALL] = 10;
    seen.batches[LARGE] = 3;
    assert_true(is_near(cost_of(seen), 10.0 * COST_BATCH_NS + 3.0 * (COST_BATCH_NS + 16 * COST_PAGE_NS)));
}

static void faults_and_purges_have_their_price_by_page(void **state) {
    struct cost_seen seen = nothing;
    (void)state;
    seen.refaulted_bytes = 5 * PAGE_LEAST_BYTES;
    assert_true(is_near(cost_of(seen), 5.0 * COST_FAULT_NS));
    seen.purged_bytes = 7 * PAGE_LEAST_BYTES;
    assert_true(is_near(cost_of(seen), 5.0 * COST_FAULT_NS + 7.0 * COST_PURGE_NS));
}

static void what_a_page_costs_is_taken_as_it_was_measured(void **state) {
    struct cost_seen seen = nothing;
    (void)state;
    seen.page = (struct cost_page){5000, 30};
    seen.faults = 2;
    seen.purged_bytes = 3 * PAGE_LEAST_BYTES;
    assert_true(is_near(cost_of(seen), 2.0 * 5000 + 3.0 * 30));
    assert_int_equal(cost_of_mib_ns(&seen.page), 256 * 5030);
}

static void the_middle_of_three_measurements_counts(void **state) {
    const struct cost_page one = {800, 300}, two = {1600, 100}, odd = {20000, 20000}; // middle: 1600 and 300
    const struct cost_page orders[][3] = {{one, two, odd}, {one, odd, two}, {two, one, odd},
                                          {two, odd, one}, {odd, one, two}, {odd, two, one}};
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(orders); i++) {
        assert_int_equal(cost_page_middle(orders[i]).fault_ns, 1600);
        assert_int_equal(cost_page_middle(orders[i]).purge_ns, 300);
    }
    const struct cost_page same[] = {one, one, odd};
    assert_int_equal(cost_page_middle(same).fault_ns, one.fault_ns);
}

static void page_faults_that_the_system_counts_cost_as_much(void **state) {
    struct cost_seen seen = nothing;
    (void)state;
    seen.faults = 5;
    assert_true(is_near(cost_of(seen), 5.0 * COST_FAULT_NS));
}

static void idle_memory_has_its_price_by_time(void **state) {
    struct cost_seen seen = {.elapsed_ns = SECOND_NS / 4, .idle_bytes = 3 * MIB, .price = COST_MIB_SECOND_NS};
    (void)state;
    assert_true(is_near(cost_of(seen), 3.0 * COST_MIB_SECOND_NS)); // in any second
    seen.elapsed_ns = 100 * SECOND_NS;
    assert_true(is_near(cost_of(seen), 3.0 * COST_MIB_SECOND_NS));
    seen.price = 7;
    assert_true(is_near(cost_of(seen), 21));
}

static void the_same_work_in_half_the_time_costs_double(void **state) {
    struct cost_seen seen = nothing;
    (void)state;
    seen.batches[SMALL] = 1000;
    seen.refaulted_bytes = MIB;
    double usual = cost_of(seen);
    seen.elapsed_ns /= 2;
    assert_true(is_near(cost_of(seen), 2 * usual));
}

static void a_mib_is_held_as_long_as_faulting_it_in_is_worth(void **state) {
    struct cost_seen held = nothing, faulted = nothing;
    (void)state;
    held.idle_bytes = MIB;
    faulted.refaulted_bytes = faulted.purged_bytes = MIB;
    double seconds = cost_of(faulted) / cost_of(held);
    assert_true(seconds > 0.25 && seconds < 2); // neither at once nor for ever
}

static void numbers_of_any_size_make_a_number(void **state) {
    struct cost_seen seen = {.elapsed_ns = 1, .faults = UINT64_MAX, .idle_bytes = SIZE_MAX};
    seen.purged_bytes = UINT64_MAX;
    seen.price = SIZE_MAX;
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        seen.batches[i] = UINT64_MAX;
    double cost = cost_of(seen);
    assert_true(cost > 0 && cost - cost == 0); // finite
}

static void work_costs_what_it_took_at_the_same_pace(void **state) {
    struct cost_work work = {.elapsed_ns = SECOND_NS, .busy_ns = 300, .done = 10};
    (void)state;
    assert_true(is_near(cost_of_work(&work, 1), 30));
    assert_true(is_near(cost_of_work(&work, 20), 600));
    work.done = 20;
    assert_true(is_near(cost_of_work(&work, 20), 300)); // twice as much in the same time
    work.idle_bytes = 2 * MIB;
    work.price = 50;
    assert_true(is_near(cost_of_work(&work, 20), 400));
    work.elapsed_ns /= 2; // for which it was held
    assert_true(is_near(cost_of_work(&work, 20), 350));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_costs_nothing),
        cmocka_unit_test(no_time_costs_nothing),
        cmocka_unit_test(batches_have_their_price_by_size),
        cmocka_unit_test(faults_and_purges_have_their_price_by_page),
        cmocka_unit_test(the_middle_of_three_measurements_counts),
        cmocka_unit_test(what_a_page_costs_is_taken_as_it_was_measured),
        cmocka_unit_test(page_faults_that_the_system_counts_cost_as_much),
        cmocka_unit_test(idle_memory_has_its_price_by_time),
        cmocka_unit_test(the_same_work_in_half_the_time_costs_double),
        cmocka_unit_test(a_mib_is_held_as_long_as_faulting_it_in_is_worth),
        cmocka_unit_test(numbers_of_any_size_make_a_number),
        cmocka_unit_test(work_costs_what_it_took_at_the_same_pace),
    };
    return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
