// What a page costs that goes back to the system and comes again: measured where the program runs. Machines differ by
// two to three times (docs/decisions/0030), and how long memory is worth holding follows from it.
#ifndef LEARN_PROBE_H
#define LEARN_PROBE_H

#include "policy/cost.h"

// Measures once more, in a few pages of its own: some 50 to 100 microseconds. Under learn_lock, as the next one.
INTERNAL void probe_measure(void);
// The middle one of the last measurements; the defaults before there is one, and where memory can't be purged.
INTERNAL struct cost_page probe_cost(void);

#endif
