// One thread trims without pause while others allocate, free and hand blocks to each other.
#include "race.h"

enum { WORKERS = 3, OPERATIONS = 16000 };

static struct ring ring;
static _Atomic size_t workers_at_work;
static const struct sizes *sizes;
static uint64_t round_seed;

static void *use_heap(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    struct held kept[128] = {{0}};
    size_t operations = steps_for(sizes, OPERATIONS);
    for (size_t i = 0; i < operations; i++) {
        size_t slot = random_below(&random, COUNT_OF(kept));
        held_drop(&kept[slot]);
        kept[slot] = held_make(&random, sizes);
        struct held received;
        if (i % 4 == 0 && ring_push(&ring, &kept[slot])) {
            kept[slot].block = NULL;
        }
        if (i % 4 == 1 && ring_pop(&ring, &received)) {
            held_drop(&received);
        }
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        held_drop(&kept[i]);
    }
    atomic_fetch_sub(&workers_at_work, 1);
    return NULL;
}

static void *trim_without_pause(void *unused) {
    (void)unused;
    for (size_t keep = 0; atomic_load(&workers_at_work) > 0; keep = (keep + MIB) % (8 * MIB)) {
        int gave_back = hakmem_trim(keep);
        CHECK(gave_back == 0 || gave_back == 1);
    }
    return NULL;
}

static void trim_under_load(uint64_t seed, unsigned round) {
    round_seed = seed;
    sizes = &size_ranges[round % COUNT_OF(size_ranges)];
    ring_start(&ring);
    atomic_store(&workers_at_work, WORKERS);
    threads_run(WORKERS, use_heap, trim_without_pause);
    ring_drain(&ring);
}

int main(int argc, char **argv) {
    return race_rounds("trim under load", trim_under_load, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
