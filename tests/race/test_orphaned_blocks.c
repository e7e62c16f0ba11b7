// Blocks are freed after the thread that allocated them has ended, and just while it ends.
#include "race.h"

enum { PARENTS = 4, BLOCKS = 3000 };

struct parent {
    uint64_t seed;
    const struct sizes *sizes;
    size_t block_count;
    struct held blocks[BLOCKS];
    _Atomic size_t blocks_ready;
    pthread_t thread;
};

static struct parent parents[PARENTS];

// Half of the blocks are offered while the thread still runs, the rest just before it ends.
static void *leave_blocks(void *argument) {
    struct parent *parent = argument;
    struct random random = random_of(parent->seed, 1);
    for (size_t i = 0; i < parent->block_count; i++) {
        parent->blocks[i] = held_make(&random, parent->sizes);
        if (i % 2 == 1) {
            struct held passing = held_make(&random, parent->sizes);
            held_drop(&passing);
        }
        if (i == parent->block_count / 2) {
            atomic_store_explicit(&parent->blocks_ready, i, memory_order_release);
        }
    }
    atomic_store_explicit(&parent->blocks_ready, parent->block_count, memory_order_release);
    return NULL;
}

// Frees what is ready without waiting for the end of the thread.
static void *free_while_it_ends(void *argument) {
    struct parent *parent = argument;
    for (size_t i = 0; i < parent->block_count; i++) {
        while (atomic_load_explicit(&parent->blocks_ready, memory_order_acquire) <= i) {
            sched_yield();
        }
        if (i % 2 == 0) {
            held_drop(&parent->blocks[i]);
        }
    }
    return NULL;
}

static void free_after_the_end(uint64_t seed, unsigned round) {
    pthread_t heirs[PARENTS];
    for (size_t i = 0; i < PARENTS; i++) {
        struct parent *parent = &parents[i];
        parent->seed = seed * PARENTS + i;
        parent->sizes = &size_ranges[round % COUNT_OF(size_ranges)];
        parent->block_count = steps_for(parent->sizes, BLOCKS);
        atomic_store(&parent->blocks_ready, 0);
        parent->thread = thread_start(leave_blocks, parent);
        heirs[i] = thread_start(free_while_it_ends, parent);
    }
    for (size_t i = 0; i < PARENTS; i++) {
        thread_join(parents[i].thread);
        thread_join(heirs[i]);
    }
    for (size_t i = 0; i < PARENTS; i++) {
        for (size_t j = 0; j < parents[i].block_count; j++) {
            held_drop(&parents[i].blocks[j]);
        }
    }
}

int main(int argc, char **argv) {
    return race_rounds("orphaned blocks", free_after_the_end, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
