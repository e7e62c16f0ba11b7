// Several threads fork at once while others allocate and free; every child uses the whole heap, frees what its parent
// made, and exits.
#include "race.h"
#include <sys/wait.h>

enum { WORKERS = 3, FORKERS = 2, FORKS_EACH = 6, INHERITED = 200, CHILD_SECONDS = 60 };

static struct ring ring;
static _Atomic bool forking_is_over;
static const struct sizes *sizes;
static uint64_t round_seed;

// Keeps every lock of the allocator busy: local and remote frees, large blocks, trims.
static void *keep_busy(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    struct held kept[64] = {{0}};
    while (!atomic_load(&forking_is_over)) {
        struct held made = held_make(&random,
                                     random_below(&random, 20) == 0 ? &size_ranges[COUNT_OF(size_ranges) - 1] : sizes),
                    received;
        if (!ring_push(&ring, &made)) {
            size_t slot = random_below(&random, COUNT_OF(kept));
            held_drop(&kept[slot]);
            kept[slot] = made;
        }
        if (ring_pop(&ring, &received)) {
            held_drop(&received);
        }
        if (random_below(&random, 2000) == 0) {
            (void)hakmem_trim(0);
        }
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        held_drop(&kept[i]);
    }
    return NULL;
}

static void *use_heap_in_thread(void *argument) {
    struct random random = random_of(round_seed, (uintptr_t)argument);
    struct held held[100];
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        held[i] = held_make(&random, sizes);
    }
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        held_drop(&held[i]);
    }
    return NULL;
}

// In the child only the forking thread lives: its blocks are intact, and all the memory of the others can be taken.
static void be_child(struct held inherited[INHERITED], uint64_t seed) {
    (void)alarm(CHILD_SECONDS); // a lock left behind kills the child instead of hanging the test
    struct random random = random_of(seed, 77);
    static struct held made[5000];
    size_t count = steps_for(sizes, COUNT_OF(made));
    for (size_t i = 0; i < count; i++) {
        made[i] = held_make(&random, sizes);
        if (i < INHERITED) {
            held_drop(&inherited[i]);
        }
    }
    for (size_t i = 0; i < INHERITED; i++) {
        held_drop(&inherited[i]);
    }
    for (size_t i = 0; i < count; i++) {
        held_drop(&made[i]);
    }
    (void)hakmem_trim(0);
    struct hakmem_stats stats = {.size = sizeof stats};
    CHECK(hakmem_stats(&stats) == 0);
    if (!SANITIZED) { // sanitizers allow no threads in the child of a process with threads
        pthread_t thread = thread_start(use_heap_in_thread, (void *)(uintptr_t)3);
        thread_join(thread);
    }
    if (random_below(&random, 3) == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            (void)use_heap_in_thread((void *)(uintptr_t)4);
            _exit(0);
        }
        int status = -1;
        CHECK(grandchild > 0 && waitpid(grandchild, &status, 0) == grandchild && status == 0);
    }
    _exit(0);
}

static void *fork_again_and_again(void *argument) {
    uint64_t stream = (uintptr_t)argument;
    struct random random = random_of(round_seed, stream);
    static _Thread_local struct held inherited[INHERITED];
    for (int i = 0; i < (SANITIZED ? FORKS_EACH / 3 : FORKS_EACH); i++) {
        for (size_t j = 0; j < INHERITED; j++) {
            inherited[j] = held_make(&random, sizes);
        }
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            be_child(inherited, random_next(&random));
        }
        for (size_t j = 0; j < INHERITED; j++) {
            held_drop(&inherited[j]);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        if (status != 0) {
            FAIL("a child ended with wait status %#x", (unsigned)status);
        }
    }
    return NULL;
}

static void fork_under_load(uint64_t seed, unsigned round) {
    pthread_t workers[WORKERS], forkers[FORKERS];
    round_seed = seed;
    sizes = &size_ranges[round % 4];
    atomic_store(&forking_is_over, false);
    ring_start(&ring);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = thread_start(keep_busy, (void *)(10 + i));
    }
    for (size_t i = 0; i < FORKERS; i++) {
        forkers[i] = thread_start(fork_again_and_again, (void *)(20 + i));
    }
    for (size_t i = 0; i < FORKERS; i++) {
        thread_join(forkers[i]);
    }
    atomic_store(&forking_is_over, true);
    for (size_t i = 0; i < WORKERS; i++) {
        thread_join(workers[i]);
    }
    ring_drain(&ring);
}

int main(int argc, char **argv) {
    return race_rounds("fork under load", fork_under_load, test_seconds(is_long_run(argc, argv) ? 120 : 2));
}
