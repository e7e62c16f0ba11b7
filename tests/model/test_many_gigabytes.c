// Far more memory than the machine has goes in and out in random sizes, a part of it at once: nothing leaks, neither
// blocks nor mappings, and what fragments is told.
//
// 16 GiB in all, at most 1 GiB at once, blocks of 1 KiB to 256 MiB; with --long 200 GiB, 8 GiB, and 1 KiB to 512 MiB.
// First and last byte of each block are written and looked at again. Argument --seed N replays.
#include "model.h"

#include <inttypes.h>

#define GIB (MIB * 1024)

enum { HELD = 4096 };

static struct {
    unsigned char *block;
    size_t size;
} held[HELD];
static uint64_t random_state;

static uint64_t random_next(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 11;
}

static size_t random_below(size_t limit) {
    return (size_t)(random_next() % limit);
}

// From 1 KiB up, each doubling as often.
static size_t random_size(unsigned doublings) {
    size_t least = KIB << random_below(doublings);
    return least + random_below(least + 1);
}

static void must(bool condition, const char *what, uint64_t number) {
    if (!condition) {
        fprintf(stderr, "FAIL: %s (%" PRIu64 ")\n", what, number);
        _exit(1);
    }
}

static size_t mappings_now(void) {
    size_t lines = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    must(maps != NULL, "/proc/self/maps can't be opened", 0);
    for (int letter = getc(maps); letter != EOF; letter = getc(maps))
        lines += letter == '\n';
    fclose(maps);
    return lines;
}

// Address space of the process.
static size_t mapped_now(void) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    must(statm != NULL && fscanf(statm, "%lu", &pages) == 1, "/proc/self/statm can't be read", 0);
    fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static struct hakmem_stats stats_now(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    must(hakmem_stats(&stats) == 0, "hakmem_stats failed", 0);
    return stats;
}

static size_t drop(size_t slot) {
    size_t size = held[slot].size;
    unsigned char *block = held[slot].block;
    if (block == NULL)
        return 0;
    must(block[0] == (unsigned char)slot && block[size - 1] == (unsigned char)(slot + size), "a block changed", slot);
    hakmem_free(block);
    held[slot].block = NULL;
    return size;
}

static void make(size_t slot, size_t size) {
    unsigned char *block = hakmem_malloc(size);
    must(block != NULL, "there was no memory for a block of so many bytes", size);
    block[0] = (unsigned char)slot;
    block[size - 1] = (unsigned char)(slot + size);
    held[slot].block = block;
    held[slot].size = size;
}

static size_t most_live, most_mapped, most_mappings, start_mappings;

static void note_most(size_t live, size_t at_once) {
    size_t now = mappings_now(), mapped = stats_now().mapped_bytes;
    most_mappings = most_mappings < now ? now : most_mappings;
    most_mapped = most_mapped < mapped ? mapped : most_mapped;
    most_live = most_live < live ? live : most_live;
    // A block has one mapping at most; huge pages split the window, a part for each of its own.
    must(now < start_mappings + HELD + at_once / (2 * MIB), "so many mappings", now);
    must(mapped < 3 * at_once, "so many bytes are mapped", mapped);
}

// Returns the address space that is left beside what the library says it has, after all was freed.
static size_t cycle(size_t total, size_t at_once, unsigned doublings) {
    size_t live = 0, count = 0;
    for (size_t sum = 0; sum < total; count++) {
        size_t slot = random_below(HELD), size = random_size(doublings);
        live -= drop(slot);
        if (live + size > at_once)
            continue;
        make(slot, size);
        live += size;
        sum += size;
        if (count % 1024 == 0)
            note_most(live, at_once);
    }
    for (size_t slot = 0; slot < HELD; slot++)
        live -= drop(slot);
    (void)hakmem_trim(0);
    struct hakmem_stats end = stats_now();
    must(live == 0 && end.allocated_bytes < MIB, "so many bytes are still allocated", end.allocated_bytes);
    must(end.retained_bytes == 0 && end.big_cached_bytes == 0, "so many bytes are retained", end.retained_bytes);
    must(end.metadata_bytes < 64 * MIB, "so many bytes of metadata", end.metadata_bytes);
    must(mappings_now() < start_mappings + 100 + most_mapped / (2 * MIB), "so many mappings at the end",
         mappings_now());
    return mapped_now() - end.mapped_bytes;
}

int main(int argc, char **argv) {
    const char *long_text = getenv("HAKMEM_TEST_LONG");
    bool is_long = (argc > 1 && strcmp(argv[1], "--long") == 0) || (long_text != NULL && strcmp(long_text, "1") == 0);
    size_t total = is_long ? 200 * GIB : 16 * GIB, at_once = is_long ? 8 * GIB : GIB;
    unsigned doublings = is_long ? 19 : 18;
    random_state = argc > 2 && strcmp(argv[1], "--seed") == 0 ? strtoull(argv[2], NULL, 10) : 1;
    start_mappings = mappings_now();
    size_t first = cycle(total / 2, at_once, doublings), second = cycle(total / 2, at_once, doublings);
    must(second < first + 64 * MIB, "so many bytes of address space were lost", second - first);
    printf("many gigabytes: %zu; at most %zu MiB live, %zu MiB mapped, %zu mappings; at the end %zu\n", total / GIB,
           most_live / MIB, most_mapped / MIB, most_mappings, mappings_now());
    return 0;
}
