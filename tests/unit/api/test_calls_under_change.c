// Everything that may be decided changes again and again, by chance, and is put in force as learning does it: size
// classes, depths, thresholds, budgets, whole snapshots. Meanwhile threads call for blocks of all kinds, hand them on,
// end, fork, and are in sampling windows. Blocks stay as they were.
//
// It takes HAKMEM_TEST_SECONDS (2; with HAKMEM_TEST_LONG=1, as ctest runs the soak, 120).
#include "unit/unit.h"

#include "heap/sampling.h"
#include "learn/learn.h"
#include "learn/publish.h"
#include "policy/snapshot.h"
#include "unit/api/calls.h"

enum { WORKERS = 3, FORKERS = 2, KEPT = 100, PASSED = 64 };

struct stamp {
    size_t bytes;
    uintptr_t check;
};

static void *passed[PASSED]; // from thread to thread
static uint32_t is_over;

static uintptr_t check_of(const struct stamp *stamp, size_t bytes) {
    return (uintptr_t)stamp ^ bytes * 0x9e3779b97f4a7c15u;
}

static size_t random_bytes(struct random *random) {
    unsigned doublings = random_below(random, 50) == 0 ? 19 : 14; // up to 8 MiB, or 256 KiB
    size_t bytes = sizeof(struct stamp) << random_below(random, doublings);
    return bytes + random_below(random, bytes);
}

static void *stamped(void *block, size_t bytes) {
    struct stamp *stamp = (struct stamp *)block;
    MUST(stamp != NULL && call_usable_bytes(stamp) >= bytes);
    *stamp = (struct stamp){bytes, check_of(stamp, bytes)};
    if (bytes > sizeof *stamp)
        ((char *)stamp)[bytes - 1] = 'e';
    return stamp;
}

static void look_at(const void *block) {
    const struct stamp *stamp = (const struct stamp *)block;
    MUST(stamp->check == check_of(stamp, stamp->bytes)); // else somebody else has it too
    MUST(stamp->bytes == sizeof *stamp || ((const char *)block)[stamp->bytes - 1] == 'e');
    MUST(call_usable_bytes(block) >= stamp->bytes);
}

static void drop(void *block) {
    if (block == NULL)
        return;
    look_at(block);
    ((struct stamp *)block)->check = 0;
    call_free(block);
}

static void *make(struct random *random) {
    size_t bytes = random_bytes(random), align = (size_t)16 << random_below(random, 9);
    void *block;
    switch (random_below(random, 8)) {
    case 0:
        block = call_calloc(1, bytes);
        MUST(block != NULL && is_zero(block, bytes < 8192 ? bytes : 8192) && ((char *)block)[bytes - 1] == 0);
        return stamped(block, bytes);
    case 1:
        block = call_aligned(bytes, align);
        MUST((uintptr_t)block % align == 0);
        return stamped(block, bytes);
    default:
        return stamped(call_malloc(bytes), bytes);
    }
}

static void *resized(struct random *random, void *block) {
    uintptr_t before = (uintptr_t)block;
    size_t old_bytes = ((struct stamp *)block)->bytes, bytes = random_bytes(random);
    look_at(block);
    struct stamp *moved = (struct stamp *)call_realloc(block, bytes);
    MUST(moved != NULL && moved->bytes == old_bytes);
    MUST((moved->check ^ before) == old_bytes * 0x9e3779b97f4a7c15u);
    return stamped(moved, bytes);
}

static void open_window(unsigned calls) {
    struct heap *heap = heap_enter();
    if (heap != NULL)
        heap_open_window(heap, calls);
    heap_leave(heap);
}

static void step(struct random *random, void **own) {
    void **slot = &own[random_below(random, KEPT)];
    size_t what = random_below(random, 200);
    if (what == 0)
        open_window(1 + (unsigned)random_below(random, 600));
    else if (what == 1)
        heap_trim(0);
    if (*slot != NULL && what % 4 == 0) {
        *slot = resized(random, *slot);
    } else {
        drop(*slot);
        *slot = make(random);
    }
    // order: what was written to the block comes before another thread reads it
    if (what % 4 == 1)
        *slot = __atomic_exchange_n(&passed[random_below(random, PASSED)], *slot, __ATOMIC_ACQ_REL);
}

static void steps(uint64_t seed, unsigned count) {
    struct random random = {seed};
    void *own[KEPT] = {NULL};
    for (unsigned i = 0; i < count; i++)
        step(&random, own);
    for (unsigned i = 0; i < KEPT; i++)
        drop(own[i]);
}

