// How many free blocks each class's stacks may hold (CAP), by measured marginal gain.
//
// A stack twice as deep runs empty and full about half as often, if the program's demand wanders as random walks do; a
// program that needs more than twice as many at a time gains nothing. So depth is doubled where what half of the
// batches cost is more than what the blocks cost in memory, and taken back where the batches did not become fewer.
// Where hardly any batch moves, depth goes down again, to the default: what is idle now may be what the program's next
// phase works with. All classes share one budget, which is doubled by the same rule: on trial, where a quarter of what
// all batches cost is more than what stacks hold by now; kept where they cost less for it, or classes that found no
// stack found one and the others moved hardly more, as a faster program does; only where as much was in use all
// the time that it was wanted. Depths are doubled along with it, and stay or go with it: without room none of them
// helped, and room helps nobody whose depth stays as it is. Where the budget is spent, so that some class gets no stack
// at all, what that costs is what each block more than by default costs too.
#ifndef POLICY_DEPTHS_H
#define POLICY_DEPTHS_H

#include "policy/snapshot.h"

enum depth_trial {
    DEPTH_IDLE,
    DEPTH_TRIED,   // doubled at the last step
    DEPTH_USELESS, // doubling did not help
    DEPTH_ALONG,   // of a class: doubled at the last step, together with the budget
};

struct depth_class {
    uint64_t batches;      // so far, at the last step
    uint64_t denied;       // and those without a stack
    uint32_t rate;         // batches per second then
    uint32_t useless_rate; // at which doubling did not help
    uint8_t trial;         // enum depth_trial
    uint8_t depth_before;  // the trial
};

// What one thread's stacks may hold: the default, doubled so many times.
struct depth_budget {
    uint64_t cost_ns;   // of all batches per second, at the last step
    uint64_t denied_ns; // and of those for lack of a stack
    uint64_t useless_cost_ns;
    uint64_t limits_ns;  // for how long it has been what limits stacks, without a break
    size_t least_in_use; // of the program's memory, in that time
    uint8_t trial;       // enum depth_trial
    uint8_t doublings;
};

struct depths {
    uint64_t last_ns;   // 0: nothing was seen yet
    uint64_t denied_ns; // that it cost per second, at the last step, that stacks were denied
    unsigned steps;
    struct depth_budget budget;
    uint64_t limited_ns; // for how long the budget was what limited stacks, or was more than by default
    uint64_t doubled_ns; // the same, times how often it was doubled
    struct depth_class classes[CLASS_END];
};

struct depths_seen {
    uint64_t now_ns;
    unsigned threads;
    size_t in_use_bytes;
    const uint64_t *batches;     // refills and flushes so far, by class
    const uint64_t *denied;      // requests and frees that found no stack, for lack of budget; NULL: none
    const uint32_t *class_bytes; // 0: no such class
    const uint8_t *defaults;     // the classes' default depths
    const uint8_t *usual;        // depths that they have whatever is decided; NULL: none
    size_t thread_bytes;         // what stacks may hold in any case
    size_t all_threads_bytes;
    size_t granted_bytes; // what stacks would hold if they were full
    size_t cached_bytes;  // what they hold by now
    size_t price;         // of a MiB held for a second, ns
};

// Changes depths, batches and budgets of the snapshot; returns how many classes changed.
INTERNAL unsigned depths_step(struct depths *state, const struct depths_seen *seen, struct snapshot *snapshot);

// Ends all trials: what they changed stays or has gone, but nothing is judged by it; the budget is the default's.
INTERNAL void depths_settle(struct depths *state);

// What a class's stacks did in a life, and how long it was.
struct depths_life {
    double moved;     // batches, times the depth in force
    double thread_ns; // of all threads together
    uint32_t bytes;   // of a block
    size_t price;     // of a MiB held for a second, ns
};

// The depth, from least to most, that had been best all the time: as deep as the next block still saves more batches
// than it costs to hold from beginning to end (the economic order quantity: Harris, "How many parts to make at once",
// 1913). The depth of the program's busiest phase is more where the others do without.
INTERNAL unsigned depths_of_life(const struct depths_life *life, unsigned least, unsigned most);

// What a depth saved all the time over another one, in nanoseconds of processor time.
INTERNAL double depths_saved_ns(const struct depths_life *life, unsigned before, unsigned depth);

// How often the budget had better be doubled all the time: as often as it was, in the mean, while it mattered. No stack
// is deeper for it at other times.
INTERNAL unsigned depths_lasting_doublings(const struct depths *state);

#endif
