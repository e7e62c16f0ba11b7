// Computes the size classes and the geometry of their slabs.
#include "slab/size_class.h"

INTERNAL struct size_class size_classes[CLASS_COUNT];
INTERNAL uint8_t class_map[CLASS_MAP_COUNT];

_Static_assert(CLASS_COUNT <= 256, "a class must fit a slice's view");
_Static_assert(CLASS_LINEAR_COUNT *BLOCK_ALIGN == CLASS_LINEAR_MAX, "linear classes end where the doublings begin");
_Static_assert(CLASS_LINEAR_MAX << CLASS_FINE_DOUBLINGS == CLASS_FINE_MAX,
               "fine classes end where the large ones begin");
_Static_assert(CLASS_FINE_MAX << CLASS_LARGE_DOUBLINGS == CLASS_LARGE_MAX, "large classes end at their maximum");

static size_t bytes_of_class(unsigned class_index) {
    if (class_index < CLASS_FIRST + CLASS_LINEAR_COUNT)
        return (class_index - CLASS_FIRST + 1) * BLOCK_ALIGN;
    bool fine = class_index < CLASS_FIRST_LARGE;
    unsigned index = fine ? class_index - CLASS_FIRST - CLASS_LINEAR_COUNT : class_index - CLASS_FIRST_LARGE;
    unsigned steps = fine ? CLASS_FINE_STEPS : CLASS_LARGE_STEPS;
    size_t base = (fine ? CLASS_LINEAR_MAX : CLASS_FINE_MAX) << index / steps;
    return base + base / steps * (index % steps + 1);
}

// Slices of a slab: as few as hold SLAB_MIN_BLOCKS blocks and waste at most 1/16 at the end; one block each for the
// largest classes.
static unsigned slices_of_class(size_t bytes) {
    unsigned least = (unsigned)((bytes + SLICE_BYTES - 1) >> SLICE_SHIFT);
    for (unsigned slices = least; slices <= SLAB_MAX_SLICES; slices++) {
        size_t room = slices * SLICE_BYTES;
        bool enough = room / bytes >= SLAB_MIN_BLOCKS || 2 * slices > SLAB_MAX_SLICES / 2;
        if (enough && room % bytes <= room / 16)
            return slices;
    }
    return least;
}

size_t size_class_bytes(unsigned class_index) {
    return class_bytes(class_index);
}

void size_class_start(void) {
    for (unsigned class_index = CLASS_FIRST; class_index < CLASS_COUNT; class_index++) {
        size_t bytes = bytes_of_class(class_index);
        struct size_class *row = &size_classes[class_index];
        row->bytes = (uint32_t)bytes;
        row->shift = (uint8_t)bits_lowest(bytes);
        row->inverse = bits_inverse((uint32_t)(bytes >> row->shift));
        row->slices = (uint8_t)slices_of_class(bytes);
        row->blocks = (uint16_t)(row->slices * SLICE_BYTES / bytes);
        row->words = (uint8_t)((row->blocks + 63) / 64);
        CHECK(row->blocks > 0);
    }
    unsigned class_index = CLASS_FIRST;
    for (unsigned step = 0; step < CLASS_MAP_FINE; step++) {
        while (class_bytes(class_index) < step * BLOCK_ALIGN)
            class_index++;
        store_relaxed(&class_map[step], (uint8_t)class_index);
    }
    for (unsigned i = 0; i < CLASS_COUNT - CLASS_FIRST_LARGE; i++)
        store_relaxed(&class_map[CLASS_MAP_FINE + i], (uint8_t)(CLASS_FIRST_LARGE + i));
}

unsigned class_of_aligned(size_t bytes, size_t align) {
    size_t least = bytes > align ? bytes : align;
    if (least > CLASS_LARGE_MAX || align > SLICE_BYTES)
        return CLASS_NONE;
    // The next power of two ends the search (C2).
    for (unsigned class_index = class_of(least); class_index < CLASS_COUNT; class_index++)
        if ((class_bytes(class_index) & (align - 1)) == 0)
            return class_index;
    return CLASS_NONE;
}
