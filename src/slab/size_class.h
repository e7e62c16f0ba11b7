// Size classes: 16-byte steps to 256 B, then 8 per doubling to 32 KiB, then 4 per doubling to 1 MiB; and spare ones,
// whose sizes are decided while the program runs.
//
// C1. class_map names for each size the smallest open class whose blocks hold it; its entries may be changed at any
//     time (relaxed atomic bytes), since every value they take fits. The code that reads it never changes.
// C2. Powers of two from 16 B to 1 MiB are classes and are never closed: aligned requests rely on them, and take none
//     of the spare ones.
// C3. A class that is closed serves nobody new but aligned requests; what it has comes back in its own time. A spare
//     one gets another size only when it has no slab, so that nobody has a block of it, and while no thread is inside a
//     cold path (H6 in heap/heap.h); so a row is read without synchronization.
// C4. Slabs of some classes begin at different lines of their pages (their colour), by their first slice. The
//     blocks of those classes are aligned to a line at most: requests for more alignment take none of them.
#ifndef SLAB_SIZE_CLASS_H
#define SLAB_SIZE_CLASS_H

#include "base/atomics.h"
#include "base/bits.h"
#include "base/tuning.h"

// What the cold paths need of a class.
struct size_class {
    uint32_t bytes;   // of a block; 0: a spare class without a size
    uint32_t inverse; // of the block size's odd part, modulo 2^32: exact division
    uint16_t blocks;  // in a slab
    uint8_t shift;    // trailing zeros of the block size
    uint8_t slices;   // of a slab
    uint8_t words;    // of a slab's bitmap
    uint8_t colours;  // of its slabs, less one; a power of two less one (C4)
};
SHARED struct size_class size_classes[CLASS_END];

// Sizes to CLASS_FINE_MAX are looked up in 16-byte steps; behind that in sixteenths of a power of two.
#define CLASS_MAP_FINE (CLASS_FINE_MAX / BLOCK_ALIGN + 1)
#define CLASS_MAP_COUNT (CLASS_MAP_FINE + CLASS_LARGE_DOUBLINGS * CLASS_MAP_LARGE_STEPS)
SHARED uint8_t class_map[CLASS_MAP_COUNT];

// The largest request that an entry of class_map serves.
INTERNAL size_t size_class_bytes_of_entry(unsigned entry);
// Fills the tables; before the first block.
INTERNAL void size_class_start(void);

// --- Changes: by one thread at a time, no other inside a cold path (C3) ----------------------------------------------

// The largest size that the entry of class_map holds which serves a request: what a class for it would have.
INTERNAL size_t size_class_step(size_t bytes);
// Gives a spare class a size that size_class_step returned, and opens it. The class may have had another size before,
// and must have no slab.
INTERNAL void size_class_make(unsigned class_index, size_t bytes);
// Whether a class serves requests, of its own if it is open, else by the next larger one. Powers of two stay open.
INTERNAL void size_class_open(unsigned class_index);
INTERNAL void size_class_close(unsigned class_index);
INTERNAL bool size_class_is_open(unsigned class_index);

// --- Reading ---------------------------------------------------------------------------------------------------------

// Class of a request of at most CLASS_FINE_MAX bytes.
ALWAYS_INLINE unsigned class_of_fine(size_t bytes) {
    return load_fast(&class_map[(bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN]);
}

// Where class_map says what serves a request above CLASS_FINE_MAX, up to CLASS_LARGE_MAX: by the power of two below it
// and the four bits behind.
ALWAYS_INLINE unsigned class_map_large(size_t bytes) {
    size_t last = bytes - 1;
    unsigned doubling = bits_highest(last);
    return (unsigned)CLASS_MAP_FINE + (doubling - bits_highest(CLASS_FINE_MAX)) * CLASS_MAP_LARGE_STEPS +
           (unsigned)(last >> (doubling - bits_highest(CLASS_MAP_LARGE_STEPS)) & (CLASS_MAP_LARGE_STEPS - 1));
}

ALWAYS_INLINE unsigned class_of_large(size_t bytes) {
    return load_relaxed(&class_map[class_map_large(bytes)]);
}

ALWAYS_INLINE unsigned class_of(size_t bytes) {
    return bytes <= CLASS_FINE_MAX ? class_of_fine(bytes) : class_of_large(bytes);
}

ALWAYS_INLINE size_t class_bytes(unsigned class_index) {
    return size_classes[class_index].bytes;
}

ALWAYS_INLINE bool class_is_spare(unsigned class_index) {
    return class_index >= CLASS_COUNT;
}

// Blocks above CLASS_FINE_MAX: a few of them are much memory.
ALWAYS_INLINE bool class_is_large(unsigned class_index) {
    return class_index >= CLASS_FIRST_LARGE &&
           (!class_is_spare(class_index) || class_bytes(class_index) > CLASS_FINE_MAX);
}

// Where the first block of a slab begins, behind the start of its first slice (C4).
ALWAYS_INLINE uint32_t class_first_offset(const struct size_class *row, uint32_t first_slice) {
    return (first_slice & row->colours) * CACHE_LINE_BYTES;
}

// Blocks of a class are aligned at least as those of another.
ALWAYS_INLINE bool class_is_aligned_as(unsigned class_index, unsigned other) {
    unsigned shift = size_classes[other].shift < SLICE_SHIFT ? size_classes[other].shift : SLICE_SHIFT;
    return size_classes[class_index].shift >= shift;
}

// The first class that is not spare whose blocks hold `bytes` and all start at multiples of `align` (up to a slice);
// CLASS_NONE where there is none.
INTERNAL unsigned class_of_aligned(size_t bytes, size_t align);

// Index of the block that starts `offset` bytes behind the first block of a slab of the class; a number above any index
// where none does. Dividing by an odd number is multiplying by its inverse; a remainder shows as a quotient out of
// range (Granlund and Montgomery, "Division by invariant integers using multiplication", section 9).
ALWAYS_INLINE uint32_t class_block_index(const struct size_class *row, uint32_t offset) {
    return bits_rotate_right(offset * row->inverse, row->shift);
}

#endif
