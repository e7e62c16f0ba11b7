// A program made to deceive whatever learns from it: what it has done lately says nothing about what it does next.
//
// Models: the worst case for an allocator that adapts itself: nothing that it learns is of use, and learning has a
// price.
// Does not model: any program that somebody needs.
//
// Formulae: one thread, xorshift64*; blocks are written at both ends, from 64 KiB on at each page. `pieces` pieces,
// each of some ten milliseconds on a current machine ("piece_ms" says how long they took in the mean), of one of three
// kinds; what is drawn is drawn by `seed`:
//
// switch `length`: four habits by turns, `length` pieces each, so that they last just less long than somebody's
// windows. Random replacement among 20,000 blocks of 1,040 B, 64 of 64 KiB to 1 MiB, 6 of 2 to 6 MiB; then 24 MiB of
// blocks of one size, 16 to 2,048 B, another each time, allocated and freed as a whole, ten times a piece.
//
// burst `length`: random replacement among 4,000 blocks of 16 to 512 B, and after every `length` pieces once 48 MiB of
// blocks of a size that was not there before.
//
// sites `length`: random replacement among 8 blocks of 1 to 4 MiB, each allocated by one of 4,096 calls; after every
// `length` pieces another quarter of the calls is drawn from.
//
// One operation: one malloc and one free.
#include "harness.h"

#include <stdio.h>
#include <string.h>

#define BLOCKS_MOST (1u << 21)
#define BURST_BYTES (48u << 20)
#define BULK_BYTES (24u << 20)
#define SITES 4096u
#define SITE_SHARES 4u
#define STEADY_TURNS 2000000u // of a piece
#define SITE_TURNS 6400u
#define BULKS 10u

static struct {
    const char *kind;
    uint32_t length;
    uint64_t pieces, seed, operations;
} set;

static void *own(unsigned index) {
    (void)index;
    return harness_array(BLOCKS_MOST, sizeof(void *));
}

static void touch(void *block, size_t bytes) {
    if (bytes < 64 << 10)
        touch_ends(block, bytes);
    else
        touch_pages(block, bytes);
}

// Each case calls malloc from a place of its own; the empty statement behind it keeps them from being made one.
#define SITE_1(n)                        \
    case n:                              \
        block = malloc(bytes);           \
        __asm__ volatile("" : : "i"(n)); \
        break;
#define SITE_8(n) \
    SITE_1(n) SITE_1(n + 1) SITE_1(n + 2) SITE_1(n + 3) SITE_1(n + 4) SITE_1(n + 5) SITE_1(n + 6) SITE_1(n + 7)
#define SITE_64(n) \
    SITE_8(n) SITE_8(n + 8) SITE_8(n + 16) SITE_8(n + 24) SITE_8(n + 32) SITE_8(n + 40) SITE_8(n + 48) SITE_8(n + 56)
#define SITE_512(n) \
    SITE_64(n)      \
    SITE_64(n + 64) \
    SITE_64(n + 128) SITE_64(n + 192) SITE_64(n + 256) SITE_64(n + 320) SITE_64(n + 384) SITE_64(n + 448)

static void *allocate_from(unsigned site, size_t bytes) {
    void *block = NULL;
    switch (site) {
        SITE_512(0)
        SITE_512(512)
        SITE_512(1024)
        SITE_512(1536)
        SITE_512(2048)
        SITE_512(2560)
        SITE_512(3072)
        SITE_512(3584)
    default:
        break;
    }
    if (block == NULL)
        harness_fail("malloc returned NULL");
    return block;
}

static void fill(void **blocks, uint32_t count, uint32_t low, uint32_t high, uint64_t *random) {
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = low + random_below((uint32_t)random_next(random), high - low + 1);
        blocks[i] = allocate_or_fail(bytes);
        touch(blocks[i], bytes);
    }
    set.operations += count;
}

static void drop(void **blocks, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        free(blocks[i]);
}

static void replace(void **blocks, uint32_t count, uint32_t low, uint32_t high, uint32_t turns, uint64_t *random) {
    for (uint32_t left = turns; left > 0; left--) {
        uint64_t bits = random_next(random);
        void **slot = &blocks[random_below((uint32_t)(bits >> 32), count)];
        size_t bytes = low + random_below((uint32_t)bits, high - low + 1);
        free(*slot);
        *slot = allocate_or_fail(bytes);
        touch(*slot, bytes);
    }
    set.operations += turns;
}

// Allocates so many bytes in blocks of one size, and frees them.
static void bulk(void **blocks, uint32_t all_bytes, uint32_t bytes, uint64_t *random) {
    uint32_t count = all_bytes / bytes;
    fill(blocks, count, bytes, bytes, random);
    drop(blocks, count);
}

