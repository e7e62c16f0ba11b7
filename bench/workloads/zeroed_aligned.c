// Random replacement with calloc, or with alignments.
//
// Models: programs that ask for zeroed or aligned memory all the time: interpreters, numerics, direct input and output.
// Does not model: the ordinary malloc between.
// Formulae: slot and size as in tiers.c. "calloc": first, middle and last byte must be zero, and are then written.
// "aligned": posix_memalign with 2^k, k uniform from 4 to 12; the address is checked, first and last byte are written.
// One operation: one free and one allocation.
#include "harness.h"

#include <stdio.h>
#include <string.h>

static struct {
    uint32_t min, max, blocks;
    int is_aligned;
    uint64_t operations;
} set;

static void *own(unsigned index) {
    (void)index;
    return harness_array(set.blocks, sizeof(void *));
}

static void *zeroed(size_t bytes) {
    char *block = calloc(1, bytes);
    volatile char *at = block;
    if (block == NULL || (at[0] | at[bytes / 2] | at[bytes - 1]) != 0)
        harness_fail(block == NULL ? "calloc returned NULL" : "calloc's memory is not zero");
    at[0] = at[bytes / 2] = at[bytes - 1] = 1;
    return block;
}

static void *aligned(size_t bytes, uint64_t bits) {
    size_t align = (size_t)1 << (4 + random_below((uint32_t)(bits >> 16), 9));
    void *block;
    if (posix_memalign(&block, align, bytes) != 0 || ((uintptr_t)block & (align - 1)) != 0)
        harness_fail("posix_memalign failed, or its block is not aligned");
    touch_ends(block, bytes);
    return block;
}

static void replace(struct worker *worker) {
    void **mine = worker->own;
    uint64_t random = worker->random;
    for (uint64_t left = set.operations; left > 0; left--) {
        uint64_t bits = random_next(&random);
        void **slot = &mine[random_below((uint32_t)(bits >> 32), set.blocks)];
        size_t bytes = set.min + random_below((uint32_t)bits, set.max - set.min + 1);
        free(*slot);
        *slot = set.is_aligned ? aligned(bytes, bits) : zeroed(bytes);
    }
    worker->random = random;
}

static void drop(struct worker *worker) {
    void **mine = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++)
        free(mine[i]);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    set.is_aligned = strcmp(mode, "aligned") == 0;
    if (!set.is_aligned && strcmp(mode, "calloc") != 0)
        harness_fail("argument 1: calloc or aligned");
    set.min = (uint32_t)harness_number(argc, argv, 2, "smallest size", 1, 1 << 28);
    set.max = (uint32_t)harness_number(argc, argv, 3, "largest size", set.min, 1 << 28);
    set.blocks = (uint32_t)harness_number(argc, argv, 4, "blocks", 1, 1 << 28);
    set.operations = harness_number(argc, argv, 5, "operations", 1, UINT64_C(1) << 40);
    const struct phase phases[] = {{"replace", replace}, {"drop", drop}};
    struct phase_result results[3];
    harness_run(1, phases, 2, own, results);
    char parameters[200];
    snprintf(parameters, sizeof parameters, "{\"mode\":\"%s\",\"min\":%u,\"max\":%u,\"blocks\":%u,\"threads\":1}", mode,
             set.min, set.max, set.blocks);
    const struct report report = {.workload = "zeroed_aligned",
                                  .operation = "free and allocation",
                                  .operations = set.operations,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 2, results);
    return 0;
}
