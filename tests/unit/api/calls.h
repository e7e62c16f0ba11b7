// What the tests of the interface share: start, sizes worth trying, faults that are counted and not the end.
#ifndef HAKMEM_TESTS_CALLS_H
#define HAKMEM_TESTS_CALLS_H

#include "unit/unit.h"

#include "api/calls.h"
#include "big/big.h"
#include "heap/heap.h"
#include "sys/fault.h"
#include "sys/options.h"
#include "sys/os.h"

UNUSED static int start_calls(void **state) {
    (void)state;
    bool started = heap_process_start();
    options.on_fault = OPTION_ON_FAULT_CONTINUE;
    return started ? 0 : -1;
}

// Around every place where another part takes over.
static const size_t sizes[] UNUSED = {0,
                                      1,
                                      15,
                                      16,
                                      17,
                                      48,
                                      49,
                                      100,
                                      256,
                                      257,
                                      1000,
                                      4096,
                                      5000,
                                      CLASS_FINE_MAX,
                                      CLASS_FINE_MAX + 1,
                                      100000,
                                      CLASS_LARGE_MAX,
                                      CLASS_LARGE_MAX + 1,
                                      3 * MIB,
                                      BIG_THRESHOLD_BYTES - 1,
                                      BIG_THRESHOLD_BYTES};

static const size_t impossible_sizes[] UNUSED = {SIZE_MAX, SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX,
                                                 (size_t)1 << 47};

UNUSED static unsigned char pattern_byte(size_t offset, unsigned seed) {
    return (unsigned char)(offset * 131 + (offset >> 12) * 7 + seed);
}

// Writes and looks at the first and last bytes of each page: all of a small block, enough of a large one.
UNUSED static void fill_pattern(void *block, size_t bytes, unsigned seed) {
    for (size_t offset = 0; offset < bytes; offset += offset < 4096 || bytes - offset <= 4096 ? 1 : 4000)
        ((unsigned char *)block)[offset] = pattern_byte(offset, seed);
}

UNUSED static bool holds_pattern(const void *block, size_t filled_bytes, size_t bytes, unsigned seed) {
    for (size_t offset = 0; offset < bytes; offset += offset < 4096 || filled_bytes - offset <= 4096 ? 1 : 4000)
        if (((const unsigned char *)block)[offset] != pattern_byte(offset, seed))
            return false;
    return true;
}

// Runs a call that has one fault of this kind and no other; what is said of it is swallowed.
#define assert_one_fault(fault, statement)                      \
    do {                                                        \
        struct capture fault_capture;                           \
        uint64_t fault_sum = faults_so_far();                   \
        uint64_t fault_before = fault_times(fault);             \
        capture_begin(&fault_capture);                          \
        statement;                                              \
        capture_end(&fault_capture);                            \
        assert_int_equal(fault_times(fault) - fault_before, 1); \
        assert_int_equal(faults_so_far() - fault_sum, 1);       \
    } while (0)

UNUSED static uint64_t faults_so_far(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        sum += fault_times((enum fault)i);
    return sum;
}

#endif
