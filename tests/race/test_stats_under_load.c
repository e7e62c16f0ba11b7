// Statistics are read, as structure and as JSON, while others allocate and free; what they say is possible at every
// moment.
#include "race.h"

// What is held all the time is far more than what the figures may be wrong by while others allocate and free.
enum { WORKERS = 3, OPERATIONS = 16000, READERS = 2, ALWAYS_HELD = 40 };
static const struct sizes always_held_sizes = {"always held", 1024 * 1024, 1024 * 1024};
static const size_t wrong_by_at_most = 16 * MIB;

static _Atomic size_t workers_at_work;
static const struct sizes *sizes;
static uint64_t round_seed;
static size_t bytes_always_held;

static void *use_heap(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    struct held kept[256] = {{0}};
    size_t operations = steps_for(sizes, OPERATIONS);
    for (size_t i = 0; i < operations; i++) {
        size_t slot = random_below(&random, COUNT_OF(kept));
        held_drop(&kept[slot]);
        kept[slot] = held_make(&random, sizes);
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        held_drop(&kept[i]);
    }
    atomic_fetch_sub(&workers_at_work, 1);
    return NULL;
}

static void check_figures(const struct hakmem_stats *stats, const struct hakmem_stats *earlier) {
    const size_t possible = (size_t)1 << 46;
    CHECK(stats->allocated_bytes + wrong_by_at_most >= bytes_always_held);
    CHECK(stats->allocated_bytes < bytes_always_held + 4096 * MIB);
    CHECK(stats->resident_bytes < possible && stats->retained_bytes < possible && stats->metadata_bytes < possible &&
          stats->mapped_bytes < possible);
    CHECK(stats->refills >= earlier->refills && stats->flushes >= earlier->flushes);
    CHECK(stats->slabs_made >= earlier->slabs_made && stats->slabs_returned >= earlier->slabs_returned);
}

static void *read_figures(void *unused) {
    (void)unused;
    static _Thread_local char text[1 << 18];
    struct hakmem_stats earlier = {.size = sizeof earlier};
    CHECK(hakmem_stats(&earlier) == 0);
    while (atomic_load(&workers_at_work) > 0) {
        struct hakmem_stats stats = {.size = sizeof stats};
        CHECK(hakmem_stats(&stats) == 0);
        check_figures(&stats, &earlier);
        earlier = stats;
        int length = hakmem_stats_json(text, sizeof text);
        CHECK(length > 2 && (size_t)length < sizeof text && strlen(text) == (size_t)length);
        CHECK(text[0] == '{');
    }
    return NULL;
}

static void read_under_load(uint64_t seed, unsigned round) {
    static struct held always_held[ALWAYS_HELD];
    struct random random = random_of(seed, 99);
    pthread_t workers[WORKERS], readers[READERS];
    round_seed = seed;
    sizes = &size_ranges[round % COUNT_OF(size_ranges)];
    bytes_always_held = 0;
    for (size_t i = 0; i < ALWAYS_HELD; i++) {
        always_held[i] = held_make(&random, &always_held_sizes);
        bytes_always_held += always_held[i].size;
    }
    atomic_store(&workers_at_work, WORKERS);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = thread_start(use_heap, (void *)i);
    }
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = thread_start(read_figures, NULL);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        thread_join(workers[i]);
    }
    for (size_t i = 0; i < READERS; i++) {
        thread_join(readers[i]);
    }
    for (size_t i = 0; i < ALWAYS_HELD; i++) {
        held_drop(&always_held[i]);
    }
}

int main(int argc, char **argv) {
    return race_rounds("statistics under load", read_under_load, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
