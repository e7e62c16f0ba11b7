// Each thread allocates one block of one size, writes it page by page, and frees it, in a loop, from three places in
// turn.
//
// Models: a buffer per document (64 KiB), per compiled function (256 KiB), per frame or machine (2 MiB): what matters
// is whether the same memory comes back without a system call, and warm.
// Does not model: eviction (nothing else is ever freed), more than one such buffer at a time in a thread.
// Formulae: the three places are three functions, each with a call of malloc of its own. A byte of each page
// and the block's last byte are written. One operation: one malloc and one free. Page faults of the timed phase are in
// the report.
#include "harness.h"

#include <stdio.h>

static size_t bytes;
static uint64_t rounds;

// Three sites for an allocator that tells call sites apart: neither merged nor inlined.
#define SITE(name)                                                      \
    static __attribute__((noinline, noclone)) void *name(size_t size) { \
        void *block = allocate_or_fail(size);                           \
        __asm__ volatile("# " #name : : "r"(block) : "memory");         \
        return block;                                                   \
    }
SITE(first_site)
SITE(second_site)
SITE(third_site)

static void loop(struct worker *worker) {
    static void *(*const sites[])(size_t) = {first_site, second_site, third_site};
    (void)worker;
    for (uint64_t i = 0; i < rounds; i++) {
        void *block = sites[i % 3](bytes);
        touch_pages(block, bytes);
        free(block);
    }
}

static void *own(unsigned index) {
    (void)index;
    return NULL;
}

int main(int argc, char **argv) {
    bytes = harness_number(argc, argv, 1, "size", 1, UINT64_C(1) << 40);
    rounds = harness_number(argc, argv, 2, "rounds of a thread", 1, UINT64_C(1) << 40);
    unsigned threads = argc > 3 ? (unsigned)harness_number(argc, argv, 3, "threads", 1, 4096) : 1;
    const struct phase phases[] = {{"loop", loop}};
    struct phase_result results[2];
    harness_run(threads, phases, 1, own, results);
    char parameters[100];
    snprintf(parameters, sizeof parameters, "{\"size\":%zu,\"threads\":%u}", bytes, threads);
    const struct report report = {.workload = "single_block",
                                  .operation = "malloc and free",
                                  .operations = rounds * threads,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 1, results);
    return 0;
}
