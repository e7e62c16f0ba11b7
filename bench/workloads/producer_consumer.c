// Some threads only allocate, one only frees: blocks travel through a bounded ring per producer.
//
// Models: pipelines, loggers, message passing with one sink; a consumer that never allocates, so what it frees must
// find its way back to the producers, or memory grows without end.
// Does not model: many consumers; producers that also free.
// Formulae: a producer allocates a block of a size uniform from the smallest to the largest, writes first and last
// byte, and puts it into its ring of 4096 in batches of 32; where the ring is full it yields. The consumer goes round
// the rings and frees what is in them. "waits" counts yields. One operation: one malloc and one free.
#include "harness.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define RING_BLOCKS 4096u
#define BATCH_BLOCKS 32u

struct ring { // from a producer to the consumer
    _Alignas(CACHE_LINE_BYTES) _Atomic uint64_t written;
    _Alignas(CACHE_LINE_BYTES) _Atomic uint64_t read;
    _Alignas(CACHE_LINE_BYTES) uint64_t waits;
    void *block[RING_BLOCKS];
};

static struct {
    uint32_t min, max;
    unsigned producers;
    uint64_t operations; // of one producer
    uint64_t idle;
    struct ring *rings;
} set;

static void *own(unsigned index) {
    (void)index;
    return NULL;
}

static void produce(struct worker *worker) {
    struct ring *ring = &set.rings[worker->index];
    uint64_t random = worker->random, written = 0;
    while (written < set.operations) {
        uint64_t left = set.operations - written;
        uint32_t batch = left < BATCH_BLOCKS ? (uint32_t)left : BATCH_BLOCKS;
        // acquire, pairs: consume. What the consumer has read it has freed.
        while (written + batch - atomic_load_explicit(&ring->read, memory_order_acquire) > RING_BLOCKS) {
            ring->waits++;
            sched_yield();
        }
        for (uint32_t i = 0; i < batch; i++) {
            size_t bytes = set.min + random_below((uint32_t)random_next(&random), set.max - set.min + 1);
            void *block = allocate_or_fail(bytes);
            touch_ends(block, bytes);
            ring->block[(written + i) % RING_BLOCKS] = block;
        }
        written += batch;
        atomic_store_explicit(&ring->written, written, memory_order_release); // pairs: consume
    }
}

static void consume(void) {
    for (unsigned through = 0; through < set.producers;) {
        uint64_t freed = 0;
        through = 0;
        for (unsigned i = 0; i < set.producers; i++) {
            struct ring *ring = &set.rings[i];
            uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed); // this thread alone writes it
            uint64_t written = atomic_load_explicit(&ring->written, memory_order_acquire); // pairs: produce
            freed += written - read;
            for (; read < written; read++)
                free(ring->block[read % RING_BLOCKS]);
            atomic_store_explicit(&ring->read, read, memory_order_release); // pairs: produce
            through += read == set.operations;
        }
        if (freed == 0 && through < set.producers) {
            set.idle++;
            sched_yield();
        }
    }
}

static void work(struct worker *worker) {
    if (worker->index < set.producers)
        produce(worker);
    else
        consume();
}

int main(int argc, char **argv) {
    set.min = (uint32_t)harness_number(argc, argv, 1, "smallest size", 1, 1 << 28);
    set.max = (uint32_t)harness_number(argc, argv, 2, "largest size", set.min, 1 << 28);
    set.producers = (unsigned)harness_number(argc, argv, 3, "producers", 1, 1024);
    set.operations = harness_number(argc, argv, 4, "operations of a producer", 1, UINT64_C(1) << 40);
    set.rings = harness_array(set.producers, sizeof *set.rings);
    const struct phase phases[] = {{"work", work}};
    struct phase_result results[2];
    harness_run(set.producers + 1, phases, 1, own, results);
    uint64_t waits = set.idle;
    for (unsigned i = 0; i < set.producers; i++)
        waits += set.rings[i].waits;
    char parameters[200], extra[100];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"producers\":%u,\"threads\":%u}", set.min, set.max,
             set.producers, set.producers + 1);
    snprintf(extra, sizeof extra, ",\"waits\":%llu", (unsigned long long)waits);
    const struct report report = {.workload = "producer_consumer",
                                  .operation = "malloc and free",
                                  .operations = set.operations * set.producers,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 1, results);
    return 0;
}
