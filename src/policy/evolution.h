// The life cycle of what is learned: LEARN, CANARY, FROZEN, and LEARN again where the program has changed.
//
//            nothing moves any more, and something was decided        not worse than what was before
//     LEARN ---------------------------------------------------> CANARY -----------------------------> FROZEN
//       ^  \_______________ nothing was decided __________________________________________________--> |  ^
//       |                                                          | worse: what was before returns      |  |
//       |                                                          +-------------------------------------|--+
//       +--------------- p99 or the cost is worse, or other sizes are asked for -------------------------+
//
// All of it goes by windows: short ones when a state begins, two seconds at most, so that a program that runs for
// seconds and a service that runs for weeks both get through it; and short ones after one in FROZEN that was worse. In
// CANARY what was decided is in force in every other window, and the windows are compared in pairs; it takes a part of
// the run that is bounded by CANARY_PAIRS. Too few calls say nothing: whoever hands them in counts on over several
// windows until there are EVOLUTION_LEAST_SEEN.
#ifndef POLICY_EVOLUTION_H
#define POLICY_EVOLUTION_H

#include "base/compiler.h"
#include "base/tuning.h"

enum evolution_state {
    EVOLUTION_LEARN,
    EVOLUTION_CANARY,
    EVOLUTION_FROZEN,
};

// Why the state changed.
enum evolution_reason {
    EVOLUTION_BEGUN,    // LEARN: the process has
    EVOLUTION_STILL,    // nothing moved any more
    EVOLUTION_RESTLESS, // or too long: what was decided is tried as it is
    EVOLUTION_NO_WORSE, // FROZEN: what was decided is not worse than what was before
    EVOLUTION_WORSE,    // or it is, and gave way
    EVOLUTION_SLOWER,   // LEARN: the 99th percentile of slow calls is worse
    EVOLUTION_DEARER,   // or the cost is
    EVOLUTION_OTHER,    // or other sizes are asked for
    EVOLUTION_REASONS
};

// What is to be done after a window.
enum evolution_act {
    EVOLUTION_GO_ON,
    EVOLUTION_SHOW_OLD, // the next window of CANARY is one with what was before
    EVOLUTION_SHOW_NEW, // or one with what was decided
    EVOLUTION_KEEP_NEW, // FROZEN with what was decided
    EVOLUTION_KEEP_OLD, // FROZEN with what was before
    EVOLUTION_LEARN_ANEW,
};

#define EVOLUTION_SIZES 32 // kinds of sizes whose shares are compared
// Slow calls for their 99th percentile, and requests for the shares of their sizes: of fewer the one is that of a lower
// quantile, and the other is chance.
#define EVOLUTION_LEAST_SEEN 500

struct evolution_window {
    uint64_t now_ns;
    double p99_ns;                   // of slow calls; 0: too few were timed
    double cost;                     // of the window, by the one formula (policy/cost.h)
    bool has_changed;                // a decision was taken in it
    bool is_new;                     // something is decided that was not in force before
    uint32_t sizes[EVOLUTION_SIZES]; // requests seen, by kind; less than EVOLUTION_LEAST_SEEN in all: too few
};

struct evolution {
    enum evolution_state state;
    enum evolution_reason reason;    // of the state
    uint64_t begin_ns;               // of the state
    uint64_t window_ns;              // when the current window began
    unsigned windows;                // of the state
    unsigned in_all;                 // of LEARN before its present beginning, phase after phase
    unsigned stable;                 // in a row, in LEARN; or that were worse in a row, in FROZEN
    enum evolution_reason suspected; // of the last window in FROZEN that was worse
    double p99_ns;                   // to compare with: of the window before, or the highest of the first in FROZEN
    unsigned p99_windows;            // in FROZEN, in which it was known
    double first_cost;               // of the pair's first window
    double cost;                     // when it was frozen; 0: not known
    unsigned others;                 // windows with other sizes in a row, in LEARN
    unsigned pairs, wins;            // of CANARY
    double shares[EVOLUTION_SIZES];  // when the state began
    bool shares_known;
    unsigned frozen, relearned, kept_old; // how often so far
};

INTERNAL void evolution_start(struct evolution *state, uint64_t now_ns);
// Whether the last window of FROZEN was worse, or had other sizes: the next ones are short, to find out.
INTERNAL bool evolution_suspects(const struct evolution *state);
// Whether the current window has ended.
INTERNAL bool evolution_is_due(const struct evolution *state, uint64_t now_ns);
INTERNAL enum evolution_act evolution_step(struct evolution *state, const struct evolution_window *window);
// Half of the sum of differences between two distributions: 0 the same, 1 nothing in common.
INTERNAL double evolution_distance(const double *shares, const double *others);

#endif
