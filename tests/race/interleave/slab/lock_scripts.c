// Scripts of the lock itself: two or three threads, with the futex as the kernel keeps it.
#include "scripts.h"
#include "subject.h"

static struct lock lock = LOCK_INIT(runs);
static unsigned count; // plain: the race detector looks on
static unsigned expected;

static void check(void) {
    if (count != expected || lock.state != 0)
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

#define LOCK_SCRIPT(function, thread_count, says)                                                                  \
    {                                                                                                              \
        .name = #function, .what = says, .threads = thread_count, .prepare = function##_prepare, .body = function, \
        .check = check                                                                                             \
    }

const struct script lock_scripts[] = {
    LOCK_SCRIPT(two_hold, 2, "two threads hold a lock twice each"),
    LOCK_SCRIPT(three_hold, 3, "three threads hold a lock"),
    {.name = NULL},
};
