// A program that changes: every few seconds it does something else, with other sizes, threads and habits.
//
// Models: a service or a build whose work comes in kinds, none of which lasts; what suits one does not suit the next.
// Does not model: work that overlaps; programs that do one thing.
// Formulae: `phases` phases, of nine kinds, never the same twice in a row, drawn by xorshift64* from `seed`. Each kind
// ends with all of its blocks freed.
//   small   T threads, 256 to 65,536 blocks each of 16 to 1024 B, random replacement
//   odd     T threads, 4 to 64 MiB in all of blocks of one size, random replacement; of four sizes that the program
//           has, each 16 B above a power of two from 256 B to 16 KiB
//   mid     T threads, 256 to 65,536 blocks in all of 2 to 32 KiB, random replacement
//   large   T threads, 16 to 256 blocks each of 64 KiB to 1 MiB, random replacement, each page written
//   pass    pairs of threads: one allocates 16 to 2048 B, the other frees; 256 to 4096 blocks are on their way
//   trade   pairs of threads: the same with 16 B to 128 KiB, and 64 to 1024 blocks
//   big     one thread, 2 to 8 blocks of 2 to 8 MiB, random replacement, each page written
//   burst   one thread: 12 to 48 MiB of blocks of 16 B to 64 KiB (log-uniform) allocated, then freed, after 2 ms again
//   grow    T threads: 24 to 96 MiB in all of blocks of 16 to 4096 B, only allocated, then freed in random order
// T is 1, 2 or 4, drawn for each phase, and so is how much there is of blocks: all doublings alike. Blocks are written
// at the first and last byte, and at each page above 64 KiB. `work` scales what each phase does: at 200 each takes a
// second or two. "mean_kib": resident memory over time, looked at at 64 points of each phase. "phase_seconds",
// "phase_kinds": how long each phase took, and which kind it was, with how many threads. One operation: one malloc and
// one free.
#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#define THREADS 4u
#define MOST_BLOCKS (1u << 18)
#define RING 4096u
#define TURN 64u
#define LOOKS 64u
#define RECORDS 4u
#define PHASE_TEXT_BYTES 40u // of a phase in the report, at most

enum kind { SMALL, ODD, MID, LARGE, PASS, TRADE, BIG, BURST, GROW, KINDS };
static const char *const kind_names[] = {"small", "odd", "mid", "large", "pass", "trade", "big", "burst", "grow"};

struct done {
    enum kind kind;
    unsigned threads;
    double seconds;
};

static struct {
    uint64_t seed, phases, work;
    pthread_barrier_t barrier;
    enum kind kind;
    unsigned threads;
    size_t records[RECORDS], odd_bytes;
    unsigned doublings;  // of how much there is, 0 to 8
    uint64_t operations; // of the phases so far
    double kib_seconds, looked;
    struct done *done; // each phase so far
} set;

static struct ring {
    void *slots[RING];
    uint64_t head __attribute__((aligned(CACHE_LINE_BYTES)));
    uint64_t tail __attribute__((aligned(CACHE_LINE_BYTES)));
} rings[THREADS];

static void *own(unsigned index) {
    (void)index;
    return harness_array(MOST_BLOCKS, sizeof(void *));
}

static void touch(void *block, size_t bytes) {
    if (bytes <= 64 << 10)
        touch_ends(block, bytes);
    else
        touch_pages(block, bytes);
}

static void look(void) {
    double now = clock_seconds();
    set.kib_seconds += (double)status_kib("/proc/self/status", "VmRSS:") * (now - set.looked);
    set.looked = now;
}

// Random replacement among `blocks` blocks of low to high bytes, `turns` times.
static void replace(struct worker *worker, uint32_t blocks, uint32_t low, uint32_t high, uint64_t turns) {
    void **mine = worker->own;
    uint64_t random = worker->random;
    for (uint32_t i = 0; i < blocks; i++) {
        size_t bytes = low + random_below((uint32_t)random_next(&random), high - low + 1);
        mine[i] = allocate_or_fail(bytes);
        touch(mine[i], bytes);
    }
    for (uint64_t i = 0; i < turns; i++) {
        uint64_t bits = random_next(&random);
        void **slot = &mine[random_below((uint32_t)(bits >> 32), blocks)];
        size_t bytes = low + random_below((uint32_t)bits, high - low + 1);
        free(*slot);
        *slot = allocate_or_fail(bytes);
        touch(*slot, bytes);
        if (worker->index == 0 && i % (turns / LOOKS + 1) == 0)
            look();
    }
    for (uint32_t i = 0; i < blocks; i++)
        free(mine[i]);
    worker->random = random;
    __atomic_fetch_add(&set.operations, blocks + turns, __ATOMIC_RELAXED);
}

