// calloc gives zeroed memory while other threads dirty, free and trim the same slabs.
#include "race.h"

enum { THREADS = 4, OPERATIONS = 12000 };

static struct ring ring;
static const struct sizes *sizes;
static uint64_t round_seed;

static void *take_zeroed_and_dirty(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    size_t operations = steps_for(sizes, OPERATIONS);
    for (size_t i = 0; i < operations; i++) {
        struct held held = {.size = random_size(&random, sizes), .number = random_next(&random)}, received;
        unsigned char *bytes = held.block = hakmem_calloc(1, held.size);
        CHECK(bytes != NULL);
        if (bytes[0] != 0 || memcmp(bytes, bytes + 1, held.size - 1) != 0) {
            FAIL("a zeroed block of %zu bytes is not zero", held.size);
        }
        memset(bytes, 0xff, hakmem_usable_size(bytes));
        held_stamp(&held);
        if (!ring_push(&ring, &held)) {
            held_drop(&held);
        }
        if (random_below(&random, 3) != 0 && ring_pop(&ring, &received)) {
            held_drop(&received);
        }
        if (random_below(&random, 500) == 0) {
            (void)hakmem_trim(0);
        }
    }
    return NULL;
}

static void dirty_and_zero(uint64_t seed, unsigned round) {
    pthread_t threads[THREADS];
    round_seed = seed;
    sizes = &size_ranges[round % COUNT_OF(size_ranges)];
    ring_start(&ring);
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = thread_start(take_zeroed_and_dirty, (void *)i);
    }
    for (size_t i = 0; i < THREADS; i++) {
        thread_join(threads[i]);
    }
    ring_drain(&ring);
}

int main(int argc, char **argv) {
    return race_rounds("zeroed reuse", dirty_and_zero, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