static void *live_briefly(void *number) {
    steps((uintptr_t)number * 77, SANITIZED ? 1000 : 5000);
    return NULL;
}

static void *start_anew(void *number) {
    for (unsigned i = 1; load_relaxed(&is_over) == 0; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, live_briefly, (void *)((uintptr_t)number + i * 16)) == 0);
        MUST(pthread_join(thread, NULL) == 0);
    }
    return NULL;
}

// ---- decisions

static uint32_t random_step(struct random *random) {
    return (uint32_t)size_class_bytes_of_entry(1 + (unsigned)random_below(random, CLASS_MAP_COUNT - 1));
}

static size_t random_value(struct random *random, const struct decision_row *row) {
    size_t span = row->most - row->least;
    return row->least + random_below(random, span < 64 * MIB ? span + 1 : 64 * MIB);
}

static void decide_at_random(struct random *random, struct snapshot *made) {
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        if (random_below(random, 4) == 0)
            *snapshot_field(made, (enum decision)i) = random_value(random, &decision_rows[i]);
    made->purge_delay =
        SANITIZED ? 0 : made->purge_delay % 50; // they allow no threads in the child of one with threads
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        if (random_below(random, 3) == 0)
            made->spare_bytes[i] = random_below(random, 3) == 0 ? 0 : random_step(random);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        made->closed[i] = random_below(random, 4) == 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        made->depth[i] = (uint8_t)random_below(random, STACK_MAX_DEPTH + 1);
        made->batch[i] = (uint8_t)random_below(random, STACK_MAX_DEPTH + 1);
    }
}

static unsigned changes, new_sizes;

// As look() of learn/learn.c.
static void put_in_force(const struct snapshot *made) {
    size_t before[CLASS_SPARE_COUNT];
    struct heap *heap = heap_enter();
    lock_acquire(&learn_lock);
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        before[i] = class_bytes(CLASS_COUNT + i);
    learn_publish(made);
    for (unsigned tries = 0; !heap_change_classes() && tries < 100; tries++)
        sched_yield();
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        new_sizes += class_bytes(CLASS_COUNT + i) != before[i];
    changes++;
    lock_release(&learn_lock);
    heap_leave(heap);
}

static void *change_again_and_again(void *unused) {
    struct random random = random_start();
    struct snapshot made;
    (void)unused;
    heap_default_snapshot(&made);
    const char *seconds = getenv("HAKMEM_TEST_SECONDS");
    uint64_t end_ns = os_now_ns() + (uint64_t)((seconds != NULL ? atof(seconds) : 2) * (double)SECOND_NS);
    while (os_now_ns() < end_ns) {
        decide_at_random(&random, &made);
        put_in_force(&made);
        heap_trim(0); // all let their leases go
        steps(changes, 20);
    }
    store_relaxed(&is_over, 1u);
    return NULL;
}

// ---- children

static void be_child(uint64_t seed) {
    struct random random = {seed};
    struct snapshot made;
    alarm(60);
    steps(seed, 300);
    heap_default_snapshot(&made);
    decide_at_random(&random, &made);
    put_in_force(&made);
    steps(seed + 1, 300);
    for (unsigned i = 0; i < PASSED; i++)
        drop(passed[i]); // of threads that did not come along
    _exit(0);
}

static void *fork_again_and_again(void *number) {
    for (uint64_t i = 0; load_relaxed(&is_over) == 0; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            be_child((uintptr_t)number * 1000 + i);
        MUST(child > 0 && waitpid(child, &status, 0) == child);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        steps(i, 100);
        usleep(3000);
    }
    return NULL;
}

static void *take_part(void *number) {
    unsigned role = (unsigned)(uintptr_t)number;
    return role == 0         ? change_again_and_again(NULL)
           : role <= FORKERS ? fork_again_and_again(number)
                             : start_anew(number);
}

static void blocks_stay_whole_whatever_is_decided(void **state) {
    (void)state;
    changes = new_sizes = 0;
    store_relaxed(&is_over, 0u);
    threads_run(1 + FORKERS + WORKERS, take_part);
    for (unsigned i = 0; i < PASSED; i++)
        drop(passed[i]);
    print_message("%u changes, %u new sizes of classes\n", changes, new_sizes);
    assert_true(new_sizes > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_stay_whole_whatever_is_decided),
    };
    return cmocka_run_group_tests_name("calls while all changes", tests, start_calls, NULL);
}
