// Scripts whose outcomes are known: what the explorer must and must not see. The first are the litmus tests of the
// literature on memory models, whose outcomes with x86's store buffers are known too.
#include "base/atomics.h"
#include "base/compiler.h"
#include "script.h"

static uint32_t x, y;
static uint32_t seen[THREADS_MOST][2];
static uint32_t lock;
static uint32_t plain_count;

static void say_seen(void) {
    uint64_t outcome = 0;
    for (unsigned i = 0; i < THREADS_MOST; i++)
        outcome = outcome << 8 | (uint64_t)seen[i][0] << 4 | seen[i][1];
    interleave_outcome(outcome >> 16); // of the first two threads
}

static void say_seen_last(void) {
    interleave_outcome((uint64_t)seen[2][0] << 12 | seen[2][1] << 8 | seen[3][0] << 4 | seen[3][1]);
}

static void store_buffering(unsigned thread) {
    store_relaxed(thread == 0 ? &x : &y, 1);
    seen[thread][0] = load_total(thread == 0 ? &y : &x);
}

static void store_buffering_total(unsigned thread) {
    exchange_total(thread == 0 ? &x : &y, 1);
    seen[thread][0] = load_total(thread == 0 ? &y : &x);
}

// A thread sees its own store at once.
static void own_store(unsigned thread) {
    store_relaxed(thread == 0 ? &x : &y, 1);
    seen[thread][1] = load_relaxed(thread == 0 ? &x : &y);
    seen[thread][0] = load_relaxed(thread == 0 ? &y : &x);
}

static void messages(unsigned thread) {
    if (thread == 0) {
        store_relaxed(&x, 1);
        store_release(&y, 1);
    } else {
        seen[1][0] = load_acquire(&y);
        seen[1][1] = load_relaxed(&x);
    }
}

// As store buffering, where one thread alone pays for the order.
static void barrier_for_others(unsigned thread) {
    if (thread == 0) {
        store_relaxed(&x, 1);
        seen[0][0] = load_relaxed(&y);
    } else {
        exchange_total(&y, 1);
        interleave_pass(0);
        seen[1][0] = load_relaxed(&x);
    }
}

// Two writers, two readers that must not disagree on the order.
static void independent_writes(unsigned thread) {
    if (thread < 2) {
        store_relaxed(thread == 0 ? &x : &y, 1);
        return;
    }
    seen[thread][0] = load_total(thread == 2 ? &x : &y);
    seen[thread][1] = load_total(thread == 2 ? &y : &x);
}

static void lost_update(unsigned thread) {
    (void)thread;
    store_relaxed(&x, load_relaxed(&x) + 1);
}

static void no_lost_update(unsigned thread) {
    (void)thread;
    __atomic_fetch_add(&x, 1, __ATOMIC_SEQ_CST);
}

static void say_x(void) {
    interleave_outcome(x);
}

static void lock_prepare(void) {
    interleave_is_lock(&lock);
}

static void locked(unsigned thread) {
    for (int i = 0; i < 2; i++) {
        uint32_t expected = 0;
        swap_acquire(&lock, expected, 1);
        plain_count++; // the race detector looks on
        if (thread == 0 && plain_count == 1)
            seen[0][0] = 1;
        exchange_release(&lock, 0);
    }
}

static void say_plain_count(void) {
    interleave_outcome(plain_count << 4 | seen[0][0]);
}

static void sleeper(unsigned thread) {
    if (thread == 0) {
        while (load_acquire(&x) == 0)
            interleave_wait(&x, 0);
        seen[0][0] = plain_count;
    } else {
        plain_count = 7;
        store_release(&x, 1);
        interleave_wake(&x, true);
    }
}

static void say_sleeper(void) {
    interleave_outcome(seen[0][0]);
}

// Thread 1 ends the others wherever they are.
static void killed(unsigned thread) {
    if (thread == 1) {
        interleave_kill_others();
        seen[1][0] = load_relaxed(&x);
        seen[1][1] = load_relaxed(&y);
        return;
    }
    for (uint32_t i = 1; i <= 2; i++)
        store_relaxed(thread == 0 ? &x : &y, i);
}

