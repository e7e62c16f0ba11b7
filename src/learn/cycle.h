// The life cycle in a running process: measures its windows, and says whose decisions are in force. Under learn_lock.
#ifndef LEARN_CYCLE_H
#define LEARN_CYCLE_H

#include "learn/observe.h"
#include "policy/evolution.h"
#include "policy/snapshot.h"

// Also in a fork child: with what is decided, and without what was measured before.
INTERNAL void cycle_start(uint64_t now_ns);
// A slow call took so long.
INTERNAL void cycle_note_latency(uint64_t ns);
INTERNAL bool cycle_is_due(uint64_t now_ns);
// Decisions are taken in LEARN alone, but for how much memory is held: in FROZEN too.
INTERNAL bool cycle_learns(void);
INTERNAL bool cycle_is_frozen(void);
// When its present state began.
INTERNAL uint64_t cycle_begin_ns(void);
// The state, and why it is that.
INTERNAL const struct evolution *cycle_evolution(void);
// Notes that something was decided.
INTERNAL void cycle_note_change(void);
// Ends a window.
INTERNAL void cycle_step(const struct observation *seen);
// The decisions that are to be in force: what is decided, or what was in force when LEARN began.
INTERNAL const struct snapshot *cycle_shown(void);

#endif
