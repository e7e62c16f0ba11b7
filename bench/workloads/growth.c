// Blocks are allocated and never freed until the end.
//
// Models: a program that builds its data, computes and ends: compilers, solvers, loaders. Speed of fresh memory, and
// what of it is overhead.
// Does not model: any reuse.
// Formulae: sizes uniform from the smallest to the largest; the whole of each block is written. Each thread allocates
// until it has its share of the bytes. One operation: one malloc. "requested_kib" is what was asked for; the freeing is
// another phase, not timed.
#include "harness.h"

#include <stdio.h>
#include <string.h>

static struct {
    uint32_t min, max;
    uint64_t bytes; // of one thread
    uint32_t blocks;
} set;

struct mine {
    uint64_t bytes;
    uint32_t count;
    void *block[];
};

static struct mine *all[4096];

static void *own(unsigned index) {
    all[index] = harness_array(1, sizeof(struct mine) + set.blocks * sizeof(void *));
    return all[index];
}

static void grow(struct worker *worker) {
    struct mine *mine = worker->own;
    while (mine->bytes < set.bytes && mine->count < set.blocks) {
        size_t bytes = set.min + random_below((uint32_t)random_next(&worker->random), set.max - set.min + 1);
        mine->block[mine->count++] = memset(allocate_or_fail(bytes), 1, bytes);
        mine->bytes += bytes;
    }
}

static void drop(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint32_t i = 0; i < mine->count; i++)
        free(mine->block[i]);
}

int main(int argc, char **argv) {
    set.min = (uint32_t)harness_number(argc, argv, 1, "smallest size", 1, 1 << 28);
    set.max = (uint32_t)harness_number(argc, argv, 2, "largest size", set.min, 1 << 28);
    unsigned threads = (unsigned)harness_number(argc, argv, 3, "threads", 1, 4096);
    uint64_t kibibytes = harness_number(argc, argv, 4, "KiB in all", 1, UINT64_C(1) << 32);
    set.bytes = kibibytes * 1024 / threads;
    set.blocks = (uint32_t)(3 * set.bytes / ((uint64_t)set.min + set.max) + 1000); // half more than expected
    const struct phase phases[] = {{"grow", grow}, {"drop", drop}};
    struct phase_result results[3];
    harness_run(threads, phases, 2, own, results);
    uint64_t operations = 0, requested = 0;
    for (unsigned i = 0; i < threads; i++) {
        operations += all[i]->count;
        requested += all[i]->bytes;
    }
    char parameters[200], extra[100];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"threads\":%u}", set.min, set.max, threads);
    snprintf(extra, sizeof extra, ",\"requested_kib\":%llu", (unsigned long long)requested / 1024);
    const struct report report = {.workload = "growth",
                                  .operation = "malloc",
                                  .operations = operations,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 2, results);
    return 0;
}
