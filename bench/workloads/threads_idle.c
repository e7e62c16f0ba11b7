// Many threads that have each used ten size classes a little, freed everything, and stay alive.
//
// Models: servers with a thread per connection or large pools of sleeping workers: what a thread costs when idle.
// Does not model: threads that still hold blocks, threads that come and go.
// Formulae: the sizes are smallest × (largest / smallest)^(i / 9), i = 0 … 9, rounded down. A thread allocates `blocks`
// of each of the ten sizes, writes first and last byte, frees them, and repeats that `repeats` times. Before, the same
// threads have written 32 KiB of their stacks, so that pages of the stack are not counted as the allocator's.
// "resident_bytes_per_thread" = (resident afterwards − resident of the same threads before their first malloc) /
// threads.
#include "harness.h"

#include <math.h>
#include <stdio.h>

#define CLASSES 10u
#define STACK_BYTES (32 << 10)
#define BLOCKS_MAX 1024

static struct {
    uint32_t sizes[CLASSES];
    uint32_t blocks, repeats;
} set;

static void *own(unsigned index) {
    (void)index;
    return NULL;
}

static __attribute__((noinline)) void stack(struct worker *worker) {
    char page[STACK_BYTES];
    touch_pages(page, sizeof page);
    __asm__ volatile("" : : "r"(page), "r"(worker) : "memory");
}

static void use(struct worker *worker) {
    (void)worker;
    void *blocks[BLOCKS_MAX];
    for (uint32_t repeat = 0; repeat < set.repeats; repeat++) {
        for (uint32_t class = 0; class < CLASSES; class ++) {
            for (uint32_t i = 0; i < set.blocks; i++) {
                blocks[i] = allocate_or_fail(set.sizes[class]);
                touch_ends(blocks[i], set.sizes[class]);
            }
            for (uint32_t i = 0; i < set.blocks; i++)
                free(blocks[i]);
        }
    }
}

int main(int argc, char **argv) {
    uint64_t smallest = harness_number(argc, argv, 1, "smallest size", 1, 1 << 20);
    uint64_t largest = harness_number(argc, argv, 2, "largest size", smallest, 1 << 20);
    set.blocks = (uint32_t)harness_number(argc, argv, 3, "blocks of a size", 1, BLOCKS_MAX);
    set.repeats = (uint32_t)harness_number(argc, argv, 4, "repeats", 1, 1 << 20);
    unsigned threads = (unsigned)harness_number(argc, argv, 5, "threads", 2, 4096);
    for (uint32_t i = 0; i < CLASSES; i++)
        set.sizes[i] = (uint32_t)((double)smallest * pow((double)largest / (double)smallest, i / (CLASSES - 1.0)));
    const struct phase phases[] = {{"stack", stack}, {"use", use}};
    struct phase_result results[3];
    harness_run(threads, phases, 2, own, results);
    char parameters[200], extra[100];
    snprintf(parameters, sizeof parameters, "{\"min\":%u,\"max\":%u,\"blocks\":%u,\"repeats\":%u,\"threads\":%u}",
             set.sizes[0], set.sizes[CLASSES - 1], set.blocks, set.repeats, threads);
    snprintf(extra, sizeof extra, ",\"resident_bytes_per_thread\":%ld",
             (results[2].resident_kib - results[1].resident_kib) * 1024 / (long)threads);
    const struct report report = {.workload = "threads_idle",
                                  .operation = "malloc and free",
                                  .operations = (uint64_t)threads * CLASSES * set.blocks * set.repeats,
                                  .timed_phase = 1,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 2, results);
    return 0;
}
