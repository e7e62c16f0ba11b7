// The slow half of the small lock, its rank check, and its behaviour during fork.
#include "sys/lock.h"

#include "base/tuning.h"

INTERNAL uintptr_t lock_fork_thread;

// Ranks that this thread holds, a bit each; checked builds alone. Several depots are never held at once but by fork.
static __thread uint32_t lock_ranks_held __attribute__((tls_model("initial-exec")));

void lock_rank_check(const struct lock *lock) {
    if (load_relaxed(&lock_fork_thread) == os_thread())
        return;
    CHECK(lock->rank < LOCK_RANK_COUNT);
    CHECK(lock_ranks_held >> lock->rank == 0); // L2
    lock_ranks_held |= 1u << lock->rank;
}

void lock_rank_forget(const struct lock *lock) {
    lock_ranks_held &= ~(1u << lock->rank);
}

void lock_acquire_slow(struct lock *lock) {
    if (load_relaxed(&lock_fork_thread) == os_thread()) // L1
        return;
    for (int spin = 0; spin < LOCK_SPINS; spin++) {
        uint32_t expected = 0;
        if (load_relaxed(&lock->state) == 0 && swap_acquire(&lock->state, expected, 1)) // acquire: pairs lock_release
            return;
        spin_pause();
    }
    // From here on the state says that somebody may sleep, even when we are the last: one wake too many does no harm.
    while (exchange_acquire(&lock->state, 2) != 0) // acquire: pairs with lock_release
        os_wait(&lock->state, 2);
}

void lock_acquire_for_fork(struct lock *lock) {
    uint32_t expected = 0;
    if (!swap_acquire(&lock->state, expected, 1)) // acquire: pairs with lock_release
        lock_acquire_slow(lock);
}

void lock_fork_begin(void) {
    if (CHECKED)
        lock_ranks_held = 0;
    store_relaxed(&lock_fork_thread, os_thread());
}

void lock_fork_end(void) {
    store_relaxed(&lock_fork_thread, 0);
}

void lock_reset(struct lock *lock) {
    store_relaxed(&lock->state, 0);
}
