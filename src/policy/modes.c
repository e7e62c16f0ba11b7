// The named sets of decisions.
#include "policy/modes.h"

// All rows under one numbering: modes, then profiles behind them.
enum set {
#define MODE(name, learns, what) SET_##name,
#define PROFILE(name, what) SET_##name,
#define SETS(set, decision, value)
#include "policy/modes.def"
#undef MODE
#undef PROFILE
#undef SETS
    SET_COUNT
};
_Static_assert((int)SET_COUNT == (int)MODE_COUNT + (int)PROFILE_COUNT, "a set is a mode or a profile");

static const struct {
    enum set set;
    enum decision decision;
    size_t value;
} set_rows[] = {
#define MODE(name, learns, what)
#define PROFILE(name, what)
#define SETS(set, decision, value) {SET_##set, DECISION_##decision, (value)},
#include "policy/modes.def"
#undef MODE
#undef PROFILE
#undef SETS
};

static const enum learning mode_learns[] = {
#define MODE(name, learns, what) learns,
#define PROFILE(name, what)
#define SETS(set, decision, value)
#include "policy/modes.def"
#undef MODE
#undef PROFILE
#undef SETS
};

static void set_apply(enum set set, struct snapshot *snapshot) {
    for (size_t i = 0; i < COUNT_OF(set_rows); i++)
        if (set_rows[i].set == set)
            *snapshot_field(snapshot, set_rows[i].decision) = set_rows[i].value;
}

enum learning mode_learning(enum mode mode) {
    return mode_learns[mode];
}

void mode_apply(enum mode mode, struct snapshot *snapshot) {
    set_apply((enum set)mode, snapshot);
}

void profile_apply(enum profile profile, struct snapshot *snapshot) {
    set_apply((enum set)((unsigned)MODE_COUNT + (unsigned)profile), snapshot);
}
