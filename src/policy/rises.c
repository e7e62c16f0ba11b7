// What goes up and down.
#include "policy/rises.h"

unsigned rises_steps(const struct rises *state, const struct rises_seen *seen, size_t steps[3]) {
    size_t last = state->last_bytes, now = seen->now_bytes, low = seen->lowest_bytes, high = seen->highest_bytes;
    bool is_lower = low < now && low < last;
    bool is_higher = high > now && high > last;
    bool low_first = high - now < now - low; // what is near now came last
    unsigned count = 0;
    if (is_lower && low_first)
        steps[count++] = low;
    if (is_higher)
        steps[count++] = high;
    if (is_lower && !low_first)
        steps[count++] = low;
    steps[count++] = now;
    return count;
}

bool rises_turn(const struct rises *state, size_t bytes) {
    size_t low = least_of(state->low_bytes, bytes), turn = most_of(RISES_TURN_BYTES, bytes / RISES_TURN_SHARE);
    return rises_newest(state)->high_bytes > low + turn && bytes > low + turn;
}

void rises_step(struct rises *state, uint64_t now_ns, size_t bytes) {
    struct rise *newest = &state->kept[state->newest];
    bool is_first = newest->end_ns == 0, turns = !is_first && rises_turn(state, bytes);
    state->last_bytes = bytes;
    if (is_first) {
        *newest = (struct rise){now_ns, 0, bytes};
        state->low_bytes = bytes;
    } else if (turns) {
        state->newest = (state->newest + 1) % RISES_KEPT;
        state->kept[state->newest] = (struct rise){now_ns, state->low_bytes, bytes};
        state->low_bytes = bytes;
    } else if (bytes >= newest->high_bytes) { // it goes on
        newest->high_bytes = bytes;
        newest->end_ns = now_ns;
        state->low_bytes = bytes;
    } else if (state->low_bytes > bytes) {
        state->low_bytes = bytes;
    }
}

void rises_look(struct rises *state, uint64_t now_ns, const struct rises_seen *seen) {
    size_t steps[3];
    unsigned count = rises_steps(state, seen, steps);
    for (unsigned i = 0; i < count; i++)
        rises_step(state, now_ns, steps[i]);
}

// Until when a level is held, since it came again: two rises went through it within hold_ns; 0: it did not.
static uint64_t held_until(const struct rises *state, size_t level, uint64_t hold_ns, uint64_t idle_ns) {
    uint64_t last_ns = 0, until_ns = 0;
    for (unsigned i = RISES_KEPT; i > 0; i--) { // from the oldest to the newest
        const struct rise *rise = rises_before(state, i - 1);
        if (rise->end_ns == 0 || rise->low_bytes > level || rise->high_bytes <= level)
            continue;
        uint64_t took_ns = rise->end_ns - last_ns;
        uint64_t for_ns = RISES_AGAIN * took_ns + idle_ns;
        for_ns = for_ns < hold_ns ? for_ns : hold_ns;
        if (last_ns != 0 && took_ns <= hold_ns && until_ns < rise->end_ns + for_ns)
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

size_t rises_again(const struct rises *state, uint64_t now_ns, uint64_t hold_ns, uint64_t idle_ns, size_t *top_bytes) {
    size_t ends[2 * RISES_KEPT], sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < RISES_KEPT; i++) {
        insert_sorted(ends, count++, state->kept[i].low_bytes);
        insert_sorted(ends, count++, state->kept[i].high_bytes);
    }
    *top_bytes = 0;
    for (unsigned i = 1; i < count; i++) {
        if (ends[i] == ends[i - 1] || held_until(state, ends[i - 1], hold_ns, idle_ns) < now_ns)
            continue;
        sum += ends[i] - ends[i - 1];
        *top_bytes = ends[i];
    }
    return sum;
}
