// When a group whose small pages are all touched gets a huge page.
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
    uint64_t cost_ns; // of a group, as it was of late
};

INTERNAL void budget_start(struct budget *budget);
// How many groups may be collapsed now, after so much time in all.
INTERNAL unsigned budget_due(const struct budget *budget, uint64_t elapsed_ns, size_t in_use_bytes);
// One was, or there was none and the search took so long.
INTERNAL void budget_note(struct budget *budget, uint64_t took_ns, unsigned groups);

#endif
