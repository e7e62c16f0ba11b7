// How much free memory to hold.
#include "policy/retention.h"

#include <string.h>

#include "base/bits.h"
#include "policy/snapshot.h"

// Free memory on which a program that does nothing is worth waking a thread for, or a heap of several threads.
#define IDLE_LEAST_BYTES (8 * MIB)
#define AWAKE_SHARE 16 // who takes more than this part (1/N) of the time does not just wake up now and then
#define USUAL_SHARE 4  // all but this part (1/N) of the time

// Levels are 0, 1, 2, 3, 4, 6, 8, 12, 16 and so on.
static unsigned level_of(size_t bytes) {
    if (bytes < 2)
        return (unsigned)bytes;
    unsigned doubling = bits_highest(bytes);
    return 2 * doubling + (unsigned)(bytes >> (doubling - 1) & 1);
}

static size_t level_bytes(unsigned level) {
    return level < 2 ? level : (size_t)(2 + level % 2) << (level / 2 - 1);
}

// Adds what each byte between two depths of a fall gained by being held through it.
static void add_gain(double *gains, size_t from, size_t to, double gain) {
    for (unsigned level = level_of(from); level + 1 < RETENTION_LEVELS && level_bytes(level) < to; level++) {
        size_t low = most_of(level_bytes(level), from), next = level_bytes(level + 1);
        gains[level] += gain * (double)((next < to ? next : to) - low);
    }
}

// The fall before a rise, which begins at the low and ends now or never (0): each byte through which it goes lay idle
// since the last rise that went through it, and is as deep as it lies above the lowest low since then. `before`: how
// many rises ago the next earlier one was.
static void weigh_fall(const struct retention *state, double *gains, const struct rise *rise, unsigned before,
                       double back) {
    size_t reached = rise->low_bytes, lowest = rise->low_bytes;
    for (unsigned i = before; i < RISES_KEPT && reached < rise->high_bytes; i++) {
        const struct rise *past = rises_before(&state->rises, i);
        if (past->end_ns == 0)
            return;
        size_t top = past->high_bytes < rise->high_bytes ? past->high_bytes : rise->high_bytes;
        if (top > reached) {
            double held = (double)(rise->end_ns - past->end_ns) / (double)state->last.worth_ns;
            add_gain(gains, reached - lowest, top - lowest, back - held);
            reached = top;
        }
        lowest = past->low_bytes < lowest ? past->low_bytes : lowest;
    }
}

// Follows what is in use from lows to highs.
static void note_in_use(struct retention *state, const struct retention_seen *seen) {
    size_t steps[3];
    unsigned count = rises_steps(&state->rises, &seen->in_use, steps);
    for (unsigned i = 0; i < count; i++) {
        if (rises_turn(&state->rises, steps[i]))
            weigh_fall(state, state->gains, rises_newest(&state->rises), 1, 1);
        rises_step(&state->rises, seen->now_ns, steps[i]);
    }
}

// In milliseconds.
static size_t delay_of(uint64_t hold_ns) {
    size_t most = decision_rows[DECISION_purge_delay].most, delay = hold_ns / MS_NS;
    return delay == 0 ? 1 : delay < most ? delay : most;
}

// Whether a helper is worth it, which goes on where nobody looks: what is free, or of several threads all there is, is
// so much for as long as it is worth. One thread, and the C library, do without atomic instructions while they are
// alone; and a program that ends before does without a second one.
static void note_worth(struct retention *state, const struct retention_seen *seen) {
    size_t bytes = seen->retained_bytes + (seen->threads > 1 ? seen->in_use.now_bytes : 0);
    if (bytes < IDLE_LEAST_BYTES || seen->busy_ns == 0)
        state->worth_since_ns = seen->now_ns;
    else
        state->is_worth_helper |= seen->now_ns - state->worth_since_ns > seen->worth_ns;
}

// Whether the program slept, with something free: it did hardly anything for as long as that is worth, but to wake up
// now and then.
static void note_sleep(struct retention *state, const struct retention_seen *seen) {
    uint64_t elapsed_ns = seen->now_ns - state->looked.now_ns, busy_ns = seen->busy_ns - state->looked.busy_ns;
    bool knows_busy = state->looked.busy_ns != 0 && seen->busy_ns >= state->looked.busy_ns;
    if (state->sleep.from_ns == 0) {
        state->sleep.from_ns = most_of(seen->due_ns, state->looked.now_ns);
        state->sleep.busy_ns = state->looked.busy_ns;
    }
    uint64_t slept_ns = seen->now_ns > state->sleep.from_ns ? seen->now_ns - state->sleep.from_ns : 0;
    state->has_slept |= knows_busy && state->sleep.retained_bytes >= IDLE_LEAST_BYTES && slept_ns > seen->worth_ns &&
                        seen->busy_ns - state->sleep.busy_ns < slept_ns / 2;
    state->is_worth_helper |= state->has_slept;
    if (!knows_busy || busy_ns >= elapsed_ns / AWAKE_SHARE) {
        state->sleep.from_ns = 0;
        state->sleep.retained_bytes = seen->retained_bytes;
    }
    state->looked.now_ns = seen->now_ns;
    state->looked.busy_ns = seen->busy_ns;
}

