// What learning may cost: when the next look may be, when something may be tried, and when a group whose small pages
// are all touched becomes huge.
//
// Looks wait until they are a small part of the processor time that the program took: one that sleeps pays by what it
// does, not by how long it is there.
//
// Collapsing copies the group and holds up page faults meanwhile. What it gains, fewer misses of the translation caches
// for as long as the group is used, can't be counted; so it is done within a budget: a heap that lasts is collapsed
// sooner or later, a program that ends soon pays next to nothing. A small heap is in reach of the caches as it is.
#ifndef POLICY_BUDGET_H
#define POLICY_BUDGET_H

#include "base/compiler.h"
#include "base/tuning.h"

struct budget {
    uint64_t spent_ns;
    uint64_t cost_ns; // of one turn, whose most is a wait for the kernel's caches: as it was of late
};

// How long to wait for the next look after so much was spent in looks, by a program that was busy for so long: 0 where
// that is no more than its part.
INTERNAL uint64_t budget_debt_ns(uint64_t spent_ns, uint64_t busy_ns);
// What the next look will cost, ns, after one that took so long, of which so much it did once: one that takes longer
// than those before may just have had to wait for a processor.
INTERNAL uint64_t budget_look_ns(uint64_t before_ns, uint64_t took_ns, uint64_t once_ns);
// How many slow calls a thread goes on without a look at the clock, after so many that took so long.
INTERNAL unsigned budget_turns(unsigned turns, uint64_t took_ns);
// Whether more may be tried, where all of it will have cost so much, and the program was busy for so long, of which it
// may take a part (1/share).
INTERNAL bool budget_may_try(double regret_ns, uint64_t busy_ns, size_t share);
INTERNAL void budget_start(struct budget *budget);
// How many groups may be collapsed now, 0 or COLLAPSE_MOST_GROUPS, after the program was busy for so long.
INTERNAL unsigned budget_due(const struct budget *budget, uint64_t busy_ns, size_t in_use_bytes);
// So many were, or there were none and the search took so long.
INTERNAL void budget_note(struct budget *budget, uint64_t took_ns, unsigned groups);

#endif
