// How much free memory to hold.
#include "policy/retention.h"

#include <string.h>

#include "base/bits.h"
#include "policy/snapshot.h"

// Free memory on which a program that does nothing is worth waking a thread for.
#define IDLE_LEAST_BYTES (8 * MIB)
#define USUAL_SHARE 4 // all but this part (1/N) of the time

static size_t most_of(size_t one, size_t other) {
    return one > other ? one : other;
}

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
static void weigh_fall(const struct retention *state, double *gains, const struct retention_rise *rise, unsigned before,
                       double back) {
    size_t reached = rise->low_bytes, lowest = rise->low_bytes;
    for (unsigned i = before; i < RETENTION_RISES && reached < rise->high_bytes; i++) {
        const struct retention_rise *past = &state->rises[(state->newest + RETENTION_RISES - i) % RETENTION_RISES];
        if (past->end_ns == 0)
            return;
        size_t top = past->high_bytes < rise->high_bytes ? past->high_bytes : rise->high_bytes;
        if (top > reached) {
            double held = (double)(rise->end_ns - past->end_ns) / (double)state->last.hold_ns;
            add_gain(gains, reached - lowest, top - lowest, back - held);
            reached = top;
        }
        lowest = past->low_bytes < lowest ? past->low_bytes : lowest;
    }
}

// Follows what is in use from lows to highs.
static void note_level(struct retention *state, uint64_t now_ns, size_t bytes) {
    struct retention_rise *rise = &state->rises[state->newest];
    size_t turn = most_of(RETENTION_TURN_BYTES, bytes / RETENTION_TURN_SHARE);
    if (state->low_bytes > bytes)
        state->low_bytes = bytes;
    if (rise->high_bytes > state->low_bytes + turn && bytes > state->low_bytes + turn) { // from a fall, another rise
        weigh_fall(state, state->gains, rise, 1, 1);
        state->newest = (state->newest + 1) % RETENTION_RISES;
        state->rises[state->newest] = (struct retention_rise){now_ns, state->low_bytes, bytes};
        state->low_bytes = bytes;
    } else if (bytes >= rise->high_bytes) { // it goes on
        rise->high_bytes = bytes;
        rise->end_ns = now_ns;
        state->low_bytes = bytes;
    }
}

// Until when a level is held, since it came again: two rises went through it within hold_ns; 0: it did not. It is held
// for some times as long as it took to come, and hold_ns at most.
static uint64_t held_until(const struct retention *state, size_t level, const struct retention_seen *seen) {
    uint64_t last_ns = 0, until_ns = 0;
    for (unsigned i = 1; i <= RETENTION_RISES; i++) { // from the oldest to the newest
        const struct retention_rise *rise = &state->rises[(state->newest + i) % RETENTION_RISES];
        if (rise->end_ns == 0 || rise->low_bytes > level || rise->high_bytes <= level)
            continue;
        uint64_t took_ns = rise->end_ns - last_ns;
        uint64_t for_ns = RETENTION_AGAIN * took_ns + retention_idle_ns(seen->hold_ns);
        for_ns = for_ns < seen->hold_ns ? for_ns : seen->hold_ns;
        if (last_ns != 0 && took_ns <= seen->hold_ns && until_ns < rise->end_ns + for_ns)
            until_ns = rise->end_ns + for_ns;
        last_ns = rise->end_ns;
    }
    return until_ns;
}

static void insert_sorted(size_t *sorted, unsigned count, size_t value) {
    unsigned place = count;
    for (; place > 0 && sorted[place - 1] > value; place--)
        sorted[place] = sorted[place - 1];
    sorted[place] = value;
}

