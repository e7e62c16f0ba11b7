// The slow half of the small lock, and its rank check.
#include "sys/lock.h"

#include "base/tuning.h"

// Ranks that this thread holds, a bit each; checked builds alone.
static __thread uint32_t lock_ranks_held __attribute__((tls_model("initial-exec")));

void lock_rank_check(const struct lock *lock) {
    CHECK(lock_ranks_held >> lock->rank == 0); // L1
    lock_rank_note(lock);
}

void lock_rank_note(const struct lock *lock) {
    CHECK(lock->rank < LOCK_RANK_COUNT);
    lock_ranks_held |= 1u << lock->rank;
}

void lock_rank_forget(const struct lock *lock) {
    lock_ranks_held &= ~(1u << lock->rank);
}

void lock_acquire_slow(struct lock *lock) {
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

void lock_reset(struct lock *lock) {
    store_relaxed(&lock->state, 0);
}
