// The depth that had been best all the time, held against the cheapest of all depths.
#include "unit/unit.h"

#include "policy/cost.h"
#include "policy/depths.h"

enum { SECONDS = 10 };

static struct depths_life life_of(double blocks_a_second, uint32_t bytes) {
    return (struct depths_life){2 * blocks_a_second * SECONDS, SECONDS * 1e9, bytes, COST_MIB_SECOND_NS};
}

// Batches of half the depth, and half of the stack's blocks held by one thread.
static double cost_of(const struct depths_life *life, unsigned depth) {
    double batches = life->moved / depth, mibs = (double)depth * life->bytes / 2 / (double)MIB;
    return batches * (double)cost_of_batch_ns(life->bytes) + mibs * life->thread_ns / 1e9 * (double)life->price;
}

static unsigned cheapest(const struct depths_life *life, unsigned least, unsigned most) {
    unsigned best = least;
    for (unsigned depth = least; depth <= most; depth++)
        if (cost_of(life, depth) < cost_of(life, best))
            best = depth;
    return best;
}

static void it_is_the_cheapest_of_all(void **state) {
    unsigned inside = 0;
    (void)state;
    for (uint32_t bytes = 16; bytes <= 64 * KIB; bytes *= 4)
        for (double rate = 1; rate < 1e8; rate *= 3) {
            struct depths_life life = life_of(rate, bytes);
            unsigned depth = depths_of_life(&life, 16, 128);
            assert_int_equal(depth, cheapest(&life, 16, 128));
            inside += depth > 16 && depth < 128;
        }
    assert_true(inside > 10);
}

// Four times the time for the same work, four times the threads or a price four times as high: half the depth.
static void it_goes_with_the_root_of_what_it_weighs(void **state) {
    struct depths_life life = life_of(400000, 8192);
    unsigned depth = depths_of_life(&life, 1, 1000);
    (void)state;
    assert_in_range(depth, 50, 900);
    life.thread_ns *= 4;
    assert_in_range(depths_of_life(&life, 1, 1000), depth / 2 - 1, depth / 2 + 1);
    life.moved *= 4;
    life.price *= 4;
    assert_in_range(depths_of_life(&life, 1, 1000), depth / 2 - 1, depth / 2 + 1);
}

static void it_stays_within_its_bounds(void **state) {
    struct depths_life nothing = life_of(0, 8192), much = life_of(1e12, 8192);
    (void)state;
    assert_int_equal(depths_of_life(&nothing, 16, 128), 16);
    assert_int_equal(depths_of_life(&much, 16, 128), 128);
    assert_int_equal(depths_of_life(&much, 40, 40), 40);
}

static void what_is_saved_is_the_difference_of_batches(void **state) {
    struct depths_life life = life_of(1000, 64);
    double batch_ns = (double)cost_of_batch_ns(64);
    (void)state;
    assert_int_equal((uint64_t)(depths_saved_ns(&life, 10, 20) + 0.5), (uint64_t)(life.moved / 20 * batch_ns + 0.5));
    assert_true(depths_saved_ns(&life, 20, 20) == 0);
    assert_true(depths_saved_ns(&life, 20, 10) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_cheapest_of_all),
        cmocka_unit_test(it_goes_with_the_root_of_what_it_weighs),
        cmocka_unit_test(it_stays_within_its_bounds),
        cmocka_unit_test(what_is_saved_is_the_difference_of_batches),
    };
    return cmocka_run_group_tests_name("depths_of_life", tests, NULL, NULL);
}
