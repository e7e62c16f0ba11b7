// The frame of all race tests: stamped blocks, rings between threads, rounds until the time is over, and the count of
// lost blocks.
//
// A test is one scenario, run again and again with a new seed until HAKMEM_TEST_SECONDS are over (2; with --long 120).
// Every block carries a stamp that depends on its address, size and a number its holder keeps: a block given to two
// holders at once shows as a broken stamp. After each round all blocks have been freed and all threads joined, so the
// bytes that the library says are allocated must be back where they were after the first rounds: a lost block shows
// there. Only names of hakmem.h are used, so that the tests run in every flavour. Exit status 0 is success. Replay:
// HAKMEM_TEST_SEED=<the seed printed>.
#ifndef HAKMEM_TESTS_RACE_H
#define HAKMEM_TESTS_RACE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <hakmem/hakmem.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

static uint64_t current_seed; // of the round under way, for the message of a failure

#define FAIL(...)                                                                            \
    do {                                                                                     \
        fprintf(stderr, "FAIL (HAKMEM_TEST_SEED=%llu): ", (unsigned long long)current_seed); \
        fprintf(stderr, __VA_ARGS__);                                                        \
        fprintf(stderr, " [%s:%d]\n", __FILE__, __LINE__);                                   \
        abort();                                                                             \
    } while (0)

#define CHECK(condition)            \
    do {                            \
        if (!(condition)) {         \
            FAIL("%s", #condition); \
        }                           \
    } while (0)

// ---- random numbers and time

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u; // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t random_below(struct random *random, size_t limit) {
    return (size_t)(random_next(random) % limit);
}

static inline struct random random_of(uint64_t seed, uint64_t stream) {
    struct random random = {seed * 0x9e3779b97f4a7c15u + stream * 0xd1342543de82ef95u};
    (void)random_next(&random);
    return random;
}

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// ---- stamped blocks

struct held {
    void *block;
    size_t size;
    uint64_t number;
};

static inline uint64_t stamp_word(const struct held *held, size_t offset) {
    return ((uint64_t)(uintptr_t)held->block + offset) * 0x9e3779b97f4a7c15u ^ held->number * 0xd1342543de82ef95u ^
           held->size;
}

// Where stamps stand: every word of the first and last 64 bytes, and one word of each KiB between.
static inline size_t stamp_step(const struct held *held, size_t offset) {
    if (offset < 64 || offset + 64 >= held->size) {
        return 8;
    }
    size_t last_part = (held->size - 64) / 8 * 8;
    return offset + KIB < last_part ? KIB : last_part > offset ? last_part - offset : 8;
}

static inline void held_stamp(const struct held *held) {
    for (size_t offset = 0; offset + 8 <= held->size; offset += stamp_step(held, offset)) {
        uint64_t word = stamp_word(held, offset);
        memcpy((char *)held->block + offset, &word, sizeof word);
    }
}

// Looks for the stamps of a block at the place it was moved to, as far as the new size goes.
static inline void held_check_moved(const struct held *held, const void *place, size_t limit) {
    for (size_t offset = 0; offset + 8 <= held->size && offset + 8 <= limit; offset += stamp_step(held, offset)) {
        uint64_t word;
        memcpy(&word, (const char *)place + offset, sizeof word);
        if (word != stamp_word(held, offset)) {
            FAIL("block %p of %zu bytes (number %llu) is not as its holder left it at offset %zu: %016llx", held->block,
                 held->size, (unsigned long long)held->number, offset, (unsigned long long)word);
        }
    }
}

static inline void held_check(const struct held *held) {
    held_check_moved(held, held->block, held->size);
}

// Which sizes a round uses. Blocks below 64 bytes have holders, large ones have slabs of one block.
struct sizes {
    const char *name;
    size_t least, most;
};
static const struct sizes size_ranges[] UNUSED = {{"held", 8, 48},
                                                  {"small", 8, 2048},
                                                  {"middle", 64, 32 * 1024},
                                                  {"mixed", 8, 256 * 1024},
                                                  {"large", 32 * 1024, 1024 * 1024}};

// How often a round repeats its step: fewer times with large blocks, whose pages cost more than the protocol, and under
// sanitizers.
static inline size_t steps_for(const struct sizes *sizes, size_t steps) {
    size_t divisor = sizes->least >= 32 * KIB ? 40 : sizes->most > 32 * KIB ? 4 : 1;
    return steps / divisor / (SANITIZED ? 4 : 1);
}

// Log-uniform between the bounds: as many small blocks as large ones at every scale.
static inline size_t random_size(struct random *random, const struct sizes *sizes) {
    size_t low = sizes->least, high = sizes->most, doublings = 0;
    while (low << (doublings + 1) <= high) {
        doublings++;
    }
    size_t base = low << random_below(random, doublings + 1);
    size_t size = base + random_below(random, base);
    return size > high ? high : size;
}

static _Atomic uint64_t next_number = 1;

static inline struct held held_make(struct random *random, const struct sizes *sizes) {
    struct held held = {.size = random_size(random, sizes),
                        .number = atomic_fetch_add_explicit(&next_number, 1, memory_order_relaxed)};
    held.block = hakmem_malloc(held.size);
    if (held.block == NULL) {
        FAIL("no memory for %zu bytes", held.size);
    }
    CHECK((uintptr_t)held.block % 16 == 0);
    held_stamp(&held);
    return held;
}

static inline void held_drop(struct held *held) {
    if (held->block != NULL) {
        held_check(held);
        memset(held->block, 0xdd, held->size < 16 ? held->size : 16);
        hakmem_free(held->block);
        held->block = NULL;
    }
}

