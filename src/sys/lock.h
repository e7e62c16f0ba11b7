// A small lock: four bytes, spins briefly, then sleeps. Ranked.
//
// L1. In checked builds a thread that takes a lock of a rank at or below one it holds stops at once. Who only tries
//     waits for nobody, so any order will do.
#ifndef SYS_LOCK_H
#define SYS_LOCK_H

#include "base/atomics.h"
#include "sys/os.h"

enum lock_rank {
#define LOCK(name, keeps) LOCK_RANK_##name,
#include "sys/locks.def"
#undef LOCK
    LOCK_RANK_COUNT
};

struct lock {
    uint32_t state; // 0 free, 1 held, 2 held and somebody may sleep
    uint32_t rank;
};

#define LOCK_INIT(name) \
    { .state = 0, .rank = LOCK_RANK_##name }

INTERNAL NOINLINE void lock_acquire_slow(struct lock *lock);
INTERNAL void lock_rank_check(const struct lock *lock);
INTERNAL void lock_rank_note(const struct lock *lock);
INTERNAL void lock_rank_forget(const struct lock *lock);

// False: somebody has it. Part of the next ones.
static inline bool lock_take_free(struct lock *lock) {
    uint32_t expected = 0;
    return swap_acquire(&lock->state, expected, 1); // acquire: pairs with lock_release
}

static inline void lock_acquire(struct lock *lock) {
    if (!lock_take_free(lock))
        lock_acquire_slow(lock);
    if (CHECKED)
        lock_rank_check(lock);
}

// False: somebody has it.
static inline bool lock_try(struct lock *lock) {
    if (!lock_take_free(lock))
        return false;
    if (CHECKED)
        lock_rank_note(lock);
    return true;
}

static inline void lock_release(struct lock *lock) {
    if (CHECKED)
        lock_rank_forget(lock);
    if (exchange_release(&lock->state, 0) == 2) // release: pairs with lock_acquire
        os_wake_one(&lock->state);
}

// In a fork child: makes a lock free, whoever held it.
INTERNAL void lock_reset(struct lock *lock);

#endif