struct retention_choice retention_step(struct retention *state, const struct retention_seen *seen) {
    if (state->last.now_ns == 0) {
        state->last = *seen;
        state->looked.now_ns = seen->now_ns;
        state->looked.busy_ns = seen->busy_ns;
        state->worth_since_ns = seen->now_ns;
    }
    note_worth(state, seen);
    state->sleep.retained_bytes =
        most_of(state->sleep.retained_bytes, most_of(seen->retained_bytes, seen->highest_retained_bytes));
    if (!seen->is_helpers)
        note_sleep(state, seen);
    note_in_use(state, seen);
    if (seen->refaulted_bytes > state->last.refaulted_bytes) {
        bool lately = state->refault_ns != 0 && seen->now_ns - state->refault_ns <= seen->hold_ns;
        state->refault_bytes = most_of(lately ? state->refault_bytes : 0, seen->allowance_bytes);
        state->refault_ns = seen->now_ns;
    }
    bool refaults = state->refault_ns != 0 && seen->now_ns - state->refault_ns <= seen->hold_ns;
    size_t top, risen = rises_again(&state->rises, seen->now_ns, seen->hold_ns, retention_idle_ns(seen->hold_ns), &top);
    state->last = *seen;
    return (struct retention_choice){
        .allowance_least = most_of(risen, refaults ? state->refault_bytes : 0),
        .purge_delay = state->is_worth_helper ? delay_of(seen->hold_ns) : 0,
    };
}

bool retention_idle_is_due(struct retention_idle *idle, uint64_t refaulted_bytes, uint64_t purged_bytes,
                           size_t back_bytes) {
    bool counts = idle->released_bytes >= most_of(RISES_TURN_BYTES, idle->delays > 1 ? back_bytes : 0);
    uint64_t back = refaulted_bytes - idle->refaulted_bytes, purged = purged_bytes - idle->purged_bytes;
    uint64_t others = purged > idle->released_bytes ? purged - idle->released_bytes : 0;
    if (counts && back > others && back - others >= most_of(idle->released_bytes / 2, back_bytes)) {
        idle->delays = idle->delays > 1 ? 2 * idle->delays : 2;
        idle->delays = idle->delays < RETENTION_IDLE_SHARE ? idle->delays : RETENTION_IDLE_SHARE;
    } else if (++idle->weighed < RETENTION_IDLE_SHARE) {
        return ++idle->waited >= idle->delays;
    } else if (counts) {
        idle->delays /= 2;
    }
    idle->weighed = 0;
    idle->released_bytes = 0;
    idle->refaulted_bytes = refaulted_bytes;
    idle->purged_bytes = purged_bytes;
    return ++idle->waited >= idle->delays;
}

void retention_idle_note(struct retention_idle *idle, uint64_t released_bytes) {
    idle->waited = 0;
    idle->released_bytes += released_bytes;
}

void retention_begin_life(struct retention *state, uint64_t now_ns) {
    if (state->last.now_ns != 0)
        state->last.now_ns = state->looked.now_ns = now_ns;
    state->looked.busy_ns = 0;
    state->is_worth_helper = state->has_slept = false;
    state->worth_since_ns = now_ns;
    memset(state->gains, 0, sizeof state->gains);
    memset(&state->held, 0, sizeof state->held);
}

void retention_note_held(struct retention *state, uint64_t now_ns, size_t bytes) {
    if (state->held.last_ns != 0 && now_ns > state->held.last_ns)
        state->held.ns[state->held.level] += now_ns - state->held.last_ns;
    if (state->held.last_ns != 0 || bytes > 0)
        state->held.last_ns = now_ns;
    state->held.level = level_of(bytes);
}

static size_t usually_held(const struct retention *state) {
    uint64_t all = 0, above = 0;
    unsigned level = RETENTION_LEVELS;
    for (unsigned i = 0; i < RETENTION_LEVELS; i++)
        all += state->held.ns[i];
    while (level > 0 && above < all - all / USUAL_SHARE)
        above += state->held.ns[--level];
    return level < RETENTION_LEVELS ? level_bytes(level) : 0;
}

// What it would have been best to hold all the time, by what it lay idle for and by what came again.
static size_t best_held(const struct retention *state) {
    double gains[RETENTION_LEVELS], sum = 0, best_sum = 0;
    unsigned best = 0;
    memcpy(gains, state->gains, sizeof gains);
    weigh_fall(state, gains, rises_newest(&state->rises), 1, 1);
    weigh_fall(state, gains, &(struct rise){state->last.now_ns, state->rises.low_bytes, SIZE_MAX}, 0, 0);
    for (unsigned level = 0; level + 1 < RETENTION_LEVELS; level++) {
        sum += gains[level];
        if (sum > best_sum) {
            best_sum = sum;
            best = level + 1;
        }
    }
    return level_bytes(best);
}

size_t retention_to_begin_with(const struct retention *state) {
    return most_of(usually_held(state), state->last.now_ns != 0 ? best_held(state) : 0);
}
