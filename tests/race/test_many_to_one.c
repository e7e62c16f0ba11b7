// Many threads allocate and one frees, then one allocates and many free.
#include "race.h"

enum { THREADS = 4, BLOCKS = 16000 };

static struct ring ring;
static _Atomic size_t makers_at_work;
static const struct sizes *sizes;
static uint64_t round_seed;
static size_t blocks_each;

static void *make(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    for (size_t i = 0; i < blocks_each; i++) {
        struct held held = held_make(&random, sizes);
        while (!ring_push(&ring, &held)) {
            sched_yield();
        }
    }
    atomic_fetch_sub(&makers_at_work, 1);
    return NULL;
}

static void *take(void *argument) {
    (void)argument;
    struct held held;
    for (;;) {
        bool last_look = atomic_load(&makers_at_work) == 0;
        bool found = ring_pop(&ring, &held);
        if (found) {
            held_drop(&held);
        } else if (last_look) {
            return NULL;
        } else {
            sched_yield();
        }
    }
}

static void hand_over(size_t makers, size_t takers) {
    pthread_t threads[2 * THREADS];
    size_t count = 0;
    ring_start(&ring);
    atomic_store(&makers_at_work, makers);
    blocks_each = steps_for(sizes, BLOCKS) / makers;
    for (size_t i = 0; i < makers; i++) {
        threads[count++] = thread_start(make, (void *)i);
    }
    for (size_t i = 0; i < takers; i++) {
        threads[count++] = thread_start(take, NULL);
    }
    while (count > 0) {
        thread_join(threads[--count]);
    }
    ring_drain(&ring);
}

static void many_to_one_and_one_to_many(uint64_t seed, unsigned round) {
    sizes = &size_ranges[round % COUNT_OF(size_ranges)];
    round_seed = seed;
    hand_over(THREADS, 1);
    hand_over(1, THREADS);
}

int main(int argc, char **argv) {
    return race_rounds("many to one, one to many", many_to_one_and_one_to_many,
                       test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
