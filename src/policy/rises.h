// How what is in use goes up and down: from lows to highs, and what of it comes again.
#ifndef POLICY_RISES_H
#define POLICY_RISES_H

#include "base/compiler.h"
#include "base/tuning.h"

// Rises that are remembered; and how far what is in use must fall for another one to begin, at least and as a part
// (1/N) of it.
#define RISES_KEPT 16
#define RISES_TURN_BYTES MIB
#define RISES_TURN_SHARE 64
// What came again is held for so many times as long as it took.
#define RISES_AGAIN 4

// From a low to the next high.
struct rise {
    uint64_t end_ns; // 0: none
    size_t low_bytes;
    size_t high_bytes;
};

// All 0: nothing was seen yet.
struct rises {
    struct rise kept[RISES_KEPT];
    unsigned newest;
    size_t low_bytes;  // of the fall that goes on since the newest rise
    size_t last_bytes; // in use when it was looked at last
};

// What was in use since the last look, and is now.
struct rises_seen {
    size_t lowest_bytes;
    size_t highest_bytes;
    size_t now_bytes;
};

// By what amounts it went from the last look to this one, as far as is known: steps[0 … result).
INTERNAL unsigned rises_steps(const struct rises *state, const struct rises_seen *seen, size_t steps[3]);
// Whether another rise begins with so much in use; to be asked before rises_step.
INTERNAL bool rises_turn(const struct rises *state, size_t bytes);
INTERNAL void rises_step(struct rises *state, uint64_t now_ns, size_t bytes);
// All steps.
INTERNAL void rises_look(struct rises *state, uint64_t now_ns, const struct rises_seen *seen);

ALWAYS_INLINE const struct rise *rises_newest(const struct rises *state) {
    return &state->kept[state->newest];
}

// The rise that was so many before the newest.
ALWAYS_INLINE const struct rise *rises_before(const struct rises *state, unsigned count) {
    return &state->kept[(state->newest + RISES_KEPT - count) % RISES_KEPT];
}

// What came, went and came again within hold_ns, and is held for that: for some times as long as it took to come and
// idle_ns more, and hold_ns at most. Returns the bytes of all such levels together; *top_bytes: the highest of them, in
// bytes in use. Between neighbouring ends of rises all do or none.
INTERNAL size_t rises_again(const struct rises *state, uint64_t now_ns, uint64_t hold_ns, uint64_t idle_ns,
                            size_t *top_bytes);

#endif
