// The named sets of decisions.
#ifndef POLICY_MODES_H
#define POLICY_MODES_H

#include "policy/snapshot.h"

enum learning {
    LEARN_NOTHING,
    LEARN_LIFE_CYCLE,
    LEARN_ALWAYS,
};

enum mode {
#define MODE(name, learns, what) MODE_##name,
#define PROFILE(name, what)
#define SETS(set, decision, value)
#include "policy/modes.def"
#undef MODE
#undef PROFILE
    MODE_COUNT
};

enum profile {
#define MODE(name, learns, what)
#define PROFILE(name, what) PROFILE_##name,
#include "policy/modes.def"
#undef MODE
#undef PROFILE
#undef SETS
    PROFILE_COUNT
};

INTERNAL enum learning mode_learning(enum mode mode);
INTERNAL void mode_apply(enum mode mode, struct snapshot *snapshot);
INTERNAL void profile_apply(enum profile profile, struct snapshot *snapshot);

#endif
