// Names for the world's addresses, so that a person can follow a trace.
#include <stdio.h>

#include "world.h"

static bool within(uintptr_t address, const void *start, size_t size, uintptr_t *offset) {
    *offset = address - (uintptr_t)start;
    return address >= (uintptr_t)start && *offset < size;
}

static const char *name_of_slab_field(size_t offset) {
    return offset < offsetof(struct slab, first_slice) ? "state"
           : offset == offsetof(struct slab, carved)   ? "carved"
           : offset >= offsetof(struct slab, bits)     ? "bits"
           : offset >= offsetof(struct slab, holder)   ? "holder"
           : offset >= offsetof(struct slab, link)     ? "link"
                                                       : "slice, class";
}

static bool name_depot(uintptr_t address, char *text, size_t bytes) {
    uintptr_t offset;
    if (!within(address, depots, sizeof depots, &offset))
        return false;
    size_t in_depot = offset % sizeof depots[0];
    snprintf(text, bytes, "depot %zu %s", (size_t)(offset / sizeof depots[0]),
             in_depot < offsetof(struct depot, slabs)    ? "lock"
             : in_depot < offsetof(struct depot, listed) ? "slabs"
                                                         : "lists");
    return true;
}

static bool name_heap(uintptr_t address, char *text, size_t bytes) {
    uintptr_t offset;
    for (unsigned i = 0; i < THREADS_MOST; i++) {
        if (world_heap(i) == NULL || !within(address, world_heap(i), sizeof(struct heap), &offset))
            continue;
        bool gate = offset == offsetof(struct heap, gate);
        snprintf(text, bytes, gate ? "heap %u gate" : "heap %u + %zu", i, (size_t)offset);
        return true;
    }
    return false;
}

bool world_name(uintptr_t address, char *text, size_t bytes) {
    size_t pool_bytes;
    const char *pool = world_pool(&pool_bytes);
    uintptr_t offset;
    if (name_depot(address, text, bytes) || name_heap(address, text, bytes))
        return true;
    if (within(address, window.info, WORLD_SLICES * sizeof(uintptr_t), &offset))
        snprintf(text, bytes, "info of slice %zu", (size_t)offset / sizeof(uintptr_t));
    else if (within(address, window.views, (size_t)WORLD_SLICES * TAG_COUNT, &offset))
        snprintf(text, bytes, "view of slice %zu", (size_t)offset / TAG_COUNT);
    else if (within(address, pool, pool_bytes, &offset)) // descriptors of the world are 64 bytes each
        snprintf(text, bytes, "descriptor %zu %s", (size_t)offset / 64, name_of_slab_field(offset % 64));
    else
        return false;
    return true;
}
