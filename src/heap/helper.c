// Purges what was not needed for a while.
#include "heap/helper.h"

#include "big/cache.h"
#include "heap/heap.h"
#include "region/runs.h"
#include "slab/sparse.h"
#include "sys/os.h"

enum helper_state {
    HELPER_NONE,
    HELPER_RUNS, // or is being started
    HELPER_CANT, // there can be no thread
};
static uint32_t helper_state; // enum helper_state
static size_t idle_delay;     // J5: milliseconds; 0: none was wanted yet
static size_t idle_keeps;     // bytes

// Of what is retained: in slices and in cached big blocks.
static size_t retained_bytes(void) {
    return (runs_count().retained_slices << SLICE_SHIFT) + cache_count().bytes;
}

static bool is_wanted(void) {
    return runs_held_bytes() > DECIDED(retain_min) || retained_bytes() > 0;
}

static size_t what_remains(size_t from, size_t bytes) {
    return from > bytes ? from - bytes : 0;
}

// What was retained ever since this watcher's last call goes, but for so much of it.
static void purge_idle(enum retain_watcher watcher, size_t keep_bytes) {
    size_t lowest = runs_take_lowest_bytes(watcher), idle = what_remains(lowest, keep_bytes);
    size_t slices = runs_count().retained_slices << SLICE_SHIFT;
    if (idle > 0)
        runs_purge(what_remains(slices, idle));
    if (idle > slices)
        cache_trim(what_remains(cache_count().bytes, idle - slices));
}

// J3.
static void purge_after_delay(bool nothing_moved) {
    purge_idle(RETAIN_HELPER, 0);
    if (nothing_moved) {
        heap_give_all_kept();
        sparse_trim();
    }
}

// Returns milliseconds.
static size_t sleep_some(size_t most) {
    size_t idle = load_relaxed(&idle_delay), least = idle > 0 && idle < 1000 ? idle : 1000;
    size_t slept = least < most ? least : most;
    os_sleep(1000 * (unsigned)slept);
    return slept;
}

// J5.
static void purge_unwatched(void) {
    if (load_relaxed(&idle_delay) == 0)
        return;
    struct heap *heap = heap_enter();
    purge_idle(RETAIN_LEARNER, load_relaxed(&idle_keeps));
    heap_leave(heap);
}

static void *helper_main(void *unused) {
    (void)unused;
    size_t seen[2] = {0}; // in use at the ends of the last delays
    runs_take_lowest_bytes(RETAIN_HELPER);
    while (is_wanted()) {
        for (size_t left = DECIDED(purge_delay), slept; left > 0; left -= slept) {
            slept = sleep_some(left);
            purge_unwatched();
        }
        size_t now = runs_in_use_bytes();
        struct heap *heap = heap_enter();
        purge_after_delay(now == seen[0] && now != seen[1]);
        heap_leave(heap);
        seen[1] = seen[0];
        seen[0] = now;
    }
    // release: nothing of this thread comes after; pairs with helper_start
    store_release(&helper_state, (uint32_t)HELPER_NONE);
    return NULL;
}

void helper_start(void) {
    uint32_t none = HELPER_NONE;
    if (load_relaxed(&helper_state) != HELPER_NONE || runs_held_bytes() <= DECIDED(retain_min))
        return;
    if (swap_acquire(&helper_state, none, HELPER_RUNS) &&
        !os_start_thread(helper_main))                       // acquire: one thread starts it
        store_relaxed(&helper_state, (uint32_t)HELPER_CANT); // order: a hint; nobody tries again
}

void helper_let_idle_go(size_t delay, size_t keep_bytes) {
    store_relaxed(&idle_keeps, keep_bytes); // of one delay and of another: whichever it finds, as the next one
    store_relaxed(&idle_delay, delay);
    if (load_relaxed(&helper_state) != HELPER_RUNS) // a hint: it may be done twice
        purge_idle(RETAIN_LEARNER, keep_bytes);
}

void helper_forget(void) {
    if (load_relaxed(&helper_state) == HELPER_RUNS)
        store_relaxed(&helper_state, (uint32_t)HELPER_NONE); // order: the child has one thread
}
