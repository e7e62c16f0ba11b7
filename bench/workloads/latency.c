// How long a single malloc and a single free take: the distribution, in cycles of the time-stamp counter.
//
// Models: what one call may cost a thread that has a deadline. Percentiles of single calls, not of throughput.
// Does not model: the cost in a loop (tiers.c): reading the clock around each call keeps calls from overlapping.
// Formulae: random replacement as in tiers.c, each free and each malloc between two readings of the counter, less
// the least that two readings with nothing between differed by. A call that took longer than 20,000 cycles while the
// kernel switched to another thread is left out ("switched"): that time is not the allocator's. Percentiles from a
// histogram with 32 steps between powers of two, of all threads together. x86-64; elsewhere nanoseconds.
#define _GNU_SOURCE
#include "harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define STEPS 32u
#define CLASSES (64u * STEPS)
#define LONG_CYCLES 20000u
#define CALIBRATIONS 10000u

struct histogram {
    uint64_t count[CLASSES];
    uint64_t most;
};

struct mine {
    struct histogram mallocs, frees;
    uint64_t switched;
    long switches; // of this thread so far
    void *block[];
};

static struct {
    uint32_t min, max, blocks;
    uint64_t operations;
    uint64_t overhead; // cycles between two readings
    struct mine *all[4096];
} set;

// Neither earlier nor later calls move over it.
static inline uint64_t cycles(void) {
#if defined(__x86_64__)
    _mm_lfence();
    uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static unsigned class_of(uint64_t value) {
    if (value < STEPS)
        return (unsigned)value;
    unsigned log2 = 63 - (unsigned)__builtin_clzll(value);
    return (log2 - 4) * STEPS + (unsigned)((value >> (log2 - 5)) & (STEPS - 1));
}

static uint64_t class_low(unsigned class) {
    if (class < STEPS)
        return class;
    unsigned log2 = class / STEPS + 4;
    return ((uint64_t)STEPS + class % STEPS) << (log2 - 5);
}

static long thread_switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

static void count(struct mine *mine, struct histogram *histogram, uint64_t took) {
    took = took > set.overhead ? took - set.overhead : 0;
    if (__builtin_expect(took > LONG_CYCLES, 0)) {
        long switches = thread_switches();
        if (switches != mine->switches) {
            mine->switches = switches;
            mine->switched++;
            return;
        }
    }
    histogram->count[class_of(took)]++;
    histogram->most = took > histogram->most ? took : histogram->most;
}

static void *own(unsigned index) {
    set.all[index] = harness_array(1, sizeof(struct mine) + set.blocks * sizeof(void *));
    return set.all[index];
}

static void fill(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++) {
        size_t bytes = set.min + random_below((uint32_t)random_next(&worker->random), set.max - set.min + 1);
        mine->block[i] = allocate_or_fail(bytes);
        touch_ends(mine->block[i], bytes);
    }
    mine->switches = thread_switches();
}

static void replace(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint64_t left = set.operations; left > 0; left--) {
        uint64_t bits = random_next(&worker->random);
        void **slot = &mine->block[random_below((uint32_t)(bits >> 32), set.blocks)];
        size_t bytes = set.min + random_below((uint32_t)bits, set.max - set.min + 1);
        void *old = *slot;
        uint64_t begun = cycles();
        free(old);
        uint64_t freed = cycles();
        void *block = malloc(bytes);
        uint64_t allocated = cycles();
        if (block == NULL)
            harness_fail("malloc returned NULL");
        count(mine, &mine->frees, freed - begun);
        count(mine, &mine->mallocs, allocated - freed);
        *slot = block;
        touch_ends(block, bytes);
    }
}

static void drop(struct worker *worker) {
    struct mine *mine = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++)
        free(mine->block[i]);
}

static uint64_t overhead(void) {
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < CALIBRATIONS; i++) {
        uint64_t begun = cycles(), took = cycles() - begun;
        least = took < least ? took : least;
    }
    return least;
}

// The value below which this part of all lies, in cycles.
static uint64_t percentile(const struct histogram *histogram, double part) {
    uint64_t total = 0, seen = 0;
    for (unsigned i = 0; i < CLASSES; i++)
        total += histogram->count[i];
    for (unsigned i = 0; i < CLASSES; i++) {
        seen += histogram->count[i];
        if ((double)seen >= part * (double)total)
            return class_low(i + 1) - 1 < histogram->most ? class_low(i + 1) - 1 : histogram->most;
    }
    return histogram->most;
}

// ,"NAME":{"p50":…,"curve":[[part, cycles],…]}: the curve is even in the logarithm of what lies above.
static int print(char *text, size_t room, const char *name, const struct histogram *histogram) {
    int length =
        snprintf(text, room, ",\"%s\":{\"p50\":%llu,\"p99\":%llu,\"p999\":%llu,\"max\":%llu,\"curve\":[", name,
                 (unsigned long long)percentile(histogram, 0.5), (unsigned long long)percentile(histogram, 0.99),
                 (unsigned long long)percentile(histogram, 0.999), (unsigned long long)histogram->most);
    double above = 1;
    for (unsigned i = 0; i <= 36; i++, above *= 0.6812920690579611) // six steps from a power of ten to the next
        length += snprintf(text + length, room - (size_t)length, "%s[%.8f,%llu]", i == 0 ? "" : ",", 1 - above,
                           (unsigned long long)percentile(histogram, 1 - above));
    return length + snprintf(text + length, room - (size_t)length, "]}");
}

int main(int argc, char **argv) {
    set.min = (uint32_t)harness_number(argc, argv, 1, "smallest size", 1, UINT32_MAX / 2);
    set.max = (uint32_t)harness_number(argc, argv, 2, "largest size", set.min, UINT32_MAX / 2);
    set.blocks = (uint32_t)harness_number(argc, argv, 3, "blocks of a thread", 1, 1 << 28);
    unsigned threads = (unsigned)harness_number(argc, argv, 4, "threads", 1, 4096);
    set.operations = harness_number(argc, argv, 5, "operations of a thread", 1, UINT64_C(1) << 40);
    set.overhead = overhead();
    const struct phase phases[] = {{"fill", fill}, {"replace", replace}, {"drop", drop}};
    struct phase_result results[4];
    harness_run(threads, phases, 3, own, results);
    static struct histogram mallocs, frees;
    uint64_t switched = 0;
    for (unsigned i = 0; i < threads; i++) {
        for (unsigned class = 0; class < CLASSES; class ++) {
            mallocs.count[class] += set.all[i]->mallocs.count[class];
            frees.count[class] += set.all[i]->frees.count[class];
        }
        mallocs.most = set.all[i]->mallocs.most > mallocs.most ? set.all[i]->mallocs.most : mallocs.most;
        frees.most = set.all[i]->frees.most > frees.most ? set.all[i]->frees.most : frees.most;
        switched += set.all[i]->switched;
    }
    char parameters[200];
    static char extra[8192];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"blocks\":%u,\"threads\":%u}", set.min, set.max,
             set.blocks, threads);
    int length = print(extra, sizeof extra, "malloc_cycles", &mallocs);
    length += print(extra + length, sizeof extra - (size_t)length, "free_cycles", &frees);
    snprintf(extra + length, sizeof extra - (size_t)length, ",\"switched\":%llu", (unsigned long long)switched);
    const struct report report = {.workload = "latency",
                                  .operation = "free and malloc, timed",
                                  .operations = set.operations * threads,
                                  .timed_phase = 1,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 3, results);
    return 0;
}
