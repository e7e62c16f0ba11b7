// The counts by size.
#include "sample/sizes.h"

INTERNAL uint32_t sizes_seen[CLASS_MAP_COUNT];
INTERNAL uint64_t sizes_by_kind[SIZES_KINDS];

void sizes_fade(void) {
    for (unsigned i = 0; i < CLASS_MAP_COUNT; i++) {
        uint32_t seen = load_relaxed(&sizes_seen[i]);
        if (seen > 0)
            shared_add(&sizes_seen[i], -(seen - seen / 2)); // others add meanwhile
    }
}

size_t sizes_kind_least_bytes(unsigned kind) {
    unsigned doubling = kind / 2;
    size_t steps = (size_t)1 << doubling;
    return (steps + kind % 2 * (steps / 2) - 1) * BLOCK_ALIGN;
}
