// A policy of what is held, in invented programs and time.
#ifndef HAKMEM_TESTS_RETAINING_H
#define HAKMEM_TESTS_RETAINING_H

#include "unit/unit.h"

#include "policy/retention.h"
#include "policy/snapshot.h"

#define PRICE 20000 // so that holding costs as much as faulting in after about ten seconds
#define RETENTION_NS retention_ns(&page, PRICE)

static const struct cost_page page = COST_PAGE_DEFAULT;
static struct retention state_now;
static struct retention_seen seen;
static struct retention_choice choice;

UNUSED static int begin(void **state) {
    (void)state;
    memset(&state_now, 0, sizeof state_now);
    memset(&seen, 0, sizeof seen);
    seen.now_ns = 1000 * SECOND_NS;
    seen.worth_ns = seen.hold_ns = RETENTION_NS;
    seen.busy_ns = 1;
    return 0;
}

UNUSED static size_t look(uint64_t after_ns, size_t in_use_bytes) {
    seen.now_ns += after_ns;
    seen.in_use = (struct rises_seen){in_use_bytes, in_use_bytes, in_use_bytes};
    choice = retention_step(&state_now, &seen);
    return choice.allowance_least;
}

// From what is in use to another amount, over so long, with a look at each part of the way.
UNUSED static size_t go(uint64_t over_ns, size_t in_use_bytes) {
    size_t from = seen.in_use.now_bytes, looks = 64;
    for (size_t i = 1; i < looks; i++)
        look(over_ns / looks, from + in_use_bytes / looks * i - from / looks * i);
    return look(over_ns / looks, in_use_bytes);
}

// Up and down again in 20 milliseconds.
UNUSED static void burst(size_t low, size_t high) {
    go(10 * MS_NS, high);
    go(10 * MS_NS, low);
}

#endif
