// Blocks allocated and freed in destructors of thread-specific data, some of which run after the library's own.
//
// Keys made before the library's first call and after it, whose destructors set their value again, so that they run in
// every one of the rounds the C library allows.
#include "race.h"
#include <limits.h>

enum { THREADS = 4, KEYS = 6, BLOCKS_EACH = 30 };

// ThreadSanitizer ends its own care for a thread in the last round.
enum { DESTRUCTOR_ROUNDS = SANITIZED ? PTHREAD_DESTRUCTOR_ITERATIONS - 1 : PTHREAD_DESTRUCTOR_ITERATIONS };

struct last_will {
    struct random random;
    unsigned calls_left;
    struct held blocks[BLOCKS_EACH];
};

static pthread_key_t keys[KEYS];
static _Atomic size_t destructor_calls;
static struct ring heirloom; // blocks that go from a dying thread to another one
static const struct sizes *sizes;
static uint64_t round_seed;

static void execute_will(struct last_will *will, pthread_key_t key) {
    atomic_fetch_add(&destructor_calls, 1);
    for (size_t i = 0; i < BLOCKS_EACH; i++) {
        held_drop(&will->blocks[i]);
        will->blocks[i] = held_make(&will->random, sizes);
        struct held passed_on = held_make(&will->random, sizes), received;
        if (!ring_push(&heirloom, &passed_on)) {
            held_drop(&passed_on);
        }
        if (i % 2 == 0 && ring_pop(&heirloom, &received)) {
            held_drop(&received);
        }
    }
    if (--will->calls_left > 0) {
        CHECK(pthread_setspecific(key, will) == 0);
        return;
    }
    for (size_t i = 0; i < BLOCKS_EACH; i++) {
        held_drop(&will->blocks[i]);
    }
    hakmem_free(will);
}

static void destroy_0(void *will) {
    execute_will(will, keys[0]);
}
static void destroy_1(void *will) {
    execute_will(will, keys[1]);
}
static void destroy_2(void *will) {
    execute_will(will, keys[2]);
}
static void destroy_3(void *will) {
    execute_will(will, keys[3]);
}
static void destroy_4(void *will) {
    execute_will(will, keys[4]);
}
static void destroy_5(void *will) {
    execute_will(will, keys[5]);
}

static void (*const destructors[KEYS])(void *) = {destroy_0, destroy_1, destroy_2, destroy_3, destroy_4, destroy_5};

static void *make_wills(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    for (size_t k = 0; k < KEYS; k++) {
        struct last_will *will = hakmem_calloc(1, sizeof *will);
        CHECK(will != NULL);
        will->random = random_of(round_seed, random_next(&random));
        will->calls_left = 1 + (unsigned)random_below(&random, DESTRUCTOR_ROUNDS);
        CHECK(pthread_setspecific(keys[k], will) == 0);
    }
    return NULL;
}

static void die_with_blocks(uint64_t seed, unsigned round) {
    sizes = &size_ranges[round % 4];
    round_seed = seed;
    ring_start(&heirloom);
    atomic_store(&destructor_calls, 0);
    for (int repetition = 0; repetition < (SANITIZED ? 2 : 8); repetition++) {
        pthread_t threads[THREADS];
        for (size_t i = 0; i < THREADS; i++) {
            threads[i] = thread_start(make_wills, (void *)(i + (size_t)repetition * THREADS));
        }
        for (size_t i = 0; i < THREADS; i++) {
            thread_join(threads[i]);
        }
        CHECK(atomic_exchange(&destructor_calls, 0) >= (size_t)THREADS * KEYS);
    }
    ring_drain(&heirloom);
}

int main(int argc, char **argv) {
    for (size_t k = 0; k < KEYS / 2; k++) {
        CHECK(pthread_key_create(&keys[k], destructors[k]) == 0);
    }
    hakmem_free(hakmem_malloc(100));
    for (size_t k = KEYS / 2; k < KEYS; k++) {
        CHECK(pthread_key_create(&keys[k], destructors[k]) == 0);
    }
    return race_rounds("key destructors", die_with_blocks, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
