// Blocks with mappings of their own.
#include "big/mapping.h"

#include "base/bits.h"
#include "base/tuning.h"
#include "region/huge.h"
#include "region/meta.h"
#include "region/runs.h"
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

static bool entry_add(const struct mapping *mapping) {
    struct mapping *leaf = leaf_make(mapping->block);
    if (leaf == NULL)
        return false;
    struct mapping *entry = entry_of(leaf, mapping->block);
    store_relaxed(&entry->start, mapping->start);
    store_relaxed(&entry->bytes, mapping->bytes);
    store_relaxed(&entry->site, mapping->site);
    store_release(&entry->block, mapping->block); // release: the rest comes first; pairs with mapping_find
    shared_add(&mapping_blocks, 1);
    shared_add(&mapping_bytes, mapping->bytes);
    return true;
}

// True for the one thread that cleared the entry's address.
static bool entry_close(const struct mapping *seen) {
    struct mapping *leaf = leaf_find(seen->block);
    uintptr_t expected = seen->block;
    return leaf != NULL &&
           swap_acquire(&entry_of(leaf, seen->block)->block, expected, 0); // acquire: one of two frees wins
}

static void count_out(const struct mapping *mapping) {
    shared_add(&mapping_blocks, -(size_t)1);
    shared_add(&mapping_bytes, -mapping->bytes);
}

static bool entry_clear(const struct mapping *seen) {
    bool cleared = entry_close(seen);
    if (cleared)
        count_out(seen);
    return cleared;
}

bool mapping_find(const void *block, struct mapping *found) {
    struct mapping *leaf = leaf_find((uintptr_t)block);
    if (leaf == NULL)
        return false;
    struct mapping *entry = entry_of(leaf, (uintptr_t)block);
    if (block == NULL || load_acquire(&entry->block) != (uintptr_t)block) // acquire: pairs with entry_add
        return false;
    *found = (struct mapping){.block = (uintptr_t)block,
                              .start = load_relaxed(&entry->start),
                              .bytes = load_relaxed(&entry->bytes),
                              .site = load_relaxed(&entry->site)};
    return true;
}

// Whole pages, and no less than a slice: at most one block starts in an entry's 64 KiB then.
static size_t mapping_round(size_t bytes) {
    return bits_align_up(bytes < SLICE_BYTES ? SLICE_BYTES : bytes, os_facts.page_bytes);
}

// Room for a block at a multiple of a power of two that is a page or more. What lies behind the block goes back; what
// lies before stays mapped and untouched, to be one mapping with it.
static bool map_aligned(size_t align, struct mapping *made) {
    size_t surplus = align - os_facts.page_bytes;
    made->start = (uintptr_t)os_map(made->bytes + surplus);
    if (made->start == 0)
        return false;
    made->block = bits_align_up(made->start, align);
    uintptr_t end = made->start + made->bytes + surplus, behind = made->block + made->bytes;
    if (end > behind)
        os_unmap((void *)behind, end - behind);
    return true;
}

// All but its end lies in huge pages, if there are any: one that begins just anywhere has up to two fewer. What lies
// before it goes back: nobody has asked for it, and the cache takes no such mapping.
static bool map_for_huge_pages(struct mapping *made) {
    if (made->bytes < GROUP_BYTES || !huge_is_wanted(HUGE_IN_BLOCK, 0) || !map_aligned(GROUP_BYTES, made))
        return false;
    if (made->block > made->start)
        os_unmap((void *)made->start, made->block - made->start);
    made->start = made->block;
    return true;
}

static void *map_block(size_t bytes, size_t align, uintptr_t site) {
    size_t page = os_facts.page_bytes;
    struct mapping made = {.bytes = bytes, .site = site};
    bool is_mapped = (align <= page && map_for_huge_pages(&made)) || map_aligned(align > page ? align : page, &made);
    if (!is_mapped)
        return NULL;
    huge_tell_block((void *)made.block, bytes);
    if (entry_add(&made))
        return (void *)made.block;
    os_unmap((void *)made.start, made.block + bytes - made.start);
    return NULL;
}

// Of what was counted by runs_try_outside.
static void *counted(void *block, size_t bytes) {
    if (block == NULL)
        runs_note_outside(-(ptrdiff_t)bytes, 0);
    return block;
}

