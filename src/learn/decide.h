// Asks the policy what it makes of what was observed. All of it under learn_lock, but for what is said.
#ifndef LEARN_DECIDE_H
#define LEARN_DECIDE_H

#include "learn/observe.h"
#include "policy/policy.h"

// What is decided so far, before the options have their say; put in force by learn/learn.c.
SHARED struct snapshot decided;
// What is known about the program, evidence included: read from its file, and written there.
SHARED struct policy learned;

enum decide_reach {
    DECIDE_USUAL,
    DECIDE_ALL, // also what costs much to compare
};

// `base`: the decisions to begin with.
INTERNAL void decide_start(const struct snapshot *base, enum decide_reach reach, uint64_t now_ns);
// A fork child: what was decided stays, what is counted and timed begins anew.
INTERNAL void decide_begin_life(uint64_t now_ns);
// Takes over what a policy file says of call sites: before there are looks, without locks, since modules are found
// under the dynamic linker's.
INTERNAL void decide_take_sites(void);
// And the rest of it.
INTERNAL void decide_take_policy(void);
// Changes `decided` by what was seen; true where that is worth calling a change. *soon: the next look is wanted soon.
INTERNAL bool decide_step(const struct observation *seen, bool *soon);
// The part of it that goes on in FROZEN: how much free memory is held. What was held for what a program does no more
// would stay for good.
INTERNAL void decide_hold(const struct observation *seen);
// Whether free memory that nobody took for a short while is to go (retention_idle_ns): not where options, the profile
// or mallopt say what stays.
INTERNAL bool decide_lets_idle_go(void);
// LEARN begins anew.
INTERNAL void decide_anew(void);
// At every look, of so many requests seen so far: what windows have seen of sizes long ago counts less, so that counts
// do not overflow, and a phase that begins does not begin with another one's.
INTERNAL void decide_fade_sizes(uint64_t seen);
// What was decided since is worse than this, and gone.
INTERNAL void decide_give_up(const struct snapshot *before);
// Brings `learned` up to date, for its file, and notes site rules (rules_add_noted); `decided` is what the next run is
// to begin with then.
INTERNAL void decide_note(uint64_t now_ns);
// The same while the program goes on: into *policy, and both stay as they are. What was seen so far is not counted
// again.
INTERNAL void decide_note_apart(uint64_t now_ns, struct policy *policy);

#endif