// Bytes of all levels that came again, and the highest of them, until when; between neighbouring ends of rises all do
// or none.
static size_t risen_again(const struct retention *state, const struct retention_seen *seen, size_t *top,
                          uint64_t *top_until_ns) {
    size_t ends[2 * RETENTION_RISES], sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < RETENTION_RISES; i++) {
        insert_sorted(ends, count++, state->rises[i].low_bytes);
        insert_sorted(ends, count++, state->rises[i].high_bytes);
    }
    *top = 0;
    *top_until_ns = seen->now_ns;
    for (unsigned i = 1; i < count; i++) {
        uint64_t until_ns = ends[i] > ends[i - 1] ? held_until(state, ends[i - 1], seen) : 0;
        if (until_ns < seen->now_ns)
            continue;
        sum += ends[i] - ends[i - 1];
        *top = ends[i];
        *top_until_ns = until_ns > *top_until_ns ? until_ns : *top_until_ns;
    }
    return sum;
}

// In milliseconds.
static size_t delay_of(uint64_t hold_ns) {
    size_t most = decision_rows[DECISION_purge_delay].most, delay = hold_ns / MS_NS;
    return delay == 0 ? 1 : delay < most ? delay : most;
}

// What is free, for how long.
static void note_free(struct retention *state, const struct retention_seen *seen) {
    uint64_t due_ns = seen->due_ns > state->last.now_ns ? seen->due_ns : state->last.now_ns;
    uint64_t unseen_ns = seen->now_ns > due_ns ? seen->now_ns - due_ns : 0;
    uint64_t busy_ns = seen->busy_ns - state->last.busy_ns;
    bool knows_busy = state->last.busy_ns != 0 && seen->busy_ns >= state->last.busy_ns;
    if (seen->retained_bytes < IDLE_LEAST_BYTES || !knows_busy) {
        state->retained_since_ns = seen->now_ns;
        return;
    }
    state->is_worth_helper |= seen->now_ns - state->retained_since_ns > seen->hold_ns * RETENTION_HELPER_TIMES;
    state->has_slept |= unseen_ns > seen->hold_ns && busy_ns < unseen_ns / 2;
}

struct retention_choice retention_step(struct retention *state, const struct retention_seen *seen) {
    if (state->last.now_ns == 0) {
        state->last = *seen;
        state->rises[0] = (struct retention_rise){seen->now_ns, 0, seen->in_use_bytes};
        state->low_bytes = seen->in_use_bytes;
        state->retained_since_ns = seen->now_ns;
    }
    note_free(state, seen);
    note_level(state, seen->now_ns, seen->in_use_bytes);
    if (seen->refaulted_bytes > state->last.refaulted_bytes) {
        bool lately = state->refault_ns != 0 && seen->now_ns - state->refault_ns <= seen->hold_ns;
        state->refault_bytes = most_of(lately ? state->refault_bytes : 0, seen->allowance_bytes);
        state->refault_ns = seen->now_ns;
    }
    bool refaults = state->refault_ns != 0 && seen->now_ns - state->refault_ns <= seen->hold_ns;
    uint64_t top_until_ns;
    size_t top, risen = risen_again(state, seen, &top, &top_until_ns);
    state->last = *seen;
    return (struct retention_choice){
        .allowance_least = most_of(risen, refaults ? state->refault_bytes : 0),
        .idle_top = top,
        .idle_top_ns = top_until_ns - seen->now_ns,
        .purge_delay = state->is_worth_helper ? delay_of(seen->hold_ns) : 0,
    };
}

bool retention_idle_is_due(struct retention_idle *idle, uint64_t refaulted_bytes, uint64_t purged_bytes,
                           size_t back_bytes) {
    bool counts = idle->released_bytes >= RETENTION_TURN_BYTES;
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
        state->last.now_ns = now_ns;
    state->last.busy_ns = 0;
    state->is_worth_helper = state->has_slept = false;
    state->retained_since_ns = now_ns;
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
    weigh_fall(state, gains, &state->rises[state->newest], 1, 1);
    weigh_fall(state, gains, &(struct retention_rise){state->last.now_ns, state->low_bytes, SIZE_MAX}, 0, 0);
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
