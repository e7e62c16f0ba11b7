// Sampling windows open, and size classes change, while the program learns: threads allocate, resize, clear, free, hand
// on and end, others trim, fork and read statistics. A block is as large as asked for and stays as it was.
#include "race.h"
#include <sys/wait.h>

enum { WORKERS = 3, GENERATIONS = 3, OPERATIONS = 6000 };

static struct ring ring;
static _Atomic size_t workers_at_work;
static const struct sizes *sizes;
static uint64_t round_seed;

// By any of the calls that give a block.
static struct held make_somehow(struct random *random) {
    struct held held = held_make(random, sizes);
    size_t how = random_below(random, 8), size = random_size(random, sizes);
    if (how == 0) {
        struct held moved = {hakmem_realloc(held.block, size), size, held.number};
        CHECK(moved.block != NULL);
        held_check_moved(&held, moved.block, size);
        held = moved;
    } else if (how < 3) {
        held_drop(&held);
        held.block = how == 1 ? hakmem_calloc(1, held.size) : hakmem_aligned_alloc(64, held.size);
        CHECK(held.block != NULL);
        CHECK(how != 1 || ((char *)held.block)[held.size - 1] == 0);
    }
    held_stamp(&held);
    CHECK(hakmem_usable_size(held.block) >= held.size);
    return held;
}

static void *use_heap(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    struct held kept[128] = {{0}}, received;
    size_t operations = steps_for(sizes, OPERATIONS);
    for (size_t i = 0; i < operations; i++) {
        size_t slot = random_below(&random, COUNT_OF(kept));
        held_drop(&kept[slot]);
        kept[slot] = make_somehow(&random);
        if (i % 4 == 0 && ring_push(&ring, &kept[slot])) {
            kept[slot].block = NULL;
        }
        if (i % 4 == 1 && ring_pop(&ring, &received)) {
            held_drop(&received);
        }
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        held_drop(&kept[i]);
    }
    return NULL;
}

static void *use_heap_and_start_anew(void *argument) {
    for (size_t i = 0; i < GENERATIONS; i++) {
        thread_join(thread_start(use_heap, (void *)((uintptr_t)argument + i * WORKERS)));
    }
    atomic_fetch_sub(&workers_at_work, 1);
    return NULL;
}

static void fork_once(uint64_t seed) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)alarm(60);
        struct random random = random_of(seed, 99);
        for (size_t i = 0; i < 500; i++) {
            struct held held = make_somehow(&random);
            held_drop(&held);
        }
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) {
        FAIL("a child ended with wait status %#x", (unsigned)status);
    }
}

static void *disturb(void *unused) {
    struct random random = random_of(round_seed, 77);
    (void)unused;
    while (atomic_load(&workers_at_work) > 0) {
        struct hakmem_stats stats = {.size = sizeof stats};
        size_t what = random_below(&random, 100);
        if (what == 0) {
            fork_once(round_seed);
        } else if (what < 10) {
            (void)hakmem_trim(0);
        }
        CHECK(hakmem_stats(&stats) == 0);
        struct held held = make_somehow(&random);
        held_drop(&held);
    }
    return NULL;
}

static void sampling_under_load(uint64_t seed, unsigned round) {
    round_seed = seed;
    sizes = &size_ranges[round % COUNT_OF(size_ranges)];
    ring_start(&ring);
    atomic_store(&workers_at_work, WORKERS);
    threads_run(WORKERS, use_heap_and_start_anew, disturb);
    ring_drain(&ring);
}

// The mode is read before main.
int main(int argc, char **argv) {
    char mode[16];
    CHECK(hakmem_option_get("mode", mode, sizeof mode) > 0);
    if (strcmp(mode, "research") != 0) {
        CHECK(setenv("HAKMEM_MODE", "research", 1) == 0);
        (void)execv("/proc/self/exe", argv);
        FAIL("execv: %s", strerror(errno));
    }
    return race_rounds("sampling under load", sampling_under_load, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
