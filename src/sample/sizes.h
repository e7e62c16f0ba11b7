// How many blocks of which size were asked for, inside of sampling windows (heap/sampling.c).
//
// Counts stand for what class_map tells apart: 16-byte steps to CLASS_FINE_MAX, then sixteenths of a power of two. Any
// thread adds; who learns from them takes some away again, so that what is seen now outweighs what was.
#ifndef SAMPLE_SIZES_H
#define SAMPLE_SIZES_H

#include "slab/size_class.h"

// Requests of at most CLASS_LARGE_MAX bytes seen so far, less what sizes_fade took away. Relaxed: hints.
SHARED uint32_t sizes_seen[CLASS_MAP_COUNT];

// All requests seen so far by kind, two of them a doubling: how their sizes are distributed, coarsely. Only grows.
#define SIZES_KINDS 32
SHARED uint64_t sizes_by_kind[SIZES_KINDS];

ALWAYS_INLINE unsigned sizes_kind(size_t bytes) {
    size_t steps = bytes / BLOCK_ALIGN + 1;
    unsigned doubling = bits_highest(steps);
    unsigned kind = 2 * doubling + (doubling > 0 ? (unsigned)(steps >> (doubling - 1)) & 1 : 0);
    return kind < SIZES_KINDS ? kind : SIZES_KINDS - 1;
}

// Where class_map says what serves a request of at most CLASS_LARGE_MAX bytes.
ALWAYS_INLINE unsigned sizes_entry(size_t bytes) {
    return bytes <= CLASS_FINE_MAX ? (unsigned)((bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN) : class_map_large(bytes);
}

ALWAYS_INLINE void sizes_note(size_t bytes) {
    shared_add(&sizes_seen[sizes_entry(bytes)], 1u);
    shared_add(&sizes_by_kind[sizes_kind(bytes)], (uint64_t)1);
}

// Takes half of each count away.
INTERNAL void sizes_fade(void);
// The smallest request of a kind.
INTERNAL size_t sizes_kind_least_bytes(unsigned kind);

#endif