// The killer holds a lock then: the others are never inside.
static void killed_outside(unsigned thread) {
    uint32_t expected = 0;
    if (thread == 1) {
        swap_acquire(&lock, expected, 1);
        interleave_kill_others();
        seen[1][0] = load_relaxed(&x);
        seen[1][1] = plain_count;
        return;
    }
    swap_acquire(&lock, expected, 1);
    plain_count++;
    store_relaxed(&x, 1);
    plain_count++;
    exchange_release(&lock, 0);
}

#define SAW(number, ...)                           \
    {                                              \
        .count = number, .values = { __VA_ARGS__ } \
    }
#define SCRIPT(function, prepare_function, check_function, thread_count, says, in_order, with_buffers)           \
    {                                                                                                            \
        .name = #function, .what = says, .threads = thread_count, .prepare = prepare_function, .body = function, \
        .check = check_function, .outcomes = in_order, .buffered_outcomes = with_buffers                         \
    }
// All but the two readers seeing one write each, and not the same first.
#define ORDERED                                                                                                     \
    SAW(15, 0x0000, 0x0001, 0x0010, 0x0011, 0x0100, 0x0101, 0x0110, 0x0111, 0x1000, 0x1001, 0x1011, 0x1100, 0x1101, \
        0x1110, 0x1111)
#define ANYWHERE SAW(9, 0x00, 0x01, 0x02, 0x10, 0x11, 0x12, 0x20, 0x21, 0x22)

static const struct script scripts[] = {
    SCRIPT(store_buffering, NULL, say_seen, 2, "both may read 0 where stores wait in buffers",
           SAW(3, 0x0010, 0x1000, 0x1010), SAW(4, 0x0000, 0x0010, 0x1000, 0x1010)),
    SCRIPT(store_buffering_total, NULL, say_seen, 2, "never where the stores are exchanges",
           SAW(3, 0x0010, 0x1000, 0x1010), SAW(3, 0x0010, 0x1000, 0x1010)),
    SCRIPT(own_store, NULL, say_seen, 2, "a thread sees its own store", SAW(3, 0x0111, 0x1101, 0x1111),
           SAW(4, 0x0101, 0x0111, 0x1101, 0x1111)),
    SCRIPT(barrier_for_others, NULL, say_seen, 2, "nor where one thread waits for the other's buffer",
           SAW(3, 0x0010, 0x1000, 0x1010), SAW(3, 0x0010, 0x1000, 0x1010)),
    SCRIPT(messages, NULL, say_seen, 2, "what was before a release is seen after the acquire", SAW(3, 0x00, 0x01, 0x11),
           SAW(3, 0x00, 0x01, 0x11)),
    SCRIPT(independent_writes, NULL, say_seen_last, 4, "readers agree on the order of writes", ORDERED, ORDERED),
    SCRIPT(lost_update, NULL, say_x, 3, "load and store lose", SAW(3, 1, 2, 3), SAW(3, 1, 2, 3)),
    SCRIPT(no_lost_update, NULL, say_x, 3, "a read-modify-write does not", SAW(1, 3), SAW(1, 3)),
    SCRIPT(locked, lock_prepare, say_plain_count, 3, "a lock lets one in", SAW(2, 0x60, 0x61), SAW(2, 0x60, 0x61)),
    SCRIPT(sleeper, NULL, say_sleeper, 2, "who sleeps is woken", SAW(1, 7), SAW(1, 7)),
    SCRIPT(killed, NULL, say_seen, 3, "the others stop anywhere", ANYWHERE, ANYWHERE),
    SCRIPT(killed_outside, lock_prepare, say_seen, 2, "but not inside a lock that the killer has", SAW(2, 0x00, 0x12),
           SAW(2, 0x00, 0x12)),
    {.name = NULL},
};

const struct module interleave_module = {.scripts = scripts};
