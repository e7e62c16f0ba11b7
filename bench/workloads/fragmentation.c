// A phase of small blocks, most of which die in random order, then a phase of larger ones in what is left.
//
// Models: a program that changes what it does: parse, then compute; a cache that is refilled with other records.
// Does not model: phases that return (bursts.c), threads.
// Formulae: blocks of 16 to 64 B are allocated until they make `mebibytes`; nine of ten, in random order, are freed;
// then blocks of 256 to 2048 B are allocated until as much lives as before. First and last byte are written.
// Figures: resident memory after each phase, beyond the start; "overhead": the last over what then lives. The three
// phases together are the time; one operation: one malloc or one free.
#include "harness.h"

#include <stdio.h>

static struct {
    uint64_t bytes;
    uint32_t room;
    void **small, **larger;
    uint32_t small_count, larger_count;
    uint64_t live_bytes;
    uint64_t freed;
} set;

static void *own(unsigned index) {
    (void)index;
    return NULL;
}

static uint32_t fill(struct worker *worker, void **blocks, uint32_t min, uint32_t max) {
    uint32_t count = 0;
    while (set.live_bytes < set.bytes && count < set.room) {
        size_t bytes = min + random_below((uint32_t)random_next(&worker->random), max - min + 1);
        blocks[count] = allocate_or_fail(bytes);
        touch_ends(blocks[count++], bytes);
        set.live_bytes += bytes;
    }
    return count;
}

static void small_phase(struct worker *worker) {
    set.small_count = fill(worker, set.small, 16, 64);
    for (uint32_t i = set.small_count - 1; i > 0; i--) { // Fisher and Yates
        uint32_t other = random_below((uint32_t)(random_next(&worker->random) >> 32), i + 1);
        void *kept = set.small[i];
        set.small[i] = set.small[other];
        set.small[other] = kept;
    }
}

static void death(struct worker *worker) {
    (void)worker;
    set.freed = set.small_count - set.small_count / 10;
    for (uint32_t i = 0; i < set.freed; i++)
        free(set.small[i]);
    set.live_bytes /= 10; // the sizes of those that live are not known; their mean is
}

static void larger_phase(struct worker *worker) {
    set.larger_count = fill(worker, set.larger, 256, 2048);
}

int main(int argc, char **argv) {
    uint64_t mebibytes = harness_number(argc, argv, 1, "MiB", 1, 1 << 16);
    set.bytes = mebibytes << 20;
    set.room = (uint32_t)(set.bytes / 16 + 1);
    set.small = harness_array(set.room, sizeof(void *));
    set.larger = harness_array(set.room, sizeof(void *));
    const struct phase phases[] = {{"small", small_phase}, {"death", death}, {"larger", larger_phase}};
    struct phase_result results[4];
    harness_run(1, phases, 3, own, results);
    for (unsigned i = 2; i <= 3; i++) // one time for all
        results[i].seconds += results[i - 1].seconds;
    char parameters[100], extra[200];
    long start = results[0].resident_kib;
    snprintf(parameters, sizeof parameters, "{\"mebibytes\":%llu,\"threads\":1}", (unsigned long long)mebibytes);
    snprintf(extra, sizeof extra,
             ",\"after_small_kib\":%ld,\"after_death_kib\":%ld,\"after_larger_kib\":%ld,\"overhead\":%.4f",
             results[1].resident_kib - start, results[2].resident_kib - start, results[3].resident_kib - start,
             (double)(results[3].resident_kib - start) * 1024 / (double)set.live_bytes);
    const struct report report = {.workload = "fragmentation",
                                  .operation = "malloc or free",
                                  .operations = set.small_count + set.freed + set.larger_count,
                                  .timed_phase = 2,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 3, results);
    return 0;
}
