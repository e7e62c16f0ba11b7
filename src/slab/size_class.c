// Computes the size classes and the geometry of their slabs, and says which of them serves a size.
#include "slab/size_class.h"

INTERNAL struct size_class size_classes[CLASS_END];
INTERNAL uint8_t class_map[CLASS_MAP_COUNT];
static bool class_is_open[CLASS_END];

_Static_assert(CLASS_END <= 256, "a class must fit a slice's view");
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

// And the other way round: the first of those classes whose blocks hold so much, whatever serves that size now.
static unsigned class_at(size_t bytes) {
    size_t last = bytes - 1;
    if (bytes <= CLASS_LINEAR_MAX)
        return CLASS_FIRST + (unsigned)(last / BLOCK_ALIGN);
    bool fine = bytes <= CLASS_FINE_MAX;
    unsigned steps = fine ? CLASS_FINE_STEPS : CLASS_LARGE_STEPS, doubling = bits_highest(last);
    unsigned doublings = doubling - bits_highest(fine ? CLASS_LINEAR_MAX : CLASS_FINE_MAX);
    unsigned step = (unsigned)(last >> (doubling - bits_highest(steps)) & (steps - 1));
    return (fine ? CLASS_FIRST + CLASS_LINEAR_COUNT : CLASS_FIRST_LARGE) + doublings * steps + step;
}

// Slices of a slab: as few as hold SLAB_MIN_BLOCKS blocks and waste at most this part (1/N) at the end; one block each
// for the largest classes.
static unsigned slices_of_class(size_t bytes, unsigned share) {
    unsigned least = (unsigned)((bytes + SLICE_BYTES - 1) >> SLICE_SHIFT);
    for (unsigned slices = least; slices <= SLAB_MAX_SLICES; slices++) {
        size_t room = slices * SLICE_BYTES;
        bool enough = room / bytes >= SLAB_MIN_BLOCKS || 2 * slices > SLAB_MAX_SLICES / 2;
        if (enough && room % bytes <= room / share)
            return slices;
    }
    return share > SLAB_WASTE_SHARE ? slices_of_class(bytes, share / 2) : least;
}

size_t size_class_bytes_of_entry(unsigned entry) {
    if (entry < CLASS_MAP_FINE)
        return entry * BLOCK_ALIGN;
    unsigned large = entry - (unsigned)CLASS_MAP_FINE;
    size_t base = CLASS_FINE_MAX << large / CLASS_MAP_LARGE_STEPS;
    return base + base / CLASS_MAP_LARGE_STEPS * (large % CLASS_MAP_LARGE_STEPS + 1);
}

size_t size_class_step(size_t bytes) {
    return size_class_bytes_of_entry(bytes <= CLASS_FINE_MAX ? (unsigned)((bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN)
                                                             : class_map_large(bytes));
}

static unsigned smallest_open(size_t bytes) {
    unsigned best = CLASS_NONE;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        if (class_is_open[i] && class_bytes(i) >= bytes && (best == CLASS_NONE || class_bytes(i) < class_bytes(best)))
            best = i;
    CHECK(best != CLASS_NONE); // C2
    return best;
}

// C1.
static void class_map_fill(void) {
    unsigned class_index = CLASS_NONE;
    for (unsigned entry = 0; entry < CLASS_MAP_COUNT; entry++) {
        if (class_index == CLASS_NONE || class_bytes(class_index) < size_class_bytes_of_entry(entry))
            class_index = smallest_open(size_class_bytes_of_entry(entry));
        if (load_relaxed(&class_map[entry]) != class_index)
            store_relaxed(&class_map[entry], (uint8_t)class_index);
    }
}

// Blocks of a few lines of all pages alone share few sets of the caches: what is left of a slab at its end is spent on
// beginning it at another line than the last (Bonwick, "The slab allocator", 1994, section 4). Not where blocks are
// whole pages, or spread by themselves.
static unsigned colours_of(const struct size_class *row) {
    size_t left = row->slices * SLICE_BYTES - (size_t)row->blocks * row->bytes;
    if (row->bytes % SLAB_PAGE_BYTES == 0 || 1u << row->shift < SLAB_COLOURED_ALIGN || left < CACHE_LINE_BYTES)
        return 0;
    unsigned colours = 1u << bits_highest(left / CACHE_LINE_BYTES);
    return colours < SLAB_MOST_COLOURS ? colours - 1 : SLAB_MOST_COLOURS - 1;
}

static void size_class_shape(struct size_class *row, size_t bytes, unsigned share) {
    row->bytes = (uint32_t)bytes;
    row->shift = (uint8_t)bits_lowest(bytes);
    row->inverse = bits_inverse((uint32_t)(bytes >> row->shift));
    row->slices = (uint8_t)slices_of_class(bytes, share);
    row->blocks = (uint16_t)(row->slices * SLICE_BYTES / bytes);
    row->words = (uint8_t)((row->blocks + 63) / 64);
    row->colours = (uint8_t)colours_of(row);
    CHECK(row->blocks > 0);
}

void size_class_start(void) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        class_is_open[i] = !class_is_spare(i);
        size_classes[i] = (struct size_class){0};
        if (class_is_open[i])
            size_class_shape(&size_classes[i], bytes_of_class(i), SLAB_WASTE_SHARE);
    }
    class_map_fill();
}

void size_class_make(unsigned class_index, size_t bytes) {
    CHECK(class_is_spare(class_index) && !class_is_open[class_index] && size_class_step(bytes) == bytes);
    size_class_shape(&size_classes[class_index], bytes, SLAB_OWN_WASTE_SHARE);
    size_class_open(class_index);
}

static unsigned class_map_entry(size_t bytes) {
    return bytes <= CLASS_FINE_MAX ? (unsigned)((bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN) : class_map_large(bytes);
}

// Gives the entries up to the class's own size, as long as `former` (a size) serves them, to another class.
static void class_map_hand_over(size_t bytes, size_t former, unsigned class_index) {
    for (unsigned entry = class_map_entry(bytes) + 1;
         entry-- > 0 && class_bytes(load_relaxed(&class_map[entry])) == former;)
        store_relaxed(&class_map[entry], (uint8_t)class_index);
}

void size_class_open(unsigned class_index) {
    size_t bytes = class_bytes(class_index), former = class_bytes(load_relaxed(&class_map[class_map_entry(bytes)]));
    CHECK(bytes > 0);
    class_is_open[class_index] = true;
    if (former > bytes)
        class_map_hand_over(bytes, former, class_index);
}

void size_class_close(unsigned class_index) {
    if (!class_is_spare(class_index) && bits_is_power_of_two(class_bytes(class_index))) // C2
        return;
    class_is_open[class_index] = false;
    class_map_hand_over(class_bytes(class_index), class_bytes(class_index), smallest_open(class_bytes(class_index)));
}

bool size_class_is_open(unsigned class_index) {
    return class_is_open[class_index];
}

unsigned class_of_aligned(size_t bytes, size_t align) {
    size_t least = bytes > align ? bytes : align;
    if (least > CLASS_LARGE_MAX || align > SLICE_BYTES)
        return CLASS_NONE;
    // Mostly the first one is it; the next power of two ends the search (C2).
    for (unsigned i = class_at((least + align - 1) & ~(align - 1)); i < CLASS_COUNT; i++)
        if ((class_bytes(i) & (align - 1)) == 0 && (align <= CACHE_LINE_BYTES || size_classes[i].colours == 0)) // C4
            return i;
    return CLASS_NONE;
}
