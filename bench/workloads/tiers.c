// Random replacement: each thread owns a set of blocks, picks a random one, frees it, and allocates one of a random
// size in its place.
//
// Models: the steady state of a program whose blocks die at random, with a working set of a fixed number of blocks.
// Does not model: correlated lifetimes, phases, blocks that pass between threads, use of the blocks beyond the bytes
// touched.
// Formulae: slot = high 32 random bits × blocks / 2^32; size = min + low 32 random bits × (max − min + 1) / 2^32;
// xorshift64*, one number per operation, a seed per thread. Blocks up to 64 KiB: first and last byte are written;
// larger ones: each page. One operation: one free and one malloc. The first filling is not timed.
#include "harness.h"

#include <stdio.h>

static struct {
    uint32_t min, max, blocks;
    uint64_t operations; // of one thread
} set;

static void *own(unsigned index) {
    (void)index;
    return harness_array(set.blocks, sizeof(void *));
}

static inline void touch(void *block, size_t bytes) {
    if (set.max <= 64 << 10)
        touch_ends(block, bytes);
    else
        touch_pages(block, bytes);
}

static void fill(struct worker *worker) {
    void **mine = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++) {
        size_t bytes = set.min + random_below((uint32_t)random_next(&worker->random), set.max - set.min + 1);
        mine[i] = allocate_or_fail(bytes);
        touch(mine[i], bytes);
    }
}

static void replace(struct worker *worker) {
    void **mine = worker->own;
    const uint32_t min = set.min, span = set.max - set.min + 1, blocks = set.blocks;
    uint64_t random = worker->random;
    for (uint64_t left = set.operations; left > 0; left--) {
        uint64_t bits = random_next(&random);
        void **slot = &mine[random_below((uint32_t)(bits >> 32), blocks)];
        size_t bytes = min + random_below((uint32_t)bits, span);
        free(*slot);
        *slot = allocate_or_fail(bytes);
        touch(*slot, bytes);
    }
    worker->random = random;
}

static void drop(struct worker *worker) {
    void **mine = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++)
        free(mine[i]);
}

int main(int argc, char **argv) {
    set.min = (uint32_t)harness_number(argc, argv, 1, "smallest size", 1, UINT32_MAX / 2);
    set.max = (uint32_t)harness_number(argc, argv, 2, "largest size", set.min, UINT32_MAX / 2);
    set.blocks = (uint32_t)harness_number(argc, argv, 3, "blocks of a thread", 1, 1 << 28);
    unsigned threads = (unsigned)harness_number(argc, argv, 4, "threads", 1, 4096);
    set.operations = harness_number(argc, argv, 5, "operations of a thread", 1, UINT64_C(1) << 40);
    const struct phase phases[] = {{"fill", fill}, {"replace", replace}, {"drop", drop}};
    struct phase_result results[4];
    harness_run(threads, phases, 3, own, results);
    char parameters[200];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"blocks\":%u,\"threads\":%u}", set.min, set.max,
             set.blocks, threads);
    const struct report report = {.workload = "tiers",
                                  .operation = "free and malloc",
                                  .operations = set.operations * threads,
                                  .timed_phase = 1,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 3, results);
    return 0;
}
