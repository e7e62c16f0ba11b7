// The estimate lies between exact quantiles a little to either side, however the values are distributed and ordered.
#include "unit/unit.h"

#include "policy/quantile.h"

#define ROUNDING 0.02
enum { VALUES = 20000 };
static double values[VALUES], sorted[VALUES];
static struct random random_numbers;

static double uniform(void) {
    return (double)(random_next(&random_numbers) >> 11) / (double)(1ull << 53);
}

static double even_values(unsigned i) {
    (void)i;
    return 100 + 900 * uniform();
}

// As latencies are: most are short, few very long.
static double heavy_tailed(unsigned i) {
    (void)i;
    return 500 / (1.003 - uniform());
}

static double bell_shaped(unsigned i) {
    double sum = 0;
    (void)i;
    for (unsigned k = 0; k < 12; k++)
        sum += uniform();
    return sum - 6;
}

static double two_humps(unsigned i) {
    return uniform() < 0.95 ? even_values(i) : 50000 + even_values(i);
}

static double rising(unsigned i) {
    return i;
}

static double falling(unsigned i) {
    return (double)VALUES - i;
}

static double few_different(unsigned i) {
    (void)i;
    return (double)random_below(&random_numbers, 7);
}

static int by_value(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double estimate(unsigned count, double share) {
    struct quantile quantile;
    quantile_start(&quantile, share);
    for (unsigned i = 0; i < count; i++)
        quantile_add(&quantile, values[i]);
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    return quantile_value(&quantile);
}

// The value at a share of all, which is moved into [0, 1].
static double exact(unsigned count, double share) {
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    unsigned place = (unsigned)(share * count);
    return sorted[place < count ? place : count - 1];
}

static void estimates_lie_between_their_neighbours(void **state) {
    double (*const distributions[])(unsigned) = {even_values, heavy_tailed, bell_shaped,  two_humps,
                                                 rising,      falling,      few_different};
    const double shares[] = {0.1, 0.5, 0.9, 0.99};
    (void)state;
    random_numbers = random_start();
    for (unsigned kind = 0; kind < COUNT_OF(distributions); kind++) {
        for (unsigned i = 0; i < VALUES; i++)
            values[i] = distributions[kind](i);
        for (unsigned k = 0; k < COUNT_OF(shares); k++) {
            double around = shares[k] < 0.99 ? 0.12 : 0.009;
            double found = estimate(VALUES, shares[k]);
            if (found < exact(VALUES, shares[k] - around) - ROUNDING ||
                found > exact(VALUES, shares[k] + around) + ROUNDING)
                fail_msg("kind %u, share %g: %g, exact %g", kind, shares[k], found, exact(VALUES, shares[k]));
        }
    }
}

static void up_to_five_values_are_exact(void **state) {
    const double given[] = {70, 10, 50, 30, 90};
    const double shares[] = {0, 0.25, 0.5, 0.75, 0.99, 1};
    (void)state;
    memcpy(values, given, sizeof given);
    for (unsigned count = 1; count <= COUNT_OF(given); count++)
        for (unsigned k = 0; k < COUNT_OF(shares); k++) {
            double found = estimate(count, shares[k]); // sorts what exact looks at
            assert_true(found == exact(count, shares[k]));
        }
}

static void no_value_is_zero(void **state) {
    (void)state;
    assert_true(estimate(0, 0.99) == 0);
}

static void equal_values_are_their_own_quantile(void **state) {
    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        values[i] = 42;
    for (unsigned count = 1; count < 1000; count++)
        assert_true(estimate(count, 0.99) == 42);
}

static void no_estimate_leaves_the_range_of_values(void **state) {
    (void)state;
    random_numbers = random_start();
    for (unsigned turn = 0; turn < 300; turn++) {
        unsigned count = 1 + (unsigned)random_below(&random_numbers, 200);
        for (unsigned i = 0; i < count; i++)
            values[i] = heavy_tailed(i) * (double)(random_below(&random_numbers, 3));
        double found = estimate(count, 0.99);
        assert_true(sorted[0] <= found && found <= sorted[count - 1]);
    }
}

static void starting_again_forgets(void **state) {
    struct quantile quantile;
    (void)state;
    quantile_start(&quantile, 0.5);
    for (unsigned i = 0; i < 100; i++)
        quantile_add(&quantile, 1e6);
    quantile_start(&quantile, 0.5);
    for (unsigned i = 0; i < 100; i++)
        quantile_add(&quantile, 7);
    assert_true(quantile_value(&quantile) == 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_lie_between_their_neighbours),
        cmocka_unit_test(up_to_five_values_are_exact),
        cmocka_unit_test(no_value_is_zero),
        cmocka_unit_test(equal_values_are_their_own_quantile),
        cmocka_unit_test(no_estimate_leaves_the_range_of_values),
        cmocka_unit_test(starting_again_forgets),
    };
    return cmocka_run_group_tests_name("quantile", tests, NULL, NULL);
}
