// Blocks of 16, 32 and 48 bytes, whose slabs have holders, wander between threads of which some end and leave their
// slabs.
#include "race.h"

enum { THREADS = 6, SLOTS = 512, OPERATIONS = 12000 };

static const size_t held_sizes[] = {16, 32, 48};

static struct {
    atomic_flag taken; // a lock of its own for each slot, so that the record needs no block
    struct held held;
} slots[SLOTS];

static struct held swap_slot(size_t index, struct held held) {
    while (atomic_flag_test_and_set_explicit(&slots[index].taken, memory_order_acquire)) {
        sched_yield();
    }
    struct held found = slots[index].held;
    slots[index].held = held;
    atomic_flag_clear_explicit(&slots[index].taken, memory_order_release);
    return found;
}

struct worker {
    struct random random;
    size_t operations;
    pthread_t thread;
};

static void *wander(void *argument) {
    struct worker *worker = argument;
    struct random *random = &worker->random;
    struct held own[100] = {{0}};
    for (size_t i = 0; i < worker->operations; i++) {
        size_t size = held_sizes[random_below(random, COUNT_OF(held_sizes))];
        struct held made = held_make(random, &(struct sizes){"exact", size, size});
        struct held found = swap_slot(random_below(random, SLOTS), made);
        size_t place = random_below(random, COUNT_OF(own));
        held_drop(&own[place]);
        own[place] = found;
    }
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        held_drop(&own[i]);
    }
    return NULL;
}

// Threads of different lengths, so that holders end while their blocks still wander.
static void wander_and_end(uint64_t seed, unsigned round) {
    (void)round;
    struct worker workers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){random_of(seed, i), OPERATIONS / (i + 1), 0};
        workers[i].thread = thread_start(wander, &workers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        thread_join(workers[i].thread);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        struct held found = swap_slot(i, (struct held){0});
        held_drop(&found);
    }
}

int main(int argc, char **argv) {
    return race_rounds("held classes", wander_and_end, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