// A pair's first thread sends blocks of 16 to `most` bytes, the second one frees them; at most `ring_blocks` on their
// way. They tell each other every TURN blocks, so that what is measured is not how fast a word travels between
// processors.
static void send_or_take(struct worker *worker, uint64_t blocks, uint32_t most, uint64_t ring_blocks) {
    struct ring *ring = &rings[worker->index / 2];
    uint64_t random = worker->random, start = worker->index % 2 == 0 ? ring->head : ring->tail;
    for (uint64_t at = start; at < start + blocks; at += TURN) {
        if (worker->index % 2 == 0) {
            while (at + TURN - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > ring_blocks)
                sched_yield();
            for (uint64_t i = at; i < at + TURN; i++) {
                size_t bytes = 16 + random_below((uint32_t)random_next(&random), most - 15);
                ring->slots[i % RING] = allocate_or_fail(bytes);
                touch(ring->slots[i % RING], bytes);
            }
            __atomic_store_n(&ring->head, at + TURN, __ATOMIC_RELEASE);
        } else {
            while (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) < at + TURN)
                sched_yield();
            for (uint64_t i = at; i < at + TURN; i++)
                free(ring->slots[i % RING]);
            __atomic_store_n(&ring->tail, at + TURN, __ATOMIC_RELEASE);
        }
        if (worker->index == 0 && (at - start) / TURN % (blocks / TURN / LOOKS + 1) == 0)
            look();
    }
    worker->random = random;
    __atomic_fetch_add(&set.operations, blocks / 2, __ATOMIC_RELAXED);
}

static void shuffle(void **blocks, uint32_t count, uint64_t *random) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = random_below((uint32_t)random_next(random), i);
        void *block = blocks[i - 1];
        blocks[i - 1] = blocks[other];
        blocks[other] = block;
    }
}

// Allocates until so many bytes are there, `logarithmic` or uniform, then frees all.
static void fill_and_drop(struct worker *worker, size_t all_bytes, uint32_t low, uint32_t high, int logarithmic) {
    void **mine = worker->own;
    uint64_t random = worker->random;
    uint32_t count = 0;
    for (size_t sum = 0; sum < all_bytes && count < MOST_BLOCKS; count++) {
        double uniform = (double)(random_next(&random) >> 11) * 0x1p-53;
        size_t bytes = logarithmic ? (size_t)(low * exp2(uniform * log2((double)high / low)))
                                   : low + (size_t)(uniform * (high - low));
        mine[count] = allocate_or_fail(bytes);
        touch(mine[count], bytes);
        sum += bytes;
    }
    if (worker->index == 0)
        look();
    if (!logarithmic)
        shuffle(mine, count, &random);
    for (uint32_t i = 0; i < count; i++)
        free(mine[i]);
    if (worker->index == 0)
        look();
    worker->random = random;
    __atomic_fetch_add(&set.operations, count, __ATOMIC_RELAXED);
}

static void burst(struct worker *worker, size_t all_bytes, uint64_t turns) {
    const struct timespec pause = {0, 2000000};
    for (uint64_t i = 0; i < turns; i++) {
        fill_and_drop(worker, all_bytes, 16, 64 << 10, 1);
        nanosleep(&pause, NULL);
    }
}

