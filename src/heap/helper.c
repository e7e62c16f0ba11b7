// Purges what was not needed for a while.
#include "heap/helper.h"

#include "big/cache.h"
#include "big/mapping.h"
#include "heap/registry.h"
#include "heap/visit.h"
#include "policy/retention.h"
#include "region/runs.h"
#include "slab/sparse.h"
#include "sys/os.h"

#define SLEEP_MOST_MS 1000u
#define IDLE_GOES_LEAST_BYTES MIB // less is not worth a system call that all processors notice

enum helper_state {
    HELPER_NONE,
    HELPER_RUNS, // or is being started
    HELPER_CANT, // there can be no thread
};
static uint32_t helper_state; // enum helper_state
static struct helper_idle idle_wanted;
static helper_look_function *helper_looks;
static uint32_t idle_is_busy; // somebody is at it
static struct retention_idle idle;
static struct rises rises;
static size_t idle_lowest_bytes = SIZE_MAX; // retained ever since what was idle last went
static uint64_t visited_ns;                 // under idle_is_busy, as the three before

// Where the helper is: milliseconds that it slept since each of its delays went by, and what was in use then.
struct helper_turn {
    size_t slept;
    size_t idle_slept;
    size_t seen[2];
    bool is_clean; // nothing was retained
};

// Of what is retained: in slices and in cached big blocks.
static size_t retained_bytes(void) {
    return (runs_count().retained_slices << SLICE_SHIFT) + cache_count().bytes;
}

static bool is_wanted(void) {
    return DECIDED(purge_delay) != 0 && (runs_held_bytes() > DECIDED(retain_min) || retained_bytes() > 0);
}

static size_t what_remains(size_t from, size_t bytes) {
    return from > bytes ? from - bytes : 0;
}

// What was retained all the time goes, but for so much of it; if it is as much as that.
static void purge_idle(size_t lowest_bytes, size_t keep_bytes, size_t least_bytes) {
    size_t goes = what_remains(lowest_bytes, keep_bytes);
    if (goes < least_bytes)
        return;
    size_t slices = runs_count().retained_slices << SLICE_SHIFT;
    if (goes > 0)
        runs_purge(what_remains(slices, goes));
    if (goes > slices)
        cache_trim(what_remains(cache_count().bytes, goes - slices));
}

// J3.
static void purge_after_delay(bool nothing_moved) {
    purge_idle(runs_take_extremes(RETAIN_HELPER).lowest_retained_bytes, 0, 1);
    if (nothing_moved) {
        heap_give_all_kept();
        sparse_trim();
    }
}

static uint64_t purged_bytes(void) {
    return runs_count().purged_bytes + cache_count().released_bytes;
}

// What threads hold and do not use, now and then.
static void visit_if_due(void) {
    uint64_t now = os_now_ns(), all_threads_ns = load_relaxed(&registry.threads) * (uint64_t)VISIT_THREAD_NS;
    if (now - visited_ns < VISIT_NS || now - visited_ns < all_threads_ns)
        return;
    visited_ns = now;
    visit_idle();
}

// What came again up to now is not idle: so much of what is free.
static size_t comes_again(const struct rises_seen *in_use) {
    uint64_t now = os_now_ns(), hold_ns = load_relaxed(&idle_wanted.hold_ms) * MS_NS;
    size_t top;
    rises_look(&rises, now, in_use);
    rises_again(&rises, now, hold_ns, retention_idle_ns(hold_ns), &top);
    return what_remains(top, in_use->now_bytes);
}

// J5.
static void purge_after_idle_delay(void) {
    uint32_t nobody = 0;
    // acquire: who was at it before has done; pairs with the store below
    if (!swap_acquire(&idle_is_busy, nobody, 1))
        return;
    uint64_t refaulted = runs_count().refaulted_bytes, before = purged_bytes();
    bool is_due = retention_idle_is_due(&idle, refaulted, before, load_relaxed(&idle_wanted.back_bytes));
    if (is_due)
        visit_if_due();
    struct runs_extremes since = runs_take_extremes(RETAIN_LEARNER);
    size_t keep_bytes = comes_again(&since.in_use);
    idle_lowest_bytes = least_of(idle_lowest_bytes, since.lowest_retained_bytes);
    if (is_due) {
        purge_idle(idle_lowest_bytes, keep_bytes, IDLE_GOES_LEAST_BYTES);
        retention_idle_note(&idle, purged_bytes() - before);
        idle_lowest_bytes = SIZE_MAX;
    }
    store_release(&idle_is_busy, 0u); // release: what was done, for who is next; pairs with the swap above
}

