// Size classes: 16-byte steps to 256 B, then 8 per doubling to 32 KiB, then 4 per doubling to 1 MiB.
//
// C1. class_map names for each size an open class whose blocks hold it; its entries may be changed at any time (relaxed
//     atomic bytes), since every value they take fits. The code that reads it never changes.
// C2. Powers of two from 16 B to 1 MiB are classes and are never closed: aligned requests rely on them.
#ifndef SLAB_SIZE_CLASS_H
#define SLAB_SIZE_CLASS_H

#include "base/atomics.h"
#include "base/bits.h"
#include "base/tuning.h"

// What the cold paths need of a class.
struct size_class {
    uint32_t bytes;   // of a block
    uint32_t inverse; // of the block size's odd part, modulo 2^32: exact division
    uint16_t blocks;  // in a slab
    uint8_t shift;    // trailing zeros of the block size
    uint8_t slices;   // of a slab
    uint8_t words;    // of a slab's bitmap
};
SHARED struct size_class size_classes[CLASS_COUNT];

// Sizes to CLASS_FINE_MAX are looked up in 16-byte steps; behind that come the large classes themselves.
#define CLASS_MAP_FINE (CLASS_FINE_MAX / BLOCK_ALIGN + 1)
#define CLASS_MAP_COUNT (CLASS_MAP_FINE + CLASS_LARGE_DOUBLINGS * CLASS_LARGE_STEPS)
SHARED uint8_t class_map[CLASS_MAP_COUNT];

// class_bytes as a function to hand on.
INTERNAL size_t size_class_bytes(unsigned class_index);
// Fills the tables; before the first block.
INTERNAL void size_class_start(void);

// Class of a request of at most CLASS_FINE_MAX bytes.
ALWAYS_INLINE unsigned class_of_fine(size_t bytes) {
    return load_fast(&class_map[(bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN]);
}

// Class of a request above CLASS_FINE_MAX, up to CLASS_LARGE_MAX: the power of two below it and the two bits behind.
ALWAYS_INLINE unsigned class_of_large(size_t bytes) {
    size_t last = bytes - 1;
    unsigned doubling = bits_highest(last);
    unsigned index = (doubling - bits_highest(CLASS_FINE_MAX)) * CLASS_LARGE_STEPS +
                     (unsigned)(last >> (doubling - 2) & (CLASS_LARGE_STEPS - 1));
    return load_relaxed(&class_map[CLASS_MAP_FINE + index]);
}

ALWAYS_INLINE unsigned class_of(size_t bytes) {
    return bytes <= CLASS_FINE_MAX ? class_of_fine(bytes) : class_of_large(bytes);
}

ALWAYS_INLINE size_t class_bytes(unsigned class_index) {
    return size_classes[class_index].bytes;
}

// Blocks of a class are aligned at least as those of another.
ALWAYS_INLINE bool class_is_aligned_as(unsigned class_index, unsigned other) {
    unsigned shift = size_classes[other].shift < SLICE_SHIFT ? size_classes[other].shift : SLICE_SHIFT;
    return size_classes[class_index].shift >= shift;
}

// The first class whose blocks hold `bytes` and all start at multiples of `align` (up to a slice); CLASS_NONE where
// there is none.
INTERNAL unsigned class_of_aligned(size_t bytes, size_t align);

// Index of the block that starts `offset` bytes into a slab of the class; a number above any index where none does.
// Dividing by an odd number is multiplying by its inverse; a remainder shows as a quotient out of range (Granlund and
// Montgomery, "Division by invariant integers using multiplication", section 9).
ALWAYS_INLINE uint32_t class_block_index(const struct size_class *row, uint32_t offset) {
    return bits_rotate_right(offset * row->inverse, row->shift);
}

#endif
