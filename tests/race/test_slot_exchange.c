// Threads put blocks into shared slots and free what they find there: any block may be freed by any thread at any time.
#include "race.h"

enum { THREADS = 4, SLOTS = 1024, OPERATIONS = 20000 };

// A slot holds a pointer to a record, itself a block of the library, that describes the block it stands for.
static _Atomic(struct held *) slots[SLOTS];

struct worker {
    struct random random;
    const struct sizes *sizes;
    pthread_t thread;
};

static void drop_record(struct held *record) {
    if (record != NULL) {
        held_drop(record);
        hakmem_free(record);
    }
}

static void *exchange(void *argument) {
    struct worker *worker = argument;
    size_t operations = steps_for(worker->sizes, OPERATIONS),
           used_slots = worker->sizes->least >= 32 * KIB ? SLOTS / 16 : SLOTS;
    for (size_t i = 0; i < operations; i++) {
        struct held *record = hakmem_malloc(sizeof *record);
        CHECK(record != NULL);
        *record = held_make(&worker->random, worker->sizes);
        drop_record(atomic_exchange(&slots[random_below(&worker->random, used_slots)], record));
        if (i % 3 == 0) {
            drop_record(atomic_exchange(&slots[random_below(&worker->random, used_slots)], NULL));
        }
    }
    return NULL;
}

static void exchange_blocks(uint64_t seed, unsigned round) {
    struct worker workers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){random_of(seed, i), &size_ranges[round % COUNT_OF(size_ranges)], 0};
        workers[i].thread = thread_start(exchange, &workers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        thread_join(workers[i].thread);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        drop_record(atomic_exchange(&slots[i], NULL));
    }
}

int main(int argc, char **argv) {
    return race_rounds("slot exchange", exchange_blocks, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
