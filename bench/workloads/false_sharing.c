// Threads write to small blocks of their own, again and again: do blocks of two threads share a cache line?
//
// Models: per-thread counters, nodes and small buffers that are written all the time. (The idea is that of the
// cache-thrash and cache-scratch programs of Berger, McKinley, Blumofe and Wilson, "Hoard", ASPLOS 2000.)
// Does not model: blocks that threads share on purpose.
// Formulae: a round allocates a block, sets its first byte to 0, adds to it `writes` times, and frees it. "active":
// nothing else. "passive": one thread first allocates neighbouring blocks and gives one to each thread, which frees it
// and goes on as before. One operation: one round.
#include "harness.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    uint32_t bytes, writes;
    uint64_t rounds; // of one thread
    unsigned threads;
    int is_passive;
    void **given;
} set;

static void *own(unsigned index) {
    (void)index;
    return NULL;
}

static void give(struct worker *worker) {
    if (!set.is_passive || worker->index != 0)
        return;
    for (unsigned i = 0; i < set.threads; i++) {
        set.given[i] = allocate_or_fail(set.bytes);
        touch_ends(set.given[i], set.bytes);
    }
}

static void rounds(struct worker *worker) {
    free(set.given[worker->index]);
    for (uint64_t left = set.rounds; left > 0; left--) {
        char *block = allocate_or_fail(set.bytes);
        volatile char *written = block;
        written[0] = 0; // as a program would; what was there before must not be waited for
        for (uint32_t i = 0; i < set.writes; i++)
            written[0]++;
        free(block);
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    set.is_passive = strcmp(mode, "passive") == 0;
    if (!set.is_passive && strcmp(mode, "active") != 0)
        harness_fail("argument 1: active or passive");
    set.bytes = (uint32_t)harness_number(argc, argv, 2, "size", 1, 1 << 20);
    set.writes = (uint32_t)harness_number(argc, argv, 3, "writes to a block", 1, 1 << 28);
    set.threads = (unsigned)harness_number(argc, argv, 4, "threads", 1, 4096);
    set.rounds = harness_number(argc, argv, 5, "rounds of a thread", 1, UINT64_C(1) << 40);
    set.given = harness_array(set.threads, sizeof(void *));
    const struct phase phases[] = {{"give", give}, {"rounds", rounds}};
    struct phase_result results[3];
    harness_run(set.threads, phases, 2, own, results);
    char parameters[200];
    snprintf(parameters, sizeof parameters, "{\"mode\":\"%s\",\"size\":%u,\"writes\":%u,\"threads\":%u}", mode,
             set.bytes, set.writes, set.threads);
    const struct report report = {.workload = "false_sharing",
                                  .operation = "malloc, writes and free",
                                  .operations = set.rounds * set.threads,
                                  .timed_phase = 1,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 2, results);
    return 0;
}
