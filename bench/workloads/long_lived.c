// Half of the blocks live on while the rest churns, each round with other sizes.
//
// Models: a service whose cache or tables stay while requests of changing shape come and go between them: what stays
// keeps parts of slabs, pages and groups from being used for anything else.
// Does not model: threads; long-lived blocks that die in the end one by one.
// Formulae: 2 × `blocks` blocks of 16 to 1024 B are allocated, and every other one is freed. In round r of `rounds`, a
// table of `blocks` slots is emptied, then filled and replaced at random `operations` / `rounds` times with sizes from
// low to 4 × low, low = 16 × 2^(r mod 8): 16–64, 32–128, …, 2048–8192 B. First and last byte are written. One
// operation: one free and one malloc. At the end the churning half is freed: "kept_kib" is what is resident then
// beyond the start, and "lives_kib" what the other half asked for.
#include "harness.h"

#include <stdio.h>

#define LEAST 16u
#define MOST 1024u
#define SHAPES 8u

static struct {
    uint32_t blocks, rounds;
    uint64_t operations;
    uint64_t living_bytes;
    void **living, **churning;
} set;

static void *own(unsigned index) {
    (void)index;
    return NULL;
}

static void *block_of(size_t bytes) {
    void *block = allocate_or_fail(bytes);
    touch_ends(block, bytes);
    return block;
}

static void settle(struct worker *worker) {
    for (uint32_t i = 0; i < set.blocks; i++) {
        uint64_t bits = random_next(&worker->random);
        uint32_t bytes = LEAST + random_below((uint32_t)bits, MOST - LEAST + 1);
        set.living[i] = block_of(bytes);
        set.living_bytes += bytes;
        set.churning[i] = block_of(LEAST + random_below((uint32_t)(bits >> 32), MOST - LEAST + 1));
    }
}

static void empty(struct worker *worker) {
    (void)worker;
    for (uint32_t i = 0; i < set.blocks; i++) {
        free(set.churning[i]);
        set.churning[i] = NULL;
    }
}

static void churn(struct worker *worker) {
    for (uint32_t round = 0; round < set.rounds; round++) {
        uint32_t low = LEAST << (round % SHAPES);
        empty(worker);
        for (uint64_t left = set.operations / set.rounds; left > 0; left--) {
            uint64_t bits = random_next(&worker->random);
            void **slot = &set.churning[random_below((uint32_t)(bits >> 32), set.blocks)];
            free(*slot);
            *slot = block_of(low + random_below((uint32_t)bits, 3 * low + 1));
        }
    }
}

int main(int argc, char **argv) {
    set.blocks = (uint32_t)harness_number(argc, argv, 1, "blocks that live on", 1, 1 << 28);
    set.rounds = (uint32_t)harness_number(argc, argv, 2, "rounds", 1, 1 << 20);
    set.operations = harness_number(argc, argv, 3, "operations", set.rounds, UINT64_C(1) << 40);
    set.living = harness_array(set.blocks, sizeof(void *));
    set.churning = harness_array(set.blocks, sizeof(void *));
    const struct phase phases[] = {{"settle", settle}, {"churn", churn}, {"empty", empty}};
    struct phase_result results[4];
    harness_run(1, phases, 3, own, results);
    char parameters[100], extra[100];
    snprintf(parameters, sizeof parameters, "{\"blocks\":%u,\"rounds\":%u,\"threads\":1}", set.blocks, set.rounds);
    snprintf(extra, sizeof extra, ",\"kept_kib\":%ld,\"lives_kib\":%llu",
             results[3].resident_kib - results[0].resident_kib, (unsigned long long)set.living_bytes / 1024);
    const struct report report = {.workload = "long_lived",
                                  .operation = "free and malloc",
                                  .operations = set.operations / set.rounds * set.rounds,
                                  .timed_phase = 1,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 3, results);
    return 0;
}
