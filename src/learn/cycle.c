// The life cycle in a running process.
#include "learn/cycle.h"

#include <string.h>

#include "learn/decide.h"
#include "policy/quantile.h"
#include "sample/sizes.h"

#define P99 0.99

static struct {
    struct evolution evolution;
    struct quantile latency;     // of slow calls in this window, and in those before that had too few
    struct observation last;     // at its beginning
    uint64_t kinds[SIZES_KINDS]; // of requests, when they were enough last
    struct snapshot frozen;      // in force when LEARN began
    bool shows_frozen;
    bool has_changed; // in this window
    bool is_new;      // since LEARN began
} cycle;
_Static_assert(SIZES_KINDS == EVOLUTION_SIZES, "compared one by one");

void cycle_note_latency(uint64_t ns) {
    quantile_add(&cycle.latency, (double)ns);
}

bool cycle_is_due(uint64_t now_ns) {
    return evolution_is_due(&cycle.evolution, now_ns);
}

bool cycle_learns(void) {
    return cycle.evolution.state == EVOLUTION_LEARN;
}

bool cycle_is_frozen(void) {
    return cycle.evolution.state == EVOLUTION_FROZEN;
}

uint64_t cycle_begin_ns(void) {
    return cycle.evolution.begin_ns;
}

const struct evolution *cycle_evolution(void) {
    return &cycle.evolution;
}

void cycle_note_change(void) {
    cycle.has_changed = true;
    cycle.is_new = true;
}

// What was seen since the beginning; where that is too little it goes on.
static void take_sizes(struct evolution_window *past) {
    uint64_t all = 0;
    for (unsigned i = 0; i < SIZES_KINDS; i++) {
        past->sizes[i] = (uint32_t)(load_relaxed(&sizes_by_kind[i]) - cycle.kinds[i]); // hints
        all += past->sizes[i];
    }
    for (unsigned i = 0; i < SIZES_KINDS && all >= EVOLUTION_LEAST_SEEN; i++)
        cycle.kinds[i] += past->sizes[i];
}

static double take_p99(void) {
    if (cycle.latency.count < EVOLUTION_LEAST_SEEN)
        return 0;
    double p99_ns = quantile_value(&cycle.latency);
    quantile_start(&cycle.latency, P99);
    return p99_ns;
}

// What was seen until now says nothing about the state that begins.
static void begin_to_count(void) {
    for (unsigned i = 0; i < SIZES_KINDS; i++)
        cycle.kinds[i] = load_relaxed(&sizes_by_kind[i]); // hints
    quantile_start(&cycle.latency, P99);
}

void cycle_start(uint64_t now_ns) {
    memset(&cycle, 0, sizeof cycle);
    evolution_start(&cycle.evolution, now_ns);
    cycle.frozen = decided;
    begin_to_count();
}

// Classes stay as they are in every window: blocks of one that closes would stand beside those of the next. So does the
// helper thread's delay: what it gave back in one window would have to be faulted in again in the next.
static void keep_common(void) {
    cycle.frozen.purge_delay = decided.purge_delay;
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++) {
        cycle.frozen.spare_bytes[i] = decided.spare_bytes[i];
        cycle.frozen.depth[CLASS_COUNT + i] = decided.depth[CLASS_COUNT + i];
        cycle.frozen.batch[CLASS_COUNT + i] = decided.batch[CLASS_COUNT + i];
    }
}

static void act(enum evolution_act what) {
    keep_common();
    switch (what) {
    case EVOLUTION_GO_ON:
        return;
    case EVOLUTION_SHOW_OLD:
        cycle.shows_frozen = true;
        return;
    case EVOLUTION_SHOW_NEW:
        cycle.shows_frozen = false;
        return;
    case EVOLUTION_KEEP_OLD:
        decide_give_up(&cycle.frozen);
        break;
    case EVOLUTION_KEEP_NEW:
        break;
    case EVOLUTION_LEARN_ANEW:
        decide_anew();
        break;
    }
    cycle.frozen = decided;
    cycle.shows_frozen = false;
    cycle.is_new = false;
}

void cycle_step(const struct observation *seen) {
    struct evolution_window past = {
        .now_ns = seen->now_ns,
        .p99_ns = take_p99(),
        .cost = cycle.last.now_ns != 0 ? observed_cost(seen, &cycle.last) : 0,
        .has_changed = cycle.has_changed,
        .is_new = cycle.is_new,
    };
    uint64_t begin_ns = cycle.evolution.begin_ns;
    take_sizes(&past);
    act(evolution_step(&cycle.evolution, &past));
    if (cycle.evolution.begin_ns != begin_ns)
        begin_to_count();
    cycle.has_changed = false;
    cycle.last = *seen;
}

const struct snapshot *cycle_shown(void) {
    return cycle.shows_frozen ? &cycle.frozen : &decided;
}
