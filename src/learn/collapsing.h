// When groups are collapsed, and how many: within a budget of processor time (policy/budget.h), a few at once, lest the
// thread that comes by be held up for all of them. Where something is learned, after each look; where a policy file
// says so (decision collapse), as often by itself. All of it under learn_lock, but for collapsing_is_due.
#ifndef LEARN_COLLAPSING_H
#define LEARN_COLLAPSING_H

#include "base/compiler.h"

// A process begins, or a fork child.
INTERNAL void collapsing_begin_life(void);
// There may be more to collapse since a while: a hint.
INTERNAL bool collapsing_is_due(uint64_t now_ns);
// Collapses what the budget of a program allows that was busy for so long, with so much in use.
INTERNAL void collapsing_go_on(uint64_t now_ns, uint64_t busy_ns, size_t in_use_bytes);
// When it is to be tried next, if nothing is known to be left.
INTERNAL void collapsing_try_at(uint64_t ns);
INTERNAL uint64_t collapsing_spent_ns(void);
// So many groups were, in this life, that the next run has use for it, too.
INTERNAL bool collapsing_pays(void);

#endif
