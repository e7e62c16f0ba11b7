// Arithmetic on bits and powers of two.
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include "base/compiler.h"

ALWAYS_INLINE bool bits_is_power_of_two(size_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

ALWAYS_INLINE size_t bits_align_up(size_t value, size_t power) {
    return (value + power - 1) & ~(power - 1);
}

ALWAYS_INLINE size_t bits_align_down(size_t value, size_t power) {
    return value & ~(power - 1);
}

// Index of the lowest set bit; value must not be 0.
ALWAYS_INLINE unsigned bits_lowest(uint64_t value) {
    return (unsigned)__builtin_ctzll(value);
}

// Index of the highest set bit (floor of the binary logarithm); value must not be 0.
ALWAYS_INLINE unsigned bits_highest(uint64_t value) {
    return 63u - (unsigned)__builtin_clzll(value);
}

ALWAYS_INLINE unsigned bits_count(uint64_t value) {
    // Not __builtin_popcountll: without an instruction for it that is a call. In parallel: pairs, fours, bytes, their
    // sum.
    value -= value >> 1 & UINT64_C(0x5555555555555555);
    value = (value & UINT64_C(0x3333333333333333)) + (value >> 2 & UINT64_C(0x3333333333333333));
    value = (value + (value >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(value * UINT64_C(0x0101010101010101) >> 56);
}

// The lowest `count` bits set; count from 0 to 64.
ALWAYS_INLINE uint64_t bits_low_mask(unsigned count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

ALWAYS_INLINE uint32_t bits_rotate_right(uint32_t value, unsigned count) {
    return (value >> (count & 31)) | (value << ((32 - count) & 31));
}

// Multiplicative inverse of an odd number modulo 2^32, by Newton's iteration (each step doubles the right bits).
ALWAYS_INLINE uint32_t bits_inverse(uint32_t odd) {
    uint32_t inverse = odd; // right in the lowest 3 bits
    for (int step = 0; step < 4; step++)
        inverse *= 2 - odd * inverse;
    return inverse;
}

// Start of the lowest run of `length` set bits in mask, or 32. length from 1 to 32.
ALWAYS_INLINE unsigned bits_find_run(uint32_t mask, unsigned length) {
    unsigned have = 1;
    while (have < length && mask != 0) { // at most 5 turns: each doubles the length that a set bit stands for
        unsigned step = length - have < have ? length - have : have;
        mask &= mask >> step;
        have += step;
    }
    return mask == 0 ? 32 : (unsigned)__builtin_ctz(mask);
}

// Length of the longest run of set bits in mask.
ALWAYS_INLINE unsigned bits_longest_run(uint32_t mask) {
    uint32_t of[6] = {mask}; // of[i]: bits that runs of 2^i begin with
    unsigned power = 0;
    if (mask == 0)
        return 0;
    while (power < 5 && (of[power + 1] = of[power] & of[power] >> (1u << power)) != 0)
        power++;
    unsigned length = 1u << power;
    mask = of[power];
    while (power-- > 0) {
        uint32_t longer = length < 32 ? mask & of[power] >> length : 0;
        length += longer != 0 ? 1u << power : 0;
        mask = longer != 0 ? longer : mask;
    }
    return length;
}

#endif
