// Decisions that come too late for the running program, and stand in its file for the next run: whether its heap gets
// huge pages from the first page on or once it is touched, which classes are worth having, and which big blocks get
// mappings of their own. All of it under learn_lock.
#ifndef LEARN_NEXT_RUN_H
#define LEARN_NEXT_RUN_H

#include "learn/observe.h"
#include "policy/policy.h"

// A fork child: what its parent had counts no more.
INTERNAL void next_run_begin_life(void);
// What was seen so far is in a file: evidence begins anew.
INTERNAL void next_run_forget_looks(void);
// Notes what there is now; what counts is when the program had most memory in use.
INTERNAL void next_run_note(const struct observation *seen);
// Adds them to what is learned.
INTERNAL void next_run_decide(struct policy *learned);

#endif
