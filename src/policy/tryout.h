// How an arm is tried in a running program: it is in force for a window, and what the window cost is what the program
// as a whole took for its work (cost_of_work). So what the arm does to those that use the blocks is in it, and no price
// has to be known.
//
// A window counts in which the program asked for enough, that was not much longer than wanted, and once the arm has
// settled: the first ones show what changing costs, since blocks of the arm before go by and by, and what comes is
// faulted in.
//
// Trying has a price whatever it finds, its regret (Robbins, "Some aspects of the sequential design of experiments",
// 1952): the processor time above what the same work takes where nothing is tried. The way back from an arm is taken to
// cost what the way there does.
#ifndef POLICY_TRYOUT_H
#define POLICY_TRYOUT_H

#include "base/tuning.h"

#define TRYOUT_NO_ARM UINT32_MAX

enum tryout_leave { TRYOUT_MAY_NOT, TRYOUT_MAY };

// What was seen at one moment.
struct tryout_seen {
    uint64_t now_ns;
    uint64_t busy_ns;    // processor time of the process; 0: the system does not say
    uint64_t done_bytes; // that were asked for so far: the work, the same under every arm
    size_t idle_bytes;   // resident, and in no block in use
    size_t price;        // of a MiB held for a second, ns
};

struct tryout {
    struct tryout_seen last; // at the window's beginning; now_ns 0: there is none
    double pace;             // bytes a second in the first window that had enough; 0: there was none
    uint32_t arm;            // in force
    bool is_usual;           // so it is where nothing is tried
    unsigned settling;       // windows until it has settled, at most; 0: it has
    double settling_cost;    // of the last of those; 0: there was none
    double usual_ns;         // of a byte where nothing is tried; 0: not known
    double regret_ns;        // so far, of all that was tried
};

enum tryout_result {
    TRYOUT_COUNTS,
    TRYOUT_SETTLES,    // the arm has to stay for another window
    TRYOUT_COUNTS_NOT, // too little was asked for, it was too long, or the system does not say what it took
};

// Nothing is known of what will be tried; what was tried so far has cost what it has.
INTERNAL void tryout_start(struct tryout *tryout);
// The window under way is none, and something else may be in force meanwhile.
INTERNAL void tryout_break_off(struct tryout *tryout);
// Whether there is a window, and whether it has lasted long enough.
INTERNAL bool tryout_has_window(const struct tryout *tryout);
INTERNAL bool tryout_is_due(const struct tryout *tryout, uint64_t now_ns);
// Whether enough was asked for since the window began, and the system says what it took: there is something to try.
INTERNAL bool tryout_has_enough(const struct tryout *tryout, const struct tryout_seen *seen);
// A window begins in which that arm is in force; the usual one is where nothing is tried.
INTERNAL void tryout_begin_window(struct tryout *tryout, const struct tryout_seen *seen, uint32_t arm, uint32_t usual);
// It ends. *cost, where it counts: of the time in which the work of a second was done at first, in nanoseconds.
INTERNAL enum tryout_result tryout_end_window(struct tryout *tryout, const struct tryout_seen *seen, double *cost);

#endif
