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

// J3. Pages of part-used slabs go once, when nothing has moved for a delay.
static void purge_idle(bool nothing_moved) {
    size_t idle = runs_take_lowest_bytes(), slices = runs_count().retained_slices << SLICE_SHIFT;
    if (idle > 0)
        runs_purge(what_remains(slices, idle));
    if (idle > slices)
        cache_trim(what_remains(cache_count().bytes, idle - slices));
    if (nothing_moved) {
        heap_give_all_kept();
        sparse_trim();
    }
}

static void *helper_main(void *unused) {
    (void)unused;
    size_t seen[2] = {0}; // in use at the ends of the last delays
    runs_take_lowest_bytes();
    while (is_wanted()) {
        for (size_t left = DECIDED(purge_delay); left > 0; left -= left < 1000 ? left : 1000)
            os_sleep(1000 * (unsigned)(left < 1000 ? left : 1000));
        size_t now = runs_in_use_bytes();
        struct heap *heap = heap_enter();
        purge_idle(now == seen[0] && now != seen[1]);
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

void helper_forget(void) {
    if (load_relaxed(&helper_state) == HELPER_RUNS)
        store_relaxed(&helper_state, (uint32_t)HELPER_NONE); // order: the child has one thread
}
