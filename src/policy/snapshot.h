// The published decisions: one snapshot, replaced as a whole, read where blocks move in bulk.
//
// P1. A wrong decision costs speed or memory, never correctness: whoever reads a value clamps it to what it can do.
// P2. A snapshot in force is never changed; a new one takes its place. Its memory may be used again SNAPSHOT_RING
//     publications later. Somebody who still reads it then reads a mixture of decisions, each of which was valid (P1);
//     so all fields are read and written as relaxed atomics.
#ifndef POLICY_SNAPSHOT_H
#define POLICY_SNAPSHOT_H

#include "base/atomics.h"
#include "base/tuning.h"

struct snapshot {
#define DECISION(name, initial, least, most, unit, what) size_t name;
#include "policy/decisions.def"
#undef DECISION
    uint32_t spare_bytes[CLASS_SPARE_COUNT]; // DYN: sizes for which there is a class of its own; 0: none
    uint8_t closed[CLASS_COUNT];             // W_MAX: 1 where the next larger class serves the class's requests
    uint8_t depth[CLASS_END];                // CAP: most free blocks that a thread's stack of the class holds
    uint8_t batch[CLASS_END];                // most blocks that a refill moves
};

enum decision {
#define DECISION(name, initial, least, most, unit, what) DECISION_##name,
#include "policy/decisions.def"
#undef DECISION
    DECISION_COUNT
};

struct decision_row {
    const char *name;
    const char *unit;
    const char *what;
    size_t initial;
    size_t least;
    size_t most;
    size_t offset; // in struct snapshot
};
SHARED const struct decision_row decision_rows[DECISION_COUNT];

ALWAYS_INLINE size_t *snapshot_field(struct snapshot *snapshot, enum decision decision) {
    return (size_t *)(void *)((char *)snapshot + decision_rows[decision].offset);
}

SHARED const struct snapshot *snapshot_pointer;

// The snapshot in force; before the first publication the defaults, without depths. acquire: its content was written
// before it was published; pairs with snapshot_publish
ALWAYS_INLINE const struct snapshot *snapshot_now(void) {
    return load_acquire(&snapshot_pointer); // acquire: as above
}

// One decision in force.
#define DECIDED(name) load_relaxed(&snapshot_now()->name)

INTERNAL void snapshot_publish(const struct snapshot *snapshot);
// The defaults of all decisions, without depths.
INTERNAL void snapshot_default(struct snapshot *snapshot);
// The default depth of a class of so many bytes.
INTERNAL uint32_t snapshot_usual_depth(size_t bytes);
// The default depth and batch of a class of so many bytes; 0: it has no size.
INTERNAL void snapshot_default_depth(struct snapshot *snapshot, unsigned class_index, size_t bytes);

#endif
