// Random replacement by threads that end and leave their blocks to successors (Larson and Krishnan, "Memory allocation
// for long-running server applications", ISMM 1998).
//
// Models: a server whose worker threads come and go, while what they allocated lives on and is freed by others.
// Does not model: blocks in use by two threads at once; work on the blocks beyond the bytes touched.
// Formulae: slot, size and touching as in tiers.c. A thread replaces `operations` times and ends; its successor goes on
// with the same blocks; `lives` threads follow one another in each line, and `lines` lines run at a time. One
// operation: one free and one malloc. The original runs for a time and counts; here the work is fixed and timed.
#include "harness.h"

#include <pthread.h>
#include <stdio.h>

static struct {
    uint32_t min, max, blocks;
    uint64_t operations; // of one life
    uint32_t lives;
} set;

static void *own(unsigned index) {
    (void)index;
    return harness_array(set.blocks, sizeof(void *));
}

static void fill(struct worker *worker) {
    void **mine = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++) {
        size_t bytes = set.min + random_below((uint32_t)random_next(&worker->random), set.max - set.min + 1);
        mine[i] = allocate_or_fail(bytes);
        touch_ends(mine[i], bytes);
    }
}

static void *life(void *argument) {
    struct worker *worker = argument;
    void **mine = worker->own;
    uint64_t random = worker->random;
    for (uint64_t left = set.operations; left > 0; left--) {
        uint64_t bits = random_next(&random);
        void **slot = &mine[random_below((uint32_t)(bits >> 32), set.blocks)];
        size_t bytes = set.min + random_below((uint32_t)bits, set.max - set.min + 1);
        free(*slot);
        *slot = allocate_or_fail(bytes);
        touch_ends(*slot, bytes);
    }
    worker->random = random;
    return NULL;
}

static void live(struct worker *worker) {
    for (uint32_t i = 0; i < set.lives; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, life, worker) != 0)
            harness_fail("pthread_create");
        pthread_join(thread, NULL);
    }
}

static void drop(struct worker *worker) {
    void **mine = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++)
        free(mine[i]);
}

int main(int argc, char **argv) {
    set.min = (uint32_t)harness_number(argc, argv, 1, "smallest size", 1, 1 << 20);
    set.max = (uint32_t)harness_number(argc, argv, 2, "largest size", set.min, 1 << 20);
    set.blocks = (uint32_t)harness_number(argc, argv, 3, "blocks of a line", 1, 1 << 28);
    unsigned lines = (unsigned)harness_number(argc, argv, 4, "lines of threads", 1, 4096);
    set.lives = (uint32_t)harness_number(argc, argv, 5, "lives of a line", 1, 1 << 20);
    set.operations = harness_number(argc, argv, 6, "operations of a life", 1, UINT64_C(1) << 40);
    const struct phase phases[] = {{"fill", fill}, {"live", live}, {"drop", drop}};
    struct phase_result results[4];
    harness_run(lines, phases, 3, own, results);
    char parameters[200];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"blocks\":%u,\"threads\":%u,\"lives\":%u}",
             set.min, set.max, set.blocks, lines, set.lives);
    const struct report report = {.workload = "larson",
                                  .operation = "free and malloc",
                                  .operations = set.operations * set.lives * lines,
                                  .timed_phase = 1,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 3, results);
    return 0;
}
