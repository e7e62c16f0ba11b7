// Many blocks of one size are allocated, then all are freed, again and again.
//
// Models: a list, tree or table built and torn down; a request's objects freed together.
// Does not model: other sizes in between, blocks that outlive the round, threads.
// Formulae: a round allocates `blocks` blocks in order and writes the first and last byte of each, then frees all in
// one order: lifo (last first), fifo (first first) or random (one permutation by Fisher and Yates, the same for every
// round and allocator). One operation: one malloc and one free.
#include "harness.h"

#include <stdio.h>
#include <string.h>

static struct {
    uint32_t bytes, blocks;
    uint64_t rounds;
    const char *order;
    uint32_t *sequence; // sequence[i] is the index of the block that is freed as i-th
} set;

static void *own(unsigned index) {
    (void)index;
    return harness_array(set.blocks, sizeof(void *));
}

static void sequence_make(uint64_t random) {
    for (uint32_t i = 0; i < set.blocks; i++)
        set.sequence[i] = set.order[0] == 'l' ? set.blocks - 1 - i : i;
    if (set.order[0] != 'r')
        return;
    for (uint32_t i = set.blocks - 1; i > 0; i--) {
        uint32_t other = random_below((uint32_t)(random_next(&random) >> 32), i + 1), kept = set.sequence[i];
        set.sequence[i] = set.sequence[other];
        set.sequence[other] = kept;
    }
}

static void rounds(struct worker *worker) {
    void **blocks = worker->own;
    for (uint64_t left = set.rounds; left > 0; left--) {
        for (uint32_t i = 0; i < set.blocks; i++) {
            blocks[i] = allocate_or_fail(set.bytes);
            touch_ends(blocks[i], set.bytes);
        }
        for (uint32_t i = 0; i < set.blocks; i++)
            free(blocks[set.sequence[i]]);
    }
}

int main(int argc, char **argv) {
    set.bytes = (uint32_t)harness_number(argc, argv, 1, "size", 1, UINT32_MAX / 2);
    set.blocks = (uint32_t)harness_number(argc, argv, 2, "blocks", 1, 1 << 28);
    set.rounds = harness_number(argc, argv, 3, "rounds", 1, UINT64_C(1) << 40);
    set.order = argc > 4 ? argv[4] : "";
    if (strcmp(set.order, "lifo") != 0 && strcmp(set.order, "fifo") != 0 && strcmp(set.order, "random") != 0)
        harness_fail("argument 4: lifo, fifo or random");
    set.sequence = harness_array(set.blocks, sizeof *set.sequence);
    sequence_make(1);
    const struct phase phases[] = {{"rounds", rounds}};
    struct phase_result results[2];
    harness_run(1, phases, 1, own, results);
    char parameters[200];
    snprintf(parameters, sizeof parameters,
             "{\"size\":%u,\"blocks\":%u,\"order\":\"%s\",\"rounds\":%llu,\"threads\":1}", set.bytes, set.blocks,
             set.order, (unsigned long long)set.rounds);
    const struct report report = {.workload = "bulk",
                                  .operation = "malloc and free",
                                  .operations = set.rounds * set.blocks,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 1, results);
    return 0;
}
