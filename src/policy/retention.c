// How much free memory to hold.
#include "policy/retention.h"

#include "base/bits.h"
#include "policy/snapshot.h"

// Free memory on which a program that does nothing is worth waking a thread for.
#define IDLE_LEAST_BYTES (8 * MIB)
#define USUAL_SHARE 4 // all but this part (1/N) of the time

static size_t most_of(size_t one, size_t other) {
    return one > other ? one : other;
}

// Follows what is in use from lows to highs.
static void note_level(struct retention *state, uint64_t now_ns, size_t bytes) {
    struct retention_rise *rise = &state->rises[state->newest];
    size_t turn = most_of(RETENTION_TURN_BYTES, bytes / RETENTION_TURN_SHARE);
    if (state->low_bytes > bytes)
        state->low_bytes = bytes;
    if (rise->high_bytes > state->low_bytes + turn && bytes > state->low_bytes + turn) { // from a fall, another rise
        state->newest = (state->newest + 1) % RETENTION_RISES;
        state->rises[state->newest] = (struct retention_rise){now_ns, state->low_bytes, bytes};
        state->low_bytes = bytes;
    } else if (bytes >= rise->high_bytes) { // it goes on
        rise->high_bytes = bytes;
        rise->end_ns = now_ns;
        state->low_bytes = bytes;
    }
}

// Whether a level came again: two rises went through it within hold_ns, the later one lately.
static bool came_again(const struct retention *state, size_t level, const struct retention_seen *seen) {
    uint64_t last_ns = 0;
    for (unsigned i = 1; i <= RETENTION_RISES; i++) { // from the oldest to the newest
        const struct retention_rise *rise = &state->rises[(state->newest + i) % RETENTION_RISES];
        if (rise->end_ns == 0 || rise->low_bytes > level || rise->high_bytes <= level)
            continue;
        if (last_ns != 0 && rise->end_ns - last_ns <= seen->hold_ns && seen->now_ns - rise->end_ns <= seen->hold_ns)
            return true;
        last_ns = rise->end_ns;
    }
    return false;
}

static void insert_sorted(size_t *sorted, unsigned count, size_t value) {
    unsigned place = count;
    for (; place > 0 && sorted[place - 1] > value; place--)
        sorted[place] = sorted[place - 1];
    sorted[place] = value;
}

// Bytes of all levels that came again; between neighbouring ends of rises all do or none.
static size_t risen_again(const struct retention *state, const struct retention_seen *seen) {
    size_t ends[2 * RETENTION_RISES], sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < RETENTION_RISES; i++) {
        insert_sorted(ends, count++, state->rises[i].low_bytes);
        insert_sorted(ends, count++, state->rises[i].high_bytes);
    }
    for (unsigned i = 1; i < count; i++)
        if (ends[i] > ends[i - 1] && came_again(state, ends[i - 1], seen))
            sum += ends[i] - ends[i - 1];
    return sum;
}

// In milliseconds.
static size_t delay_of(uint64_t hold_ns) {
    size_t most = decision_rows[DECISION_purge_delay].most, delay = hold_ns / MS_NS;
    return delay == 0 ? 1 : delay < most ? delay : most;
}

struct retention_choice retention_step(struct retention *state, const struct retention_seen *seen) {
    if (state->last.now_ns == 0) {
        state->last = *seen;
        state->rises[0] = (struct retention_rise){seen->now_ns, 0, seen->in_use_bytes};
        state->low_bytes = seen->in_use_bytes;
    }
    bool slept = seen->now_ns - state->last.now_ns > seen->hold_ns && state->last.retained_bytes >= IDLE_LEAST_BYTES;
    state->idle_turns += slept;
    note_level(state, seen->now_ns, seen->in_use_bytes);
    if (seen->refaulted_bytes > state->last.refaulted_bytes) {
        bool lately = state->refault_ns != 0 && seen->now_ns - state->refault_ns <= seen->hold_ns;
        state->refault_bytes = most_of(lately ? state->refault_bytes : 0, seen->allowance_bytes);
        state->refault_ns = seen->now_ns;
    }
    bool refaults = state->refault_ns != 0 && seen->now_ns - state->refault_ns <= seen->hold_ns;
    state->last = *seen;
    return (struct retention_choice){
        .allowance_least = most_of(risen_again(state, seen), refaults ? state->refault_bytes : 0),
        .purge_delay = state->idle_turns > 0 ? delay_of(seen->hold_ns) : 0,
    };
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

void retention_note_held(struct retention *state, uint64_t now_ns, size_t bytes) {
    if (state->held.last_ns != 0 && now_ns > state->held.last_ns)
        state->held.ns[state->held.level] += now_ns - state->held.last_ns;
    if (state->held.last_ns != 0 || bytes > 0)
        state->held.last_ns = now_ns;
    state->held.level = level_of(bytes);
}

size_t retention_usually_held(const struct retention *state) {
    uint64_t all = 0, above = 0;
    unsigned level = RETENTION_LEVELS;
    for (unsigned i = 0; i < RETENTION_LEVELS; i++)
        all += state->held.ns[i];
    while (level > 0 && above < all - all / USUAL_SHARE)
        above += state->held.ns[--level];
    return level < RETENTION_LEVELS ? level_bytes(level) : 0;
}
