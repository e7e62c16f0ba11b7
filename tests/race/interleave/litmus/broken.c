// Scripts that are wrong, each in a way of its own: the machine must say so.
#include "base/atomics.h"
#include "base/compiler.h"
#include "script.h"

static uint32_t x, y, z;
static uint32_t first_lock, second_lock;
static uint32_t plain;
static uint32_t *nowhere;

static void prepare(void) {
    interleave_is_lock(&first_lock);
    interleave_is_lock(&second_lock);
}

static void take(uint32_t *lock) {
    uint32_t expected = 0;
    swap_acquire(lock, expected, 1);
}

static void give(uint32_t *lock) {
    exchange_release(lock, 0);
}

// --- Races ----------------------------------------------------------------------------------------

static void plain_writes(unsigned thread) {
    plain = thread;
}

// One lock each.
static void two_locks(unsigned thread) {
    uint32_t *lock = thread == 0 ? &first_lock : &second_lock;
    take(lock);
    plain++;
    give(lock);
}

static void relaxed_message(unsigned thread) {
    if (thread == 0) {
        plain = 7;
        store_relaxed(&x, 1);
    } else if (load_acquire(&x) == 1) {
        plain++;
    }
}

// Atomic on one side alone.
static void half_atomic(unsigned thread) {
    if (thread == 0)
        store_relaxed(&plain, 1);
    else
        plain = 2;
}

// The release is broken by a relaxed store of another thread in between.
static void broken_release(unsigned thread) {
    if (thread == 0) {
        plain = 7;
        store_release(&x, 1);
    } else if (thread == 1) {
        store_relaxed(&x, 2);
    } else if (load_acquire(&x) == 2 && load_relaxed(&y) == 0) {
        plain++;
    }
}

// --- Deadlocks ------------------------------------------------------------------------------------

static void crossed_locks(unsigned thread) {
    take(thread == 0 ? &first_lock : &second_lock);
    take(thread == 0 ? &second_lock : &first_lock);
    give(&first_lock);
    give(&second_lock);
}

static void nobody_wakes(unsigned thread) {
    if (thread == 0)
        interleave_wait(&x, 0);
    else
        store_relaxed(&x, 1);
}

// --- Wrong only in rare orders --------------------------------------------------------------------

static void lost_update(unsigned thread) {
    (void)thread;
    store_relaxed(&x, load_relaxed(&x) + 1);
}

static void lost_update_check(void) {
    if (x != 2)
        interleave_fail("an update was lost");
}

// Of three threads one must see the other two in a certain order, in the middle of its own steps.
static void deep(unsigned thread) {
    if (thread == 0) {
        store_relaxed(&x, 1);
        store_relaxed(&x, 2);
        store_relaxed(&x, 3);
    } else if (thread == 1) {
        if (load_relaxed(&x) == 2)
            store_relaxed(&y, 1);
    } else {
        if (load_relaxed(&y) == 1 && load_relaxed(&x) == 2)
            store_relaxed(&z, 1);
    }
}

static void deep_check(void) {
    if (z == 1)
        interleave_fail("seen");
}

// Right in every order of whole steps, wrong where a store waits in its processor's buffer.
static void needs_buffers(unsigned thread) {
    store_relaxed(thread == 0 ? &x : &y, 1);
    if (load_total(thread == 0 ? &y : &x) == 0)
        __atomic_fetch_add(&z, 1, __ATOMIC_SEQ_CST);
}

static void needs_buffers_check(void) {
    if (z == 2)
        interleave_fail("both were first");
}

static void missed_in_child(unsigned thread) {
    if (thread == 0) {
        store_relaxed(&x, 1);
        store_relaxed(&y, 1);
    } else {
        interleave_kill_others();
        if (load_relaxed(&x) != load_relaxed(&y))
            interleave_fail("one without the other");
    }
}

// Lists an outcome that can't be, and leaves one out that can.
static void say_outcome(void) {
    interleave_outcome(x + y);
}

static void wrong_outcomes(unsigned thread) {
    if (load_relaxed(&x) == 0)
        store_relaxed(thread == 0 ? &x : &y, 1);
}

// --- Crashes --------------------------------------------------------------------------------------

static void wild(unsigned thread) {
    if (thread == 0)
        store_relaxed(&x, 1);
    else if (load_relaxed(&x) == 1)
        store_relaxed(nowhere, 1);
}

static void trapped(unsigned thread) {
    (void)thread;
    CHECK(load_relaxed(&x) == 0);
    store_relaxed(&x, 1);
}

static void endless(unsigned thread) {
    while (load_relaxed(&x) == 0)
        if (thread == 5)
            break;
}

#define BROKEN(function, count, at_the_end)                                                             \
    {                                                                                                   \
        .name = #function, .what = "must fail", .threads = count, .prepare = prepare, .body = function, \
        .check = at_the_end                                                                             \
    }

static const struct script scripts[] = {
    BROKEN(plain_writes, 2, NULL),
    BROKEN(two_locks, 2, NULL),
    BROKEN(relaxed_message, 2, NULL),
    BROKEN(half_atomic, 2, NULL),
    BROKEN(broken_release, 3, NULL),
    BROKEN(crossed_locks, 2, NULL),
    BROKEN(nobody_wakes, 2, NULL),
    BROKEN(lost_update, 2, lost_update_check),
    BROKEN(deep, 3, deep_check),
    BROKEN(needs_buffers, 2, needs_buffers_check),
    BROKEN(missed_in_child, 2, NULL),
    {.name = "wrong_outcomes",
     .what = "must fail",
     .threads = 2,
     .body = wrong_outcomes,
     .check = say_outcome,
     .outcomes = {.count = 2, .values = {1, 3}}},
    BROKEN(wild, 2, NULL),
    BROKEN(trapped, 2, NULL),
    BROKEN(endless, 2, NULL),
    {.name = NULL},
};

const struct module interleave_module = {.scripts = scripts};
