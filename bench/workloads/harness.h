// What every workload shares: threads that go through phases together, random numbers in registers, and the report.
//
// A workload is a list of phases. All threads do a phase, then wait; the main thread reads the process's memory
// while they wait, so that every figure is taken with all threads alive. One phase is the timed one.
// With one thread everything runs in the main thread and no other is ever made.
// Nothing here calls malloc before the last phase has ended: what is measured is the workload's own blocks alone
// (pthread_create allocates a little, before the first phase).
#ifndef HARNESS_H
#define HARNESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define PHASES_MAX 8
#define CACHE_LINE_BYTES 64
#define PAGE_BYTES 4096

struct worker {
    unsigned index;
    uint64_t random; // state of random_next: copy it into a local for the loop, so that it stays in a register
    void *own;       // the workload's
} __attribute__((aligned(CACHE_LINE_BYTES)));

struct phase {
    const char *name;
    void (*work)(struct worker *); // NULL: nothing is done, memory is read alone
};

// The state of the process when all threads had ended a phase.
struct phase_result {
    double seconds; // from the release of the threads to the end of the last one
    long resident_kib, peak_kib, minor_faults, major_faults, voluntary_switches, involuntary_switches;
};

// What the report says beside what the harness measures itself.
struct report {
    const char *workload, *operation; // operation: what one operation is
    uint64_t operations;              // in the timed phase, all threads
    unsigned timed_phase;
    const char *parameters; // a JSON object
    const char *extra;      // further JSON members, each with a leading comma, or ""
};

// xorshift64* (Vigna 2014, "An experimental exploration of Marsaglia's xorshift generators").
static inline uint64_t random_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(2685821657736338717);
}

// A number below `bound` from 32 random bits, by multiplication: no division in the loop.
static inline uint32_t random_below(uint32_t bits, uint32_t bound) {
    return (uint32_t)(((uint64_t)bits * bound) >> 32);
}

// First and last byte of a block are written, as a program would at the least.
static inline void touch_ends(void *block, size_t bytes) {
    volatile char *at = block;
    at[0] = 1;
    at[bytes - 1] = 1;
}

// A line of each page, by the page's number: the upper bits of its product with 2^64 over the golden ratio (Knuth, "The
// art of computer programming", volume 3, section 6.4). Were it always the first one, all that is written would share
// one of 64 of the caches' sets, and the time be that of their conflicts; steps from page to page come back to the same
// sets where blocks begin at round addresses (docs/decisions/0038-lines-that-workloads-write.md).
static inline size_t line_of_page(uintptr_t page) {
    return (size_t)((uint64_t)page * UINT64_C(0x9E3779B97F4A7C15) >> 58) * CACHE_LINE_BYTES;
}

// Every page of a block from `from` on and its last byte are written, the first page at `from` if its line is before
// that.
static inline void touch_pages_from(void *block, size_t from, size_t bytes) {
    volatile char *at = block;
    uintptr_t start = (uintptr_t)block;
    for (size_t here = from; here < bytes; here += PAGE_BYTES - (start + here) % PAGE_BYTES) {
        size_t in_page = (start + here) % PAGE_BYTES, line = line_of_page((start + here) / PAGE_BYTES);
        size_t place = here - in_page + line;
        at[line < in_page ? here : place < bytes ? place : bytes - 1] = 1;
    }
    at[bytes - 1] = 1;
}

static inline void touch_pages(void *block, size_t bytes) {
    touch_pages_from(block, 0, bytes);
}

_Noreturn void harness_fail(const char *what);

static inline void *allocate_or_fail(size_t bytes) {
    void *block = malloc(bytes);
    if (__builtin_expect(block == NULL, 0))
        harness_fail("malloc returned NULL");
    return block;
}

// Zeroed memory for the workload's own tables: mapped, resident at once, never from the allocator.
void *harness_array(size_t count, size_t element_bytes);

// The argument at `index`, a whole number from `low` to `high`; ends the program with a message otherwise.
uint64_t harness_number(int argc, char **argv, int index, const char *name, uint64_t low, uint64_t high);

// Runs the phases in `threads` threads and fills one result each. `own` gives each worker its own data.
// The first result of `results` is the state before the first phase, so there are `count` + 1.
void harness_run(unsigned threads, const struct phase *phases, unsigned count, void *(*own)(unsigned index),
                 struct phase_result *results);

void harness_report(const struct report *report, const struct phase *phases, unsigned count,
                    const struct phase_result *results);

// A field of /proc/PID/status such as "VmHWM:", in KiB; `path` names the file. -1 when it is not there.
long status_kib(const char *path, const char *field);

// Prints the files mapped as code in the process whose maps file is `path`, as a JSON array without brackets.
void print_mapped(const char *path);

// Prints the members of a report that say which allocator ran, each with a leading comma.
void print_proof(void);

double clock_seconds(void);
// This process's environment with another LD_PRELOAD, or with none where `preload` is empty.
char **environment_with(const char *preload);

#endif