static void work(struct worker *worker) {
    uint64_t turns = set.work;
    unsigned half = set.doublings / 2;
    switch (set.kind) {
    case SMALL:
        replace(worker, 256u << set.doublings, 16, 1024, turns * 1500000 / set.threads);
        break;
    case ODD:
        replace(worker, (uint32_t)((4u << 20 << half) / set.threads / set.odd_bytes), (uint32_t)set.odd_bytes,
                (uint32_t)set.odd_bytes, turns * 2400000 / set.threads);
        break;
    case MID:
        replace(worker, (256u << set.doublings) / set.threads, 2048, 32768, turns * 1000000 / set.threads);
        break;
    case LARGE:
        replace(worker, 16u << half, 64 << 10, 1 << 20, turns * 12000 / set.threads);
        break;
    case PASS:
        send_or_take(worker, turns * 800000 / set.threads / TURN * TURN, 2048, 256u << half);
        break;
    case TRADE:
        send_or_take(worker, turns * 100000 / set.threads / TURN * TURN, 128 << 10, 64u << half);
        break;
    case BIG:
        replace(worker, 2u << half / 2, 2 << 20, 8 << 20, turns * 1600);
        break;
    case BURST:
        burst(worker, 12 << 20 << half / 2, turns * 3);
        break;
    default:
        for (uint64_t i = 0; i < (turns * 2 << (2 - half / 2)) + 1; i++)
            fill_and_drop(worker, (24 << 20 << half / 2) / set.threads, 16, 4096, 0);
    }
}

static void draw(uint64_t *random) {
    enum kind kind = (enum kind)random_below((uint32_t)random_next(random), KINDS - 1);
    set.kind = kind >= set.kind ? kind + 1 : kind;
    set.threads = 1u << random_below((uint32_t)random_next(random), 3);
    set.odd_bytes = set.records[random_below((uint32_t)random_next(random), RECORDS)];
    set.doublings = random_below((uint32_t)random_next(random), 9);
    if (set.kind == BIG || set.kind == BURST)
        set.threads = 1;
    if ((set.kind == PASS || set.kind == TRADE) && set.threads == 1)
        set.threads = 2;
}

static void run(struct worker *worker) {
    uint64_t random = set.seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (unsigned i = 0; i < 64; i++) // seeds that are alike must part
        random_next(&random);
    for (unsigned i = 0; i < RECORDS && worker->index == 0; i++)
        set.records[i] = (256u << random_below((uint32_t)random_next(&random), 7)) + 16;
    for (uint64_t i = 0; i < set.phases; i++) {
        double begun = clock_seconds();
        if (worker->index == 0) {
            draw(&random);
            set.looked = begun;
        }
        pthread_barrier_wait(&set.barrier);
        if (worker->index < set.threads)
            work(worker);
        pthread_barrier_wait(&set.barrier);
        if (worker->index == 0)
            set.done[i] = (struct done){set.kind, set.threads, clock_seconds() - begun};
    }
}

// Further members of the report.
static char *told(double seconds) {
    size_t room = (set.phases + 2) * PHASE_TEXT_BYTES, at = 0;
    char *text = harness_array(room, 1);
    at += (size_t)snprintf(text, room, ",\"mean_kib\":%.0f", set.kib_seconds / seconds);
    for (uint64_t i = 0; i < set.phases; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%.4f", i == 0 ? ",\"phase_seconds\":[" : ",",
                               set.done[i].seconds);
    for (uint64_t i = 0; i < set.phases; i++)
        at += (size_t)snprintf(text + at, room - at, "%s\"%s/%ut\"", i == 0 ? "],\"phase_kinds\":[" : ",",
                               kind_names[set.done[i].kind], set.done[i].threads);
    snprintf(text + at, room - at, "]");
    return text;
}

int main(int argc, char **argv) {
    set.seed = harness_number(argc, argv, 1, "seed", 1, UINT32_MAX);
    set.work = harness_number(argc, argv, 2, "work of a phase", 1, 1 << 16);
    set.phases = harness_number(argc, argv, 3, "phases", 1, 1 << 16);
    set.kind = KINDS - 1;
    set.done = harness_array(set.phases, sizeof(struct done));
    pthread_barrier_init(&set.barrier, NULL, THREADS);
    const struct phase phases[] = {{"run", run}};
    struct phase_result results[2];
    harness_run(THREADS, phases, 1, own, results);
    char parameters[100];
    snprintf(parameters, sizeof parameters, "{\"seed\":%llu,\"work\":%llu,\"threads\":%u}",
             (unsigned long long)set.seed, (unsigned long long)set.work, THREADS);
    const struct report report = {.workload = "phases",
                                  .operation = "malloc and free",
                                  .operations = set.operations,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = told(results[1].seconds)};
    harness_report(&report, phases, 1, results);
    return 0;
}
