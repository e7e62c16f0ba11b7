// What is compared by trying it in the running program: by tournaments, and while none is played by rules for call
// sites. Their arms hold for all sites, so both at once would tell nothing. Under learn_lock.
//
// It has two budgets, whatever it finds. What it costs in processor time, above what the same work takes without (its
// regret), is at most a part of all that the program takes, option trial_share: nothing is tried until the next turn is
// paid for, too. And each change of arm leaves free memory in two places, the heap's and the cache's of mappings, and
// faults in what went; nor may an arm win by memory. So the program holds hardly more in all meanwhile than the most it
// did before (decision held_most), and what was faulted in is no evidence for whoever decides how much to hold.
#ifndef LEARN_TRIALS_H
#define LEARN_TRIALS_H

#include "learn/observe.h"

// Puts what is to be tried now into *decided. True: it wants the next look soon.
INTERNAL bool trials_step(const struct observation *seen, struct snapshot *decided);
// Whether something is tried, or was a moment ago.
INTERNAL bool trials_are_on(void);
// What was faulted in again meanwhile, of what was purged, so far.
INTERNAL uint64_t trials_refaulted_bytes(void);
// What trying has cost this process so far, ns of processor time.
INTERNAL double trials_regret_ns(void);
// A fork child begins: nothing is being tried.
INTERNAL void trials_begin_life(struct snapshot *decided);

#endif
