// Each thread hands nine blocks of ten to the next one, which frees them: frees by others are the usual case.
#include "race.h"

enum { THREADS = 4, OPERATIONS = 20000 };

struct worker {
    struct random random;
    const struct sizes *sizes;
    struct ring *own, *next;
    pthread_t thread;
};

static struct ring rings[THREADS];

static void *work(void *argument) {
    struct worker *worker = argument;
    size_t operations = steps_for(worker->sizes, OPERATIONS);
    struct held kept[64] = {{0}};
    for (size_t i = 0; i < operations; i++) {
        struct held held = held_make(&worker->random, worker->sizes);
        if (random_below(&worker->random, 10) == 0 || !ring_push(worker->next, &held)) {
            size_t slot = random_below(&worker->random, COUNT_OF(kept));
            held_drop(&kept[slot]);
            kept[slot] = held;
        }
        struct held received;
        if (ring_pop(worker->own, &received)) {
            held_drop(&received);
        }
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        held_drop(&kept[i]);
    }
    return NULL;
}

static void pass_blocks_around(uint64_t seed, unsigned round) {
    struct worker workers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        ring_start(&rings[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){random_of(seed, i), &size_ranges[round % COUNT_OF(size_ranges)], &rings[i],
                                     &rings[(i + 1) % THREADS], 0};
        workers[i].thread = thread_start(work, &workers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        thread_join(workers[i].thread);
    }
    for (size_t i = 0; i < THREADS; i++) {
        ring_drain(&rings[i]);
    }
}

int main(int argc, char **argv) {
    return race_rounds("remote ring", pass_blocks_around, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
