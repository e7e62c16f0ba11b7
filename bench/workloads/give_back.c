// Threads allocate a lot of memory in blocks of mixed sizes, write all of it, then free all in random order and stay
// alive: how much is given back to the system at once, without any call.
//
// Models: a burst (a large request, a phase of a compiler), after which a program goes on with little; with further
// bursts, one that needs the same memory again and again.
// Does not model: blocks that outlive the burst, memory that comes back with time or by malloc_trim.
// Formulae: size = smallest × (largest / smallest)^u, u uniform in [0, 1): log-uniform. A thread allocates until it has
// its share of the bytes (the last block may pass it), writes every byte, and frees its blocks in an order by Fisher
// and Yates. Figures: resident memory before the first malloc, at the peak, and right after the last free.
// With more bursts than one each thread goes on, at its own pace, to allocate and free as much again. One operation:
// one free; the timed phase is the first release, or all further bursts.
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct {
    uint32_t min, max;
    uint64_t bytes;  // of one thread
    uint32_t blocks; // at most, of one thread
    uint32_t bursts;
} set;

struct mine {
    uint32_t count;
    uint64_t frees; // in further bursts
    void *block[];
};

static struct mine *all[4096];

static void *own(unsigned index) {
    all[index] = harness_array(1, sizeof(struct mine) + set.blocks * sizeof(void *));
    return all[index];
}

static double uniform(uint64_t *random) {
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

static void burst(struct worker *worker) {
    struct mine *mine = worker->own;
    double ratio = log2((double)set.max / set.min);
    for (uint64_t total = 0; total < set.bytes;) {
        if (mine->count == set.blocks)
            harness_fail("the table of blocks is too small");
        size_t bytes = (size_t)(set.min * exp2(ratio * uniform(&worker->random)));
        mine->block[mine->count] = memset(allocate_or_fail(bytes), 1, bytes);
        mine->count++;
        total += bytes;
    }
    for (uint32_t i = mine->count - 1; i > 0; i--) {
        uint32_t other = random_below((uint32_t)(random_next(&worker->random) >> 32), i + 1);
        void *kept = mine->block[i];
        mine->block[i] = mine->block[other];
        mine->block[other] = kept;
    }
}

static void release(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint32_t i = 0; i < mine->count; i++)
        free(mine->block[i]);
}

static void again(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint32_t left = set.bursts - 1; left > 0; left--) {
        mine->count = 0;
        burst(worker);
        release(worker);
        mine->frees += mine->count;
    }
}

int main(int argc, char **argv) {
    set.min = (uint32_t)harness_number(argc, argv, 1, "smallest size", 1, 1 << 28);
    set.max = (uint32_t)harness_number(argc, argv, 2, "largest size", set.min + 1, 1 << 28);
    uint64_t mebibytes = harness_number(argc, argv, 3, "MiB in all", 1, 1 << 20);
    unsigned threads = (unsigned)harness_number(argc, argv, 4, "threads", 1, 4096);
    set.bursts = argc > 5 ? (uint32_t)harness_number(argc, argv, 5, "bursts", 1, 1 << 20) : 1;
    set.bytes = (mebibytes << 20) / threads;
    // Twice the expected number of blocks, and some: the mean size is (max − min) / ln(max / min).
    double mean = ((double)set.max - set.min) / log((double)set.max / set.min);
    set.blocks = (uint32_t)(2 * (double)set.bytes / mean) + 1000;
    const struct phase phases[] = {{"burst", burst}, {"release", release}, {"again", again}};
    unsigned phase_count = set.bursts > 1 ? 3 : 2;
    struct phase_result results[4];
    harness_run(threads, phases, phase_count, own, results);
    uint64_t operations = 0;
    for (unsigned i = 0; i < threads; i++)
        operations += set.bursts > 1 ? all[i]->frees : all[i]->count;
    char parameters[200], extra[200];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"mebibytes\":%llu,\"threads\":%u,\"bursts\":%u}",
             set.min, set.max, (unsigned long long)mebibytes, threads, set.bursts);
    snprintf(extra, sizeof extra, ",\"before_kib\":%ld,\"burst_kib\":%ld,\"after_kib\":%ld,\"kept_kib\":%ld",
             results[0].resident_kib, results[1].resident_kib, results[2].resident_kib,
             results[phase_count].resident_kib - results[0].resident_kib);
    const struct report report = {.workload = "give_back",
                                  .operation = "free",
                                  .operations = operations,
                                  .timed_phase = phase_count - 1,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, phase_count, results);
    return 0;
}
