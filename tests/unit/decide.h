// Decisions for a test: a snapshot of its own in force.
#ifndef UNIT_DECIDE_H
#define UNIT_DECIDE_H

#include "unit/unit.h"

#include "policy/snapshot.h"

static void decide(enum decision decision, size_t value) {
    static struct snapshot decided;
    if (snapshot_now() != &decided)
        decided = *snapshot_now();
    store_relaxed(snapshot_field(&decided, decision), value); // others may read
    snapshot_publish(&decided);
}

#define DECIDE(name, value) decide(DECISION_##name, value)

#endif
