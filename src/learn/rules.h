// Site rules: from which size on the blocks of one call are big, by UCB1 (policy/ucb.h), one call site after the other.
//
// The sites are those that ask for the most bytes (sample/callers.h). Its arms are tried
// (policy/tryout.h): the thresholds between which it matters where its blocks lie. The default is to have no rule. The
// work is the bytes that the site asked for. A site with a rule that somebody else made keeps that.
//
// All under learn_lock.
#ifndef LEARN_RULES_H
#define LEARN_RULES_H

#include "learn/observe.h"
#include "policy/policy.h"

// Ends a window where that is due, and puts the next arm in force. `big_threshold`: for calls without a rule. True: it
// goes on, and wants the next look soon. Without leave it ends with the play that was begun.
INTERNAL bool rules_step(const struct observation *seen, size_t big_threshold, enum tryout_leave leave);
// What playing has cost so far, ns of processor time.
INTERNAL double rules_regret_ns(void);
// Something else is being compared: what was being tried is taken back until the next step.
INTERNAL void rules_pause(void);
// A fork child begins: the rules stay, what they were seen to gain was counted by the parent.
INTERNAL void rules_begin_life(void);
// Notes the rules that were adopted, of a program whose learning began at start_ns, for the next one.
INTERNAL void rules_note(uint64_t start_ns);
// Adds them to what is known about the program: without learn_lock, since modules are named under the dynamic linker's,
// by whoever noted them.
INTERNAL void rules_add_noted(struct policy *policy);

#endif
