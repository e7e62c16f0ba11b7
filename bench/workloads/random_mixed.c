// One thread, 400 slots, 16 to 1024 B: a full slot is freed, an empty one is filled.
//
// Models: the hot path alone, with half of the slots full on average; comparable with records of other allocators.
// Does not model: use of memory (no block is touched), more than one thread, a working set beyond the caches.
// Formulae: a 32-bit linear congruential generator, r = r × 1664525 + 1013904223, seed 0x12345678, one step per
// iteration; slot = r mod 400; size = 16 + r mod 1009. Each malloc and each free is one operation; what is left in the
// slots is freed at the end and counted.
#include "harness.h"

#include <stdio.h>

#define SLOTS 400u
#define SMALLEST 16u
#define SIZES 1009u // 16 to 1024
#define SEED 0x12345678u

static uint64_t iterations, operations;

static void *own(unsigned index) {
    (void)index;
    return harness_array(SLOTS, sizeof(void *));
}

static void mix(struct worker *worker) {
    void **slots = worker->own;
    uint32_t random = SEED;
    for (uint64_t left = iterations; left > 0; left--) {
        random = random * 1664525u + 1013904223u;
        void **slot = &slots[random % SLOTS];
        if (*slot != NULL) {
            free(*slot);
            *slot = NULL;
        } else {
            *slot = allocate_or_fail(SMALLEST + random % SIZES);
        }
    }
    operations = iterations;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (slots[i] == NULL)
            continue;
        free(slots[i]);
        operations++;
    }
}

int main(int argc, char **argv) {
    iterations = harness_number(argc, argv, 1, "iterations", 1, UINT64_C(1) << 40);
    const struct phase phases[] = {{"mix", mix}};
    struct phase_result results[2];
    harness_run(1, phases, 1, own, results);
    char parameters[100];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"blocks\":%u,\"threads\":1,\"iterations\":%llu}",
             SMALLEST, SMALLEST + SIZES - 1, SLOTS, (unsigned long long)iterations);
    const struct report report = {.workload = "random_mixed",
                                  .operation = "malloc or free",
                                  .operations = operations,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 1, results);
    return 0;
}
