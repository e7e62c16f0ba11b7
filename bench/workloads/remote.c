// Random replacement in which a share of the frees is done by another thread: blocks travel round a circle of threads.
//
// Models: producers and consumers; a block is allocated by one thread and freed by its neighbour, which gets blocks
// in batches, as from a real queue, while it allocates itself.
// Does not model: one consumer for many producers, consumers that never allocate, the work done on the block.
// Formulae: slot and size as in tiers.c; a second random number r says who frees: remote when r × 100 / 2^32 < percent.
// A remote block goes into a batch of 64; a full batch is put into the bounded ring to the next thread (1024 blocks,
// one writer, one reader). Every 64 operations a thread frees all that its own ring holds. A writer that finds the
// ring full frees what is in its own and yields, so nothing is lost and nobody can wait for ever: the operations are
// the same for every allocator. A thread that is through goes on emptying its ring until the one before it is through.
// First and last byte are written, where the smallest block has 64 KiB or more each page. One operation: one malloc and
// (here or there) one free. The first filling is not timed. "waits" counts yields at a full ring or at the end.
#include "harness.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RING_BLOCKS 1024u
#define BATCH_BLOCKS 64u

struct ring { // from one thread to the next
    _Alignas(CACHE_LINE_BYTES) _Atomic uint32_t written;
    _Alignas(CACHE_LINE_BYTES) _Atomic uint32_t read;
    _Atomic bool closed; // the writer is through
    _Alignas(CACHE_LINE_BYTES) void *block[RING_BLOCKS];
};

struct mine {
    struct ring *in, *out;
    uint64_t waits;
    uint32_t batched;
    void *batch[BATCH_BLOCKS];
    void *block[];
};

static struct {
    uint32_t min, max, slots, percent;
    unsigned threads;
    uint64_t operations; // of one thread
    struct ring *rings;  // rings[i] goes to thread i
    struct mine **all;
} set;

static inline void touch(void *block, size_t bytes) {
    if (set.min < 64 << 10)
        touch_ends(block, bytes);
    else
        touch_pages(block, bytes);
}

static void *own(unsigned index) {
    struct mine *mine = harness_array(1, sizeof *mine + set.slots * sizeof(void *));
    mine->in = &set.rings[index];
    mine->out = &set.rings[(index + 1) % set.threads];
    set.all[index] = mine;
    return mine;
}

// Frees what the ring holds.
static void ring_empty(struct ring *ring) {
    uint32_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);       // this thread alone writes it
    uint32_t written = atomic_load_explicit(&ring->written, memory_order_acquire); // pairs: batch_send
    if (read == written)
        return;
    for (; read != written; read++)
        free(ring->block[read % RING_BLOCKS]);
    atomic_store_explicit(&ring->read, read, memory_order_release); // pairs: batch_send
}

static void batch_send(struct mine *mine) {
    struct ring *ring = mine->out;
    uint32_t written = atomic_load_explicit(&ring->written, memory_order_relaxed); // this thread alone writes it
    // acquire, pairs: ring_empty. Room for a whole batch.
    while (written + mine->batched - atomic_load_explicit(&ring->read, memory_order_acquire) > RING_BLOCKS) {
        ring_empty(mine->in);
        sched_yield();
        mine->waits++;
    }
    for (uint32_t i = 0; i < mine->batched; i++)
        ring->block[(written + i) % RING_BLOCKS] = mine->batch[i];
    atomic_store_explicit(&ring->written, written + mine->batched, memory_order_release); // pairs: ring_empty
    mine->batched = 0;
}

static void fill(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint32_t i = 0; i < set.slots; i++) {
        size_t bytes = set.min + random_below((uint32_t)random_next(&worker->random), set.max - set.min + 1);
        mine->block[i] = allocate_or_fail(bytes);
        touch(mine->block[i], bytes);
    }
}

// Sends the last batch, then frees what still comes.
static void finish(struct mine *mine) {
    batch_send(mine);
    atomic_store_explicit(&mine->out->closed, true, memory_order_release); // pairs: the load below
    while (!atomic_load_explicit(&mine->in->closed, memory_order_acquire)) {
        ring_empty(mine->in);
        sched_yield();
        mine->waits++;
    }
    ring_empty(mine->in);
}

static void replace(struct worker *worker) {
    struct mine *mine = worker->own;
    const uint32_t min = set.min, span = set.max - set.min + 1, slots = set.slots, percent = set.percent;
    uint64_t random = worker->random;
    for (uint64_t done = 0; done < set.operations; done++) {
        uint64_t bits = random_next(&random);
        void **slot = &mine->block[random_below((uint32_t)(bits >> 32), slots)];
        size_t bytes = min + random_below((uint32_t)bits, span);
        if (random_below((uint32_t)(random_next(&random) >> 32), 100) < percent) {
            mine->batch[mine->batched++] = *slot;
            if (mine->batched == BATCH_BLOCKS)
                batch_send(mine);
        } else {
            free(*slot);
        }
        *slot = allocate_or_fail(bytes);
        touch(*slot, bytes);
        if (done % BATCH_BLOCKS == BATCH_BLOCKS - 1)
            ring_empty(mine->in);
    }
    finish(mine);
    worker->random = random;
}

static void drop(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint32_t i = 0; i < set.slots; i++)
        free(mine->block[i]);
}

int main(int argc, char **argv) {
    set.min = (uint32_t)harness_number(argc, argv, 1, "smallest size", 1, UINT32_MAX / 2);
    set.max = (uint32_t)harness_number(argc, argv, 2, "largest size", set.min, UINT32_MAX / 2);
    set.slots = (uint32_t)harness_number(argc, argv, 3, "blocks of a thread", 1, 1 << 28);
    set.threads = (unsigned)harness_number(argc, argv, 4, "threads", 2, 4096);
    set.percent = (uint32_t)harness_number(argc, argv, 5, "percent of remote frees", 0, 100);
    set.operations = harness_number(argc, argv, 6, "operations of a thread", 1, UINT64_C(1) << 40);
    set.rings = harness_array(set.threads, sizeof *set.rings);
    set.all = harness_array(set.threads, sizeof *set.all);
    const struct phase phases[] = {{"fill", fill}, {"replace", replace}, {"drop", drop}};
    struct phase_result results[4];
    harness_run(set.threads, phases, 3, own, results);
    uint64_t waits = 0;
    for (unsigned i = 0; i < set.threads; i++)
        waits += set.all[i]->waits;
    char parameters[200], extra[64];
    snprintf(parameters, sizeof parameters,
             "{\"min\":%u,\"max\":%u,\"blocks\":%u,\"threads\":%u,\"remote_percent\":%u}", set.min, set.max, set.slots,
             set.threads, set.percent);
    snprintf(extra, sizeof extra, ",\"waits\":%llu", (unsigned long long)waits);
    const struct report report = {.workload = "remote",
                                  .operation = "malloc and a free here or in the next thread",
                                  .operations = set.operations * set.threads,
                                  .timed_phase = 1,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 3, results);
    return 0;
}
