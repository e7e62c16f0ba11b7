// The default decisions, and the publication of others.
#include "policy/snapshot.h"

INTERNAL const struct decision_row decision_rows[DECISION_COUNT] = {
#define DECISION(name, initial, least, most, unit, what) \
    {#name, #unit, what, (initial), (least), (most), offsetof(struct snapshot, name)},
#include "policy/decisions.def"
#undef DECISION
};

static const struct snapshot snapshot_initial = {
#define DECISION(name, initial, least, most, unit, what) .name = (initial),
#include "policy/decisions.def"
#undef DECISION
};

INTERNAL const struct snapshot *snapshot_pointer = &snapshot_initial;

void snapshot_publish(const struct snapshot *snapshot) {
    store_release(&snapshot_pointer, snapshot); // release: pairs with snapshot_now
}

void snapshot_default(struct snapshot *snapshot) {
    *snapshot = snapshot_initial;
}

uint32_t snapshot_usual_depth(size_t bytes) {
    bool large = bytes > CLASS_FINE_MAX;
    size_t depth = bytes > 0 ? (large ? STACK_LARGE_CLASS_BYTES : STACK_CLASS_BYTES) / bytes : 0;
    size_t least = large ? 1 : STACK_FINE_LEAST_DEPTH;
    return (uint32_t)(depth < least ? least : depth > STACK_MAX_DEPTH ? STACK_MAX_DEPTH : depth);
}

void snapshot_default_depth(struct snapshot *snapshot, unsigned class_index, size_t bytes) {
    uint32_t depth = snapshot_usual_depth(bytes);
    snapshot->depth[class_index] = (uint8_t)depth;
    snapshot->batch[class_index] = (uint8_t)((depth + 1) / 2);
}
