// The default decisions, and their publication.
#include "policy/snapshot.h"

// Never dereferenced before the first publication: threads have no heap until then.
INTERNAL const struct snapshot *snapshot_pointer;

void snapshot_publish(const struct snapshot *snapshot) {
    store_release(&snapshot_pointer, snapshot); // release: pairs with snapshot_now
}

void snapshot_default(struct snapshot *snapshot, size_t (*bytes_of_class)(unsigned class_index)) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        bool large = i >= CLASS_FIRST_LARGE;
        size_t depth = (large ? STACK_LARGE_CLASS_BYTES : STACK_CLASS_BYTES) / bytes_of_class(i);
        size_t least = large ? 1 : STACK_FINE_LEAST_DEPTH;
        depth = depth < least ? least : depth > STACK_MAX_DEPTH ? STACK_MAX_DEPTH : depth;
        snapshot->depth[i] = (uint8_t)depth;
        snapshot->batch[i] = (uint8_t)((depth + 1) / 2);
    }
    snapshot->thread_bytes = STACK_THREAD_BYTES;
    snapshot->all_threads_bytes = STACK_ALL_THREADS_BYTES;
}
