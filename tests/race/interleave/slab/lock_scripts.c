// Scripts of the lock itself: two or three threads, with the futex as the kernel keeps it.
#include "scripts.h"
#include "subject.h"

static struct lock lock = LOCK_INIT(runs);
static struct lock other = LOCK_INIT(meta);
static unsigned count; // plain: the race detector looks on
static unsigned expected;

static void check(void) {
    if (count != expected || lock.state != 0 || other.state != 0)
        interleave_fail("the lock was held %u times, not %u, and is %u", count, expected, lock.state);
}

static void hold(struct lock *held) {
    lock_acquire(held);
    count++;
    lock_release(held);
}

static void two_hold_prepare(void) {
    expected = 4;
}

static void two_hold(unsigned thread) {
    (void)thread;
    hold(&lock);
    hold(&lock);
}

static void three_hold_prepare(void) {
    expected = 3;
}

static void three_hold(unsigned thread) {
    (void)thread;
    hold(&lock);
}

// A forking thread holds both, goes through them meanwhile, and lets go.
static void fork_holds_prepare(void) {
    expected = 4;
}

static void fork_holds(unsigned thread) {
    if (thread == 1) {
        hold(&lock);
        return;
    }
    lock_acquire_for_fork(&lock);
    lock_acquire_for_fork(&other);
    lock_fork_begin();
    hold(&other); // as a fork handler of somebody else does
    hold(&lock);
    lock_fork_end();
    count++;
    lock_release(&lock);
    lock_release(&other);
}

#define LOCK_SCRIPT(function, thread_count, says)                                                                  \
    {                                                                                                              \
        .name = #function, .what = says, .threads = thread_count, .prepare = function##_prepare, .body = function, \
        .check = check                                                                                             \
    }

const struct script lock_scripts[] = {
    LOCK_SCRIPT(two_hold, 2, "two threads hold a lock twice each"),
    LOCK_SCRIPT(three_hold, 3, "three threads hold a lock"),
    LOCK_SCRIPT(fork_holds, 2, "a forking thread holds two locks and passes through them"),
    {.name = NULL},
};
