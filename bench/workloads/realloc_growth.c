// Blocks that grow by realloc, several at a time.
//
// Models: vectors, strings and buffers that are appended to, and grow in each other's way.
// Does not model: shrinking; growth by malloc, copy and free, as C++'s vector does.
// Formulae: `blocks` blocks start with 16 B and take turns; each turn one grows by `percent` of its size, at least by
// `step` bytes, up to the largest, where it is freed and starts anew. First byte of each new page and the last byte are
// written, and the first byte is checked. One operation: one realloc.
#include "harness.h"

#include <stdio.h>

#define START_BYTES 16u
#define BLOCKS_MAX 1024u

static struct {
    uint64_t max, step;
    uint32_t percent, blocks;
    uint64_t operations;
} set;

struct grown {
    char *block;
    uint64_t bytes;
};

static void *own(unsigned index) {
    (void)index;
    return harness_array(set.blocks, sizeof(struct grown));
}

static void start(struct grown *grown) {
    free(grown->block);
    grown->bytes = START_BYTES;
    grown->block = allocate_or_fail(START_BYTES);
    touch_ends(grown->block, START_BYTES);
}

static void grow(struct worker *worker) {
    struct grown *all = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++)
        start(&all[i]);
    for (uint64_t i = 0; i < set.operations; i++) {
        struct grown *grown = &all[i % set.blocks];
        uint64_t part = grown->bytes * set.percent / 100, more = part > set.step ? part : set.step;
        uint64_t bytes = grown->bytes + more;
        if (bytes > set.max) {
            start(grown);
            continue;
        }
        char *block = realloc(grown->block, bytes);
        if (block == NULL || block[0] != 1)
            harness_fail(block == NULL ? "realloc returned NULL" : "realloc lost the content");
        for (uint64_t at = (grown->bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1); at < bytes; at += PAGE_BYTES)
            ((volatile char *)block)[at] = 1;
        ((volatile char *)block)[bytes - 1] = 1;
        grown->block = block;
        grown->bytes = bytes;
    }
}

static void drop(struct worker *worker) {
    struct grown *all = worker->own;
    for (uint32_t i = 0; i < set.blocks; i++)
        free(all[i].block);
}

int main(int argc, char **argv) {
    set.max = harness_number(argc, argv, 1, "largest size", START_BYTES, UINT64_C(1) << 40);
    set.percent = (uint32_t)harness_number(argc, argv, 2, "growth in percent", 0, 1000);
    set.step = harness_number(argc, argv, 3, "least growth in bytes", 1, UINT64_C(1) << 30);
    set.blocks = (uint32_t)harness_number(argc, argv, 4, "blocks", 1, BLOCKS_MAX);
    set.operations = harness_number(argc, argv, 5, "operations", 1, UINT64_C(1) << 40);
    const struct phase phases[] = {{"grow", grow}, {"drop", drop}};
    struct phase_result results[3];
    harness_run(1, phases, 2, own, results);
    char parameters[200];
    snprintf(parameters, sizeof parameters, "{\"max\":%llu,\"percent\":%u,\"step\":%llu,\"blocks\":%u,\"threads\":1}",
             (unsigned long long)set.max, set.percent, (unsigned long long)set.step, set.blocks);
    const struct report report = {.workload = "realloc_growth",
                                  .operation = "realloc",
                                  .operations = set.operations,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = ""};
    harness_report(&report, phases, 2, results);
    return 0;
}