// The shape of a habit: blocks, sizes, and the turns of a piece.
static const struct habit {
    uint32_t blocks, low, high, turns;
} habits[] = {{20000, 1040, 1040, 1500000}, {64, 64 << 10, 1 << 20, 18000}, {6, 2 << 20, 6 << 20, 4000}};
#define HABITS (sizeof habits / sizeof *habits)

static void switch_habits(void **blocks, uint64_t *random) {
    uint64_t left = set.pieces;
    for (unsigned turn = 0; left > 0; turn++) {
        uint32_t pieces = left < set.length ? (uint32_t)left : set.length;
        left -= pieces;
        if (turn % (HABITS + 1) == HABITS) {
            uint32_t bytes = 16 + random_below((uint32_t)random_next(random), 2033);
            for (uint32_t i = 0; i < pieces * BULKS; i++)
                bulk(blocks, BULK_BYTES, bytes, random);
            continue;
        }
        const struct habit *habit = &habits[turn % (HABITS + 1)];
        fill(blocks, habit->blocks, habit->low, habit->high, random);
        for (uint32_t i = 0; i < pieces; i++)
            replace(blocks, habit->blocks, habit->low, habit->high, habit->turns, random);
        drop(blocks, habit->blocks);
    }
}

static void burst(void **blocks, uint64_t *random) {
    const uint32_t steady = 4000;
    uint32_t bytes = 40; // of the next burst: by a seventh more each time, up to 256 KiB and again
    fill(blocks, steady, 16, 512, random);
    for (uint64_t piece = 1; piece <= set.pieces; piece++) {
        replace(blocks, steady, 16, 512, STEADY_TURNS, random);
        if (piece % set.length == 0) {
            bulk(blocks + steady, BURST_BYTES, bytes, random);
            bytes = bytes > 256 << 10 ? 40 : bytes + bytes / 7;
        }
    }
    drop(blocks, steady);
}

static void sites(void **blocks, uint64_t *random) {
    const uint32_t count = 8, share = SITES / SITE_SHARES;
    memset(blocks, 0, count * sizeof *blocks);
    for (uint64_t piece = 0; piece < set.pieces; piece++) {
        uint32_t first = (uint32_t)(piece / set.length % SITE_SHARES) * share;
        for (uint32_t turns = SITE_TURNS; turns > 0; turns--) {
            uint64_t bits = random_next(random);
            void **slot = &blocks[random_below((uint32_t)(bits >> 32), count)];
            size_t bytes = (1 << 20) + random_below((uint32_t)bits, 3 << 20);
            free(*slot);
            *slot = allocate_from(first + random_below((uint32_t)random_next(random), share), bytes);
            touch(*slot, bytes);
            set.operations++;
        }
    }
    drop(blocks, count);
}

static void run(struct worker *worker) {
    uint64_t random = worker->random ^ set.seed * UINT64_C(0xD1342543DE82EF95);
    if (strcmp(set.kind, "switch") == 0)
        switch_habits(worker->own, &random);
    else if (strcmp(set.kind, "burst") == 0)
        burst(worker->own, &random);
    else
        sites(worker->own, &random);
}

int main(int argc, char **argv) {
    set.kind = argc > 1 ? argv[1] : "";
    if (strcmp(set.kind, "switch") != 0 && strcmp(set.kind, "burst") != 0 && strcmp(set.kind, "sites") != 0)
        harness_fail("argument 1, kind: switch, burst or sites is needed");
    set.length = (uint32_t)harness_number(argc, argv, 2, "length in pieces", 1, 1 << 20);
    set.pieces = harness_number(argc, argv, 3, "pieces", 1, UINT64_C(1) << 32);
    set.seed = argc > 4 ? harness_number(argc, argv, 4, "seed", 0, UINT32_MAX) : 0;
    const struct phase phases[] = {{"run", run}};
    struct phase_result results[2];
    harness_run(1, phases, 1, own, results);
    char parameters[100], extra[100];
    snprintf(parameters, sizeof parameters, "{\"kind\":\"%s\",\"length\":%u,\"threads\":1}", set.kind, set.length);
    snprintf(extra, sizeof extra, ",\"piece_ms\":%.3f", results[1].seconds * 1000 / (double)set.pieces);
    const struct report report = {.workload = "adversary",
                                  .operation = "malloc and free",
                                  .operations = set.operations,
                                  .timed_phase = 0,
                                  .parameters = parameters,
                                  .extra = extra};
    harness_report(&report, phases, 1, results);
    return 0;
}
