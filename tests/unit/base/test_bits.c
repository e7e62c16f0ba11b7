// Bit arithmetic against slow and simple models.
#include "unit/unit.h"

#include "base/bits.h"

static void a_power_of_two_has_one_bit(void **state) {
    (void)state;
    assert_false(bits_is_power_of_two(0));
    for (unsigned shift = 0; shift < 64; shift++)
        assert_true(bits_is_power_of_two((size_t)1 << shift));
    for (size_t value = 1; value < 1 << 16; value++)
        assert_int_equal(bits_is_power_of_two(value), bits_count(value) == 1);
    assert_false(bits_is_power_of_two(SIZE_MAX));
    assert_false(bits_is_power_of_two((SIZE_MAX >> 1) + 2));
}

static void alignment_goes_to_the_nearest_multiple(void **state) {
    (void)state;
    for (size_t power = 1; power <= 4096; power *= 2)
        for (size_t value = 0; value < 3 * power; value++) {
            assert_int_equal(bits_align_down(value, power), value / power * power);
            assert_int_equal(bits_align_up(value, power), (value + power - 1) / power * power);
        }
}

static void lowest_and_highest_bits_are_found(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned low = 0; low < 64; low++)
        for (unsigned high = low; high < 64; high++) {
            uint64_t between = bits_low_mask(high) & ~bits_low_mask(low);
            uint64_t value = (random_next(&random) & between) | UINT64_C(1) << low | UINT64_C(1) << high;
            assert_int_equal(bits_lowest(value), low);
            assert_int_equal(bits_highest(value), high);
        }
}

static void a_low_mask_has_as_many_bits_as_asked_for(void **state) {
    (void)state;
    for (unsigned count = 0; count <= 64; count++) {
        assert_int_equal(bits_count(bits_low_mask(count)), count);
        assert_true(count == 64 || bits_low_mask(count) >> count == 0);
    }
}

static void rotation_moves_every_bit(void **state) {
    (void)state;
    for (unsigned bit = 0; bit < 32; bit++)
        for (unsigned count = 0; count < 32; count++)
            assert_int_equal(bits_rotate_right(1u << bit, count), 1u << ((bit + 32 - count) % 32));
}

static void an_odd_number_times_its_inverse_is_one(void **state) {
    struct random random = random_start();
    (void)state;
    for (uint32_t odd = 1; odd < 1 << 20; odd += 2)
        assert_int_equal((uint32_t)(odd * bits_inverse(odd)), 1);
    for (unsigned i = 0; i < 1 << 18; i++) {
        uint32_t odd = (uint32_t)random_next(&random) | 1;
        assert_int_equal((uint32_t)(odd * bits_inverse(odd)), 1);
    }
}

// starts[length]: where the lowest run of at least `length` set bits begins, 32 where none does. Returns the longest.
static unsigned find_runs_slowly(uint32_t mask, unsigned starts[33]) {
    unsigned longest = 0;
    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned length = 0;
        while (bit + length < 32 && (mask >> (bit + length) & 1) != 0)
            length++;
        for (; longest < length; longest++)
            starts[longest + 1] = bit;
        bit += length;
    }
    for (unsigned length = longest + 1; length <= 32; length++)
        starts[length] = 32;
    return longest;
}

static void check_runs(uint32_t mask) {
    unsigned starts[33];
    unsigned longest = find_runs_slowly(mask, starts);
    bool right = bits_longest_run(mask) == longest;
    for (unsigned length = 1; length <= 32; length++)
        right = right && bits_find_run(mask, length) == starts[length];
    if (!right)
        fail_msg("mask %#x", mask);
}

static void runs_of_bits_are_found_in_every_mask_of_16_bits(void **state) {
    (void)state;
    for (uint32_t mask = 0; mask < 1 << 16; mask++) {
        check_runs(mask);
        check_runs(mask << 8);
        check_runs(mask << 16);
        check_runs(~mask);
        check_runs(~(mask << 16));
    }
}

static void runs_of_bits_are_found_in_random_masks(void **state) {
    struct random random = random_start();
    (void)state;
    for (unsigned i = 0; i < 1 << 18; i++) {
        uint32_t mask = (uint32_t)random_next(&random);
        check_runs(mask);
        check_runs(mask | (uint32_t)random_next(&random)); // denser ones have longer runs
        check_runs(mask | (mask << 1) | (uint32_t)(random_next(&random) & random_next(&random)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_of_two_has_one_bit),
        cmocka_unit_test(alignment_goes_to_the_nearest_multiple),
        cmocka_unit_test(lowest_and_highest_bits_are_found),
        cmocka_unit_test(a_low_mask_has_as_many_bits_as_asked_for),
        cmocka_unit_test(rotation_moves_every_bit),
        cmocka_unit_test(an_odd_number_times_its_inverse_is_one),
        cmocka_unit_test(runs_of_bits_are_found_in_every_mask_of_16_bits),
        cmocka_unit_test(runs_of_bits_are_found_in_random_masks),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
