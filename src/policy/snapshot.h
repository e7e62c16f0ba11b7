// The published decisions: one immutable snapshot, replaced as a whole, read where blocks move in bulk.
//
// P1. A wrong decision costs speed or memory, never correctness: whoever reads a value clamps it to what it can do.
// P2. A published snapshot is never changed or freed; a new one takes its place.
#ifndef POLICY_SNAPSHOT_H
#define POLICY_SNAPSHOT_H

#include "base/atomics.h"
#include "base/tuning.h"

struct snapshot {
    uint8_t depth[CLASS_COUNT]; // most free blocks that a thread's stack of the class holds
    uint8_t batch[CLASS_COUNT]; // most blocks that a refill moves
    size_t thread_bytes;        // of free blocks that one thread's stacks may hold
    size_t all_threads_bytes;   // and those of all threads together
};

SHARED const struct snapshot *snapshot_pointer;

// The snapshot in force. acquire: its content was written before it was published; pairs with snapshot_publish
ALWAYS_INLINE const struct snapshot *snapshot_now(void) {
    return load_acquire(&snapshot_pointer); // acquire: as above
}

INTERNAL void snapshot_publish(const struct snapshot *snapshot);
// The fixed defaults, for classes of the given block sizes.
INTERNAL void snapshot_default(struct snapshot *snapshot, size_t (*bytes_of_class)(unsigned class_index));

#endif