// ---- a bounded queue for any number of threads (D. Vyukov's: a turn number in each cell)

enum { RING_CELLS = 256 };

struct ring {
    _Alignas(64) _Atomic size_t head;
    _Alignas(64) _Atomic size_t tail;
    struct {
        _Atomic size_t turn;
        struct held held;
    } cells[RING_CELLS];
};

UNUSED static void ring_start(struct ring *ring) {
    atomic_store(&ring->head, 0);
    atomic_store(&ring->tail, 0);
    for (size_t i = 0; i < RING_CELLS; i++) {
        atomic_store(&ring->cells[i].turn, i);
    }
}

UNUSED static bool ring_push(struct ring *ring, const struct held *held) {
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        size_t turn = atomic_load_explicit(&ring->cells[tail % RING_CELLS].turn, memory_order_acquire);
        if (turn == tail) {
            if (atomic_compare_exchange_weak(&ring->tail, &tail, tail + 1)) {
                ring->cells[tail % RING_CELLS].held = *held;
                atomic_store_explicit(&ring->cells[tail % RING_CELLS].turn, tail + 1, memory_order_release);
                return true;
            }
        } else if (turn < tail) {
            return false; // full
        } else {
            tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        }
    }
}

UNUSED static bool ring_pop(struct ring *ring, struct held *held) {
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        size_t turn = atomic_load_explicit(&ring->cells[head % RING_CELLS].turn, memory_order_acquire);
        if (turn == head + 1) {
            if (atomic_compare_exchange_weak(&ring->head, &head, head + 1)) {
                *held = ring->cells[head % RING_CELLS].held;
                atomic_store_explicit(&ring->cells[head % RING_CELLS].turn, head + RING_CELLS, memory_order_release);
                return true;
            }
        } else if (turn < head + 1) {
            return false; // empty
        } else {
            head = atomic_load_explicit(&ring->head, memory_order_relaxed);
        }
    }
}

UNUSED static void ring_drain(struct ring *ring) {
    struct held held;
    while (ring_pop(ring, &held)) {
        held_drop(&held);
    }
}

// ---- threads

UNUSED static pthread_t thread_start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, body, argument);
    if (error != 0) {
        FAIL("pthread_create: %s", strerror(error));
    }
    return thread;
}

UNUSED static void thread_join(pthread_t thread) {
    CHECK(pthread_join(thread, NULL) == 0);
}

// Runs `count` workers, each given its number, and `disturb` beside them, until all have ended.
UNUSED static void threads_run(size_t count, void *(*work)(void *), void *(*disturb)(void *)) {
    pthread_t workers[16];
    CHECK(count <= COUNT_OF(workers));
    for (size_t i = 0; i < count; i++) {
        workers[i] = thread_start(work, (void *)i);
    }
    pthread_t disturber = thread_start(disturb, NULL);
    for (size_t i = 0; i < count; i++) {
        thread_join(workers[i]);
    }
    thread_join(disturber);
}

// ---- rounds

static size_t bytes_allocated(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    (void)hakmem_trim(0);
    CHECK(hakmem_stats(&stats) == 0);
    return stats.allocated_bytes;
}

UNUSED static size_t resident_bytes(void) {
    unsigned long total_pages = 0, resident_pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    CHECK(file != NULL);
    CHECK(fscanf(file, "%lu %lu", &total_pages, &resident_pages) == 2);
    (void)fclose(file);
    return (size_t)resident_pages * (size_t)sysconf(_SC_PAGESIZE);
}

// Sanitizers keep memory of their own that grows with the run; there only the library's own figures say something.
UNUSED static void expect_resident_at_most(size_t limit) {
    size_t resident = resident_bytes();
    if (!SANITIZED && resident > limit) {
        FAIL("resident memory is %zu KiB, expected at most %zu KiB", resident / KIB, limit / KIB);
    }
}

static inline double test_seconds(double usually) {
    const char *text = getenv("HAKMEM_TEST_SECONDS");
    return text != NULL ? atof(text) : usually;
}

// --long as an argument or HAKMEM_TEST_LONG=1: the sizes of the soak.
UNUSED static bool is_long_run(int argc, char **argv) {
    const char *text = getenv("HAKMEM_TEST_LONG");
    return (argc > 1 && strcmp(argv[1], "--long") == 0) || (text != NULL && strcmp(text, "1") == 0);
}

// The scenario gets a seed and the number of the round, which it may use to choose sizes. Returns the exit status.
UNUSED static int race_rounds(const char *name, void (*scenario)(uint64_t seed, unsigned round), double seconds) {
    enum {
        WARM_ROUNDS = 2 * COUNT_OF(size_ranges),
        SLACK_BYTES = 16 * 1024
    }; // slack: what the C library keeps for its threads
    const char *given = getenv("HAKMEM_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 20240611;
    double end = seconds_now() + seconds;
    size_t allocated_when_warm = 0;
    unsigned round = 0;
    for (; round <= WARM_ROUNDS || seconds_now() < end; round++) {
        current_seed = seed + round;
        scenario(seed + round, round);
        size_t allocated = bytes_allocated();
        if (round < WARM_ROUNDS) {
            allocated_when_warm = allocated > allocated_when_warm ? allocated : allocated_when_warm;
        } else if (allocated > allocated_when_warm + SLACK_BYTES) {
            FAIL("%s: %zu bytes are allocated after round %u, %zu after the first rounds: blocks were lost", name,
                 allocated, round, allocated_when_warm);
        }
    }
    printf("%s: %u rounds, seeds %llu to %llu, hakmem %s\n", name, round, (unsigned long long)seed,
           (unsigned long long)(seed + round - 1), hakmem_version());
    return 0;
}

#endif
