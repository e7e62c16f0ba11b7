// Blocks with mappings of their own.
#include "big/mapping.h"

#include "base/bits.h"
#include "base/tuning.h"
#include "region/huge.h"
#include "region/meta.h"
#include "sys/os.h"

INTERNAL struct lock mapping_lock = LOCK_INIT(big);

#define MAPPING_ADDRESS_BITS 47 // what the kernel hands out unasked on x86-64 and 48-bit aarch64
#define MAPPING_LEAF_BITS 15
#define MAPPING_ROOT_BITS (MAPPING_ADDRESS_BITS - SLICE_SHIFT - MAPPING_LEAF_BITS)

static struct mapping **mapping_root; // 2^MAPPING_ROOT_BITS leaves, made when first needed
static size_t mapping_blocks;
static size_t mapping_bytes;

// A table as large as a root or a leaf, zeroed and touched only where used.
static void *table_make(size_t bytes) {
    return meta_take(bytes, os_facts.page_bytes);
}

// The leaf that an address belongs to; NULL where it does not exist, or could not be made.
static struct mapping *leaf_find(uintptr_t address) {
    struct mapping **root = load_acquire(&mapping_root); // acquire: pairs with leaf_make
    if (root == NULL || address >> MAPPING_ADDRESS_BITS != 0)
        return NULL;
    return load_acquire(&root[address >> (SLICE_SHIFT + MAPPING_LEAF_BITS)]); // acquire: pairs with leaf_make
}

static struct mapping *leaf_make(uintptr_t address) {
    struct mapping *leaf = leaf_find(address);
    if (leaf != NULL || address >> MAPPING_ADDRESS_BITS != 0)
        return leaf;
    // Two threads may both make one; the one that comes second loses its table, which costs address space alone.
    void *root = load_relaxed(&mapping_root) == NULL ? table_make(sizeof(struct mapping *) << MAPPING_ROOT_BITS) : NULL;
    void *table = table_make(sizeof(struct mapping) << MAPPING_LEAF_BITS);
    lock_acquire(&mapping_lock);
    if (mapping_root == NULL && root != NULL)
        store_release(&mapping_root, root); // release: zeroed before it is seen; pairs with leaf_find
    struct mapping **place = NULL;
    if (mapping_root != NULL)
        place = &mapping_root[address >> (SLICE_SHIFT + MAPPING_LEAF_BITS)];
    if (place != NULL && *place == NULL && table != NULL)
        store_release(place, table); // release: as above
    leaf = place == NULL ? NULL : *place;
    lock_release(&mapping_lock);
    return leaf;
}

static struct mapping *entry_of(struct mapping *leaf, uintptr_t address) {
    return &leaf[address >> SLICE_SHIFT & (((uintptr_t)1 << MAPPING_LEAF_BITS) - 1)];
}

static bool entry_add(uintptr_t block, uintptr_t start, size_t bytes) {
    struct mapping *leaf = leaf_make(block);
    if (leaf == NULL)
        return false;
    struct mapping *entry = entry_of(leaf, block);
    store_relaxed(&entry->start, start);
    store_relaxed(&entry->bytes, bytes);
    store_release(&entry->block, block); // release: the rest comes first; pairs with mapping_find
    shared_add(&mapping_blocks, 1);
    shared_add(&mapping_bytes, bytes);
    return true;
}

// True for the one thread that cleared the entry.
static bool entry_clear(uintptr_t block, const struct mapping *seen) {
    struct mapping *leaf = leaf_find(block);
    uintptr_t expected = block;
    if (leaf == NULL || !swap_acquire(&entry_of(leaf, block)->block, expected, 0)) // acquire: one of two frees wins
        return false;
    shared_add(&mapping_blocks, -(size_t)1);
    shared_add(&mapping_bytes, -seen->bytes);
    return true;
}

bool mapping_find(const void *block, struct mapping *found) {
    struct mapping *leaf = leaf_find((uintptr_t)block);
    if (leaf == NULL)
        return false;
    struct mapping *entry = entry_of(leaf, (uintptr_t)block);
    if (block == NULL || load_acquire(&entry->block) != (uintptr_t)block) // acquire: pairs with entry_add
        return false;
    *found = (struct mapping){(uintptr_t)block, load_relaxed(&entry->start), load_relaxed(&entry->bytes)};
    return true;
}

// Whole pages, and no less than a slice: at most one block starts in an entry's 64 KiB then.
static size_t mapping_round(size_t bytes) {
    return bits_align_up(bytes < SLICE_BYTES ? SLICE_BYTES : bytes, os_facts.page_bytes);
}

void *mapping_make(size_t bytes, size_t align) {
    size_t page = os_facts.page_bytes;
    size_t surplus = align > page ? align - page : 0;
    if (bytes > PTRDIFF_MAX - surplus - SLICE_BYTES - page)
        return NULL;
    bytes = mapping_round(bytes);
    void *memory = os_map(bytes + surplus);
    if (memory == NULL)
        return NULL;
    uintptr_t start = (uintptr_t)memory;
    uintptr_t block = bits_align_up(start, align > page ? align : page);
    // What lies behind the block goes back; what lies before stays mapped and untouched, to be one mapping with it.
    uintptr_t end = start + bytes + surplus;
    if (end > block + bytes)
        os_unmap((void *)(block + bytes), end - block - bytes);
    huge_tell_block((void *)block, bytes);
    if (entry_add(block, start, bytes))
        return (void *)block;
    os_unmap(memory, block + bytes - start);
    return NULL;
}

bool mapping_end(void *block) {
    struct mapping seen;
    if (!mapping_find(block, &seen) || !entry_clear(seen.block, &seen)) // B1
        return false;
    os_unmap((void *)seen.start, seen.block + seen.bytes - seen.start);
    return true;
}

// Moves a block that can't grow where it is. The new place is had before the old one is given up.
static void *mapping_move(const struct mapping *seen, size_t bytes) {
    void *place = os_map(bytes);
    if (place == NULL || leaf_make((uintptr_t)place) == NULL || !entry_clear(seen->block, seen)) { // B1
        if (place != NULL)
            os_unmap(place, bytes);
        return NULL;
    }
    if (!os_remap_to((void *)seen->block, seen->bytes, place, bytes)) {
        entry_add(seen->block, seen->start, seen->bytes); // its leaf exists
        os_unmap(place, bytes);
        return NULL;
    }
    if (seen->start != seen->block)
        os_unmap((void *)seen->start, seen->block - seen->start);
    entry_add((uintptr_t)place, (uintptr_t)place, bytes); // its leaf exists
    return place;
}

void *mapping_resize(void *block, size_t bytes) {
    struct mapping seen;
    if (bytes > PTRDIFF_MAX - os_facts.page_bytes || !mapping_find(block, &seen))
        return NULL;
    bytes = mapping_round(bytes);
    if (bytes != seen.bytes && !os_remap_in_place(block, seen.bytes, bytes))
        return mapping_move(&seen, bytes);
    store_relaxed(&entry_of(leaf_find(seen.block), seen.block)->bytes, bytes);
    shared_add(&mapping_bytes, bytes - seen.bytes);
    return block;
}

struct mapping_totals mapping_count(void) {
    return (struct mapping_totals){load_relaxed(&mapping_blocks), load_relaxed(&mapping_bytes)};
}
