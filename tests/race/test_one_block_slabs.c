// Blocks of 32 KiB to 2 MiB, whose slabs hold few blocks or one, are made, changed in size, handed on and freed by
// other threads.
#include "race.h"

enum { THREADS = 4, OPERATIONS = 20000 };

static struct ring ring;
static const struct sizes one_block_sizes[] = {
    {"few", 32 * 1024, 128 * 1024}, {"one", 256 * 1024, 1024 * 1024}, {"beyond", 512 * 1024, 2048 * 1024}};
static const struct sizes *sizes;
static uint64_t round_seed;

// Changes the size of a block and checks that what both sizes have in common stayed.
static void held_resize(struct random *random, struct held *held) {
    size_t size = random_size(random, sizes);
    held_check(held);
    void *moved = hakmem_realloc(held->block, size);
    CHECK(moved != NULL);
    held_check_moved(held, moved, size);
    held->block = moved;
    held->size = size;
    held_stamp(held);
}

static struct held held_make_zeroed(struct random *random) {
    struct held held = {.size = random_size(random, sizes), .number = random_next(random)};
    unsigned char *bytes = held.block = hakmem_calloc(1, held.size);
    CHECK(bytes != NULL);
    CHECK(bytes[0] == 0 && memcmp(bytes, bytes + 1, held.size - 1) == 0);
    held_stamp(&held);
    return held;
}

static void *hand_around(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    size_t operations = steps_for(sizes, OPERATIONS);
    struct held kept[12] = {{0}};
    for (size_t i = 0; i < operations; i++) {
        struct held *slot = &kept[random_below(&random, COUNT_OF(kept))];
        size_t choice = random_below(&random, 8);
        if (slot->block == NULL) {
            *slot = choice == 0 ? held_make_zeroed(&random) : held_make(&random, sizes);
        } else if (choice == 0) {
            held_resize(&random, slot);
        } else if (choice < 4 && ring_push(&ring, slot)) {
            slot->block = NULL;
        } else {
            held_drop(slot);
        }
        struct held received;
        if (choice % 2 == 0 && ring_pop(&ring, &received)) {
            held_drop(&received);
        }
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        held_drop(&kept[i]);
    }
    return NULL;
}

static void hand_large_blocks_around(uint64_t seed, unsigned round) {
    pthread_t threads[THREADS];
    round_seed = seed;
    sizes = &one_block_sizes[round % COUNT_OF(one_block_sizes)];
    ring_start(&ring);
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = thread_start(hand_around, (void *)i);
    }
    for (size_t i = 0; i < THREADS; i++) {
        thread_join(threads[i]);
    }
    ring_drain(&ring);
}

int main(int argc, char **argv) {
    return race_rounds("one-block slabs", hand_large_blocks_around, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