// Milliseconds to sleep until the next delay has gone by.
static size_t helper_next(const struct helper_turn *turn) {
    size_t next = what_remains(DECIDED(purge_delay), turn->slept), delay = load_relaxed(&idle_wanted.delay);
    size_t idle_next = delay != 0 && !turn->is_clean ? what_remains(delay, turn->idle_slept) : SLEEP_MOST_MS;
    next = next < idle_next ? next : idle_next;
    return next == 0 ? 1 : next < SLEEP_MOST_MS ? next : SLEEP_MOST_MS;
}

// What is due after so much sleep.
static void helper_do(struct helper_turn *turn, size_t slept) {
    size_t delay = DECIDED(purge_delay), idle_now = load_relaxed(&idle_wanted.delay);
    turn->slept += slept;
    turn->idle_slept += slept;
    helper_look_function *looks = load_relaxed(&helper_looks); // what it looks at it takes the learner's lock for
    if (looks != NULL)
        looks();
    if (idle_now != 0 && turn->idle_slept >= idle_now) {
        turn->idle_slept = 0;
        purge_after_idle_delay();
    }
    if (delay != 0 && turn->slept >= delay) {
        size_t now = runs_in_use_bytes();
        turn->slept = 0;
        purge_after_delay(now == turn->seen[0] && now != turn->seen[1]);
        turn->seen[1] = turn->seen[0];
        turn->seen[0] = now;
    }
    turn->is_clean = retained_bytes() == 0;
}

static void *helper_main(void *unused) {
    struct helper_turn turn = {0};
    (void)unused;
    struct heap *heap = heap_enter();
    runs_take_extremes(RETAIN_HELPER);
    for (bool wanted = true; wanted;) {
        heap_leave(heap);
        size_t slept = helper_next(&turn);
        os_sleep(1000 * (unsigned)slept);
        heap = heap_enter();
        helper_do(&turn, slept);
        wanted = is_wanted();
    }
    heap_leave(heap);
    // release: nothing of this thread comes after but its end; pairs with helper_start
    store_release(&helper_state, (uint32_t)HELPER_NONE);
    return NULL;
}

void helper_start(void) {
    uint32_t none = HELPER_NONE;
    const struct heap *mine = thread_stacks.heap;
    if (load_relaxed(&helper_state) != HELPER_NONE || runs_held_bytes() <= DECIDED(retain_min) || mine == NULL ||
        mine->entries > 0) // J2
        return;
    if (swap_acquire(&helper_state, none, HELPER_RUNS) && // acquire: one thread starts it
        (os_is_confined() || !os_start_thread(helper_main)))
        store_relaxed(&helper_state, (uint32_t)HELPER_CANT); // order: a hint; nobody tries again
}

void helper_want_idle(const struct helper_idle *wanted) {
    // Read without a lock: of one look and of another will do.
    store_relaxed(&idle_wanted.delay, wanted->delay);
    store_relaxed(&idle_wanted.hold_ms, wanted->hold_ms);
    store_relaxed(&idle_wanted.back_bytes, wanted->back_bytes);
}

void helper_let_look(helper_look_function *look) {
    store_relaxed(&helper_looks, look); // order: as where it is called, in helper_do
}

void helper_let_idle_go(void) {
    if (load_relaxed(&helper_state) != HELPER_RUNS) // a hint: the helper goes on with what was begun
        purge_after_idle_delay();
}

void helper_forget(void) {
    if (load_relaxed(&helper_state) == HELPER_RUNS)
        store_relaxed(&helper_state, (uint32_t)HELPER_NONE); // order: the child has one thread
    store_relaxed(&idle_is_busy, 0u);                        // as above
}