void *mapping_make(size_t bytes, size_t align, uintptr_t site) {
    if (bytes > PTRDIFF_MAX - SLICE_BYTES - os_facts.page_bytes || align > PTRDIFF_MAX - SLICE_BYTES - bytes)
        return NULL;
    bytes = mapping_round(bytes);
    return runs_try_outside(bytes) ? counted(map_block(bytes, align, site), bytes) : NULL;
}

bool mapping_hide(const void *block, struct mapping *hidden) {
    if (!mapping_find(block, hidden) || !entry_clear(hidden)) // B1
        return false;
    runs_note_outside(-(ptrdiff_t)hidden->bytes, 0);
    return true;
}

bool mapping_keep(const struct mapping *seen) {
    return entry_close(seen);
}

void mapping_show_kept(uintptr_t block, uintptr_t site) {
    struct mapping *entry = entry_of(leaf_find(block), block);
    store_relaxed(&entry->site, site);
    store_release(&entry->block, block); // release: as in entry_add
}

void mapping_hide_kept(uintptr_t block, struct mapping *hidden) {
    const struct mapping *entry = entry_of(leaf_find(block), block);
    *hidden =
        (struct mapping){block, load_relaxed(&entry->start), load_relaxed(&entry->bytes), load_relaxed(&entry->site)};
    count_out(hidden);
    runs_note_outside(-(ptrdiff_t)hidden->bytes, 0);
}

void *mapping_show(const struct mapping *hidden) {
    if (!runs_try_outside(hidden->bytes))
        return NULL;
    return counted(entry_add(hidden) ? (void *)hidden->block : NULL, hidden->bytes);
}

bool mapping_fit(struct mapping *hidden, size_t bytes) {
    bytes = mapping_round(bytes);
    if (!os_remap_in_place((void *)hidden->block, hidden->bytes, bytes)) {
        void *place = os_map(bytes);
        if (place == NULL || !os_remap_to((void *)hidden->block, hidden->bytes, place, bytes)) {
            if (place != NULL)
                os_unmap(place, bytes);
            return false;
        }
        hidden->block = hidden->start = (uintptr_t)place;
    }
    hidden->bytes = bytes;
    return true;
}

void mapping_release(const struct mapping *hidden) {
    os_unmap((void *)hidden->start, hidden->block + hidden->bytes - hidden->start);
}

// Moves a block that can't grow where it is. The new place is had before the old one is given up.
static void *mapping_move(const struct mapping *seen, size_t bytes) {
    void *place = os_map(bytes);
    if (place == NULL || leaf_make((uintptr_t)place) == NULL || !entry_clear(seen)) { // B1
        if (place != NULL)
            os_unmap(place, bytes);
        return NULL;
    }
    if (!os_remap_to((void *)seen->block, seen->bytes, place, bytes)) {
        entry_add(seen); // its leaf exists
        os_unmap(place, bytes);
        return NULL;
    }
    if (seen->start != seen->block)
        os_unmap((void *)seen->start, seen->block - seen->start);
    const struct mapping moved = {
        .block = (uintptr_t)place, .start = (uintptr_t)place, .bytes = bytes, .site = seen->site};
    entry_add(&moved); // its leaf exists
    return place;
}

static void *resize_block(const struct mapping *seen, size_t bytes) {
    if (bytes != seen->bytes && !os_remap_in_place((void *)seen->block, seen->bytes, bytes))
        return mapping_move(seen, bytes);
    store_relaxed(&entry_of(leaf_find(seen->block), seen->block)->bytes, bytes);
    shared_add(&mapping_bytes, bytes - seen->bytes);
    return (void *)seen->block;
}

void *mapping_resize(void *block, size_t bytes) {
    struct mapping seen;
    if (bytes > PTRDIFF_MAX - os_facts.page_bytes || !mapping_find(block, &seen))
        return NULL;
    bytes = mapping_round(bytes);
    size_t more = bytes > seen.bytes ? bytes - seen.bytes : 0;
    if (more > 0)
        return runs_try_outside(more) ? counted(resize_block(&seen, bytes), more) : NULL;
    void *resized = resize_block(&seen, bytes);
    if (resized != NULL)
        runs_note_outside((ptrdiff_t)bytes - (ptrdiff_t)seen.bytes, 0);
    return resized;
}

struct mapping_totals mapping_count(void) {
    return (struct mapping_totals){load_relaxed(&mapping_blocks), load_relaxed(&mapping_bytes)};
}
