// A producer allocates and a consumer, which never allocates, frees: memory stays flat; also when producers come and
// go. HAKMEM_TEST_SECONDS or --long (3 minutes) says for how long.
#include "race.h"

static struct ring ring;
static _Atomic bool consumer_may_end;
static const struct sizes *sizes;
static double part_ends;
static _Atomic size_t blocks_passed;

static void push_until_taken(const struct held *held) {
    while (!ring_push(&ring, held)) {
        sched_yield();
    }
}

static void *produce(void *argument) {
    struct random random = random_of(current_seed, (uintptr_t)argument);
    while (seconds_now() < part_ends) {
        for (int i = 0; i < 100; i++) {
            struct held held = held_make(&random, sizes);
            push_until_taken(&held);
        }
    }
    return NULL;
}

static void *produce_a_little_and_end(void *argument) {
    struct random random = random_of(current_seed, (uintptr_t)argument);
    size_t blocks = steps_for(sizes, 2000);
    for (size_t i = 0; i < blocks; i++) {
        struct held held = held_make(&random, sizes);
        push_until_taken(&held);
    }
    return NULL;
}

static void *consume(void *unused) {
    (void)unused;
    struct held held;
    for (;;) {
        bool last_look = atomic_load(&consumer_may_end);
        if (ring_pop(&ring, &held)) {
            held_drop(&held);
            atomic_fetch_add_explicit(&blocks_passed, 1, memory_order_relaxed);
        } else if (last_look) {
            return NULL;
        } else {
            sched_yield();
        }
    }
}

// Runs one part and watches resident memory during it: what the ring may hold, caches, and no more however long it
// takes.
static void expect_flat_memory(double seconds, bool producers_end) {
    size_t in_flight = 2 * RING_CELLS * sizes->most, limit = resident_bytes() + in_flight + 48 * MIB;
    atomic_store(&consumer_may_end, false);
    part_ends = seconds_now() + seconds;
    pthread_t consumer = thread_start(consume, NULL), producer = producers_end ? 0 : thread_start(produce, NULL);
    for (uintptr_t generation = 1; seconds_now() < part_ends; generation++) {
        if (producers_end) {
            thread_join(thread_start(produce_a_little_and_end, (void *)generation));
        } else {
            (void)usleep(10000);
        }
        expect_resident_at_most(limit);
    }
    if (!producers_end) {
        thread_join(producer);
    }
    atomic_store(&consumer_may_end, true);
    thread_join(consumer);
    ring_drain(&ring);
    expect_resident_at_most(limit);
}

int main(int argc, char **argv) {
    double seconds = test_seconds(is_long_run(argc, argv) ? 180 : 2);
    size_t allocated_when_warm = 0;
    enum { PASSES = 3 };
    for (unsigned pass = 0; pass < PASSES; pass++) {
        for (unsigned range = 0; range < COUNT_OF(size_ranges); range++) {
            sizes = &size_ranges[range];
            current_seed = pass * 10 + range;
            ring_start(&ring);
            expect_flat_memory(seconds / PASSES / (2 * COUNT_OF(size_ranges)), false);
            expect_flat_memory(seconds / PASSES / (2 * COUNT_OF(size_ranges)), true);
        }
        if (pass == 0) {
            allocated_when_warm = bytes_allocated();
        }
    }
    size_t allocated = bytes_allocated();
    if (allocated > allocated_when_warm + 16 * KIB) {
        FAIL("%zu bytes are allocated at the end, %zu after the first pass: blocks were lost", allocated,
             allocated_when_warm);
    }
    printf("producer, consumer: %zu blocks passed, resident %zu KiB at the end, hakmem %s\n",
           atomic_load(&blocks_passed), resident_bytes() / KIB, hakmem_version());
    return 0;
}
