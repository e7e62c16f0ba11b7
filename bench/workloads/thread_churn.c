// Threads that live for a moment: each allocates some blocks, frees them, and ends.
//
// Models: a thread per request or task; what the first malloc of a thread and its end cost, and whether what a dead
// thread had is used again.
// Does not model: blocks that outlive their thread (larson.c does).
// Formulae: each line makes threads one after another and waits for each. A thread allocates `blocks` blocks of 16 to
// 1024 B, writes first and last byte, and frees them in order. One operation: one thread.
#include "harness.h"

#include <pthread.h>
#include <stdio.h>

#define LEAST 16u
#define MOST 1024u
#define BLOCKS_MAX 4096u

static struct {
    uint32_t blocks;
    uint64_t lives;
} set;

static void *own(unsigned index) {
    (void)index;
    return NULL;
}

static void *life(void *argument) {
    uint64_t random = *(uint64_t *)argument;
    void *blocks[BLOCKS_MAX];
    for (uint32_t i = 0; i < set.blocks; i++) {
        size_t bytes = LEAST + random_below((uint32_t)random_next(&random), MOST - LEAST + 1);
        blocks[i] = allocate_or_fail(bytes);
        touch_ends(blocks[i], bytes);
    }
    for (uint32_t i = 0; i < set.blocks; i++)
        free(blocks[i]);
    *(uint64_t *)argument = random;
    return NULL;
}

static void live(struct worker *worker) {
    for (uint64_t left = set.lives; left > 0; left--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, life, &worker->random) != 0)
            harness_fail("pthread_create");
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv) {
    set.blocks = (uint32_t)harness_number(argc, argv, 1, "blocks of a thread", 1, BLOCKS_MAX);
    unsigned lines = (unsigned)harness_number(argc, argv, 2, "lines of threads", 1, 1024);
    set.lives = harness_number(argc, argv, 3, "threads of a line", 1, UINT64_C(1) << 30);
    const struct phase phases[] = {{"live", live}};
    struct phase_result results[2];
    harness_run(lines, phases, 1, own, results);
    char parameters[100];
    snprintf(parameters, sizeof parameters, "{\"blocks\":%u,\"threads\":%u}", set.blocks, lines);
    const struct report report = {.workload = "thread_churn",
                                  .operation = "thread",
                                  .operations = set.lives * lines,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 1, results);
    return 0;
}
