// Puts blocks back into their slabs.
//
// Programs often free in the order in which they allocated, or in reverse: neighbours in a batch are neighbours in a
// slab, and a row of them is one step (S3 allows: the blocks are all still out). What stands alone costs, with several
// threads, an atomic OR on a line that is often not in the cache: such bits are gathered in a small table keyed by
// bitmap word, and the words fetched ahead while it fills.
//
// `alone` says that the process has one thread: no atomics, no order.
#include "slab/put.h"

#include "sys/os.h"

#define PUT_ANY_CLASS CLASS_NONE

// Bits on their way into one bitmap word.
struct pending {
    uint64_t *word;
    uint64_t mask;
    struct slab *slab;
};

#define PENDING_COUNT 16 // a power of two; a batch rarely meets more words at a time

static COLD void put_report_misplaced(const void *block, const struct slab *slab, uint32_t index) {
    const struct size_class *row = &size_classes[slab->class_index];
    enum fault fault = index < row->blocks ? FAULT_invalid_pointer : FAULT_misaligned_pointer;
    if (window_slice_of(block) - slab->first_slice >= row->slices) // the table says this slab, the slab another place
        fault = FAULT_corrupted_metadata;
    fault_report(fault, block, row->bytes);
}

// Each bit of `doubled` was set already: a block freed twice.
static COLD void put_report_double(const struct slab *slab, const uint64_t *word, uint64_t doubled) {
    for (; doubled != 0; doubled &= doubled - 1) {
        uint32_t index = (uint32_t)(word - slab->bits) * 64 + bits_lowest(doubled);
        fault_report(FAULT_double_free, slab_block(slab, index), class_bytes(slab->class_index));
    }
}

// The slab of a block that the program freed; NULL after a fault. It was one of our blocks then (S1): where there is no
// slab any more, or one of another class, the block was free already and its slab has gone.
ALWAYS_INLINE struct slab *put_slab_of(const void *block, unsigned class_index) {
    struct slab *slab = slab_of_slice(window_slice_of(block));
    if (LIKELY(slab != NULL && (class_index == PUT_ANY_CLASS || slab->class_index == class_index)))
        return slab;
    fault_report(FAULT_double_free, block, class_bytes(class_index));
    return NULL;
}

ALWAYS_INLINE uint32_t put_index_of(const void *block, const struct slab *slab, const struct size_class *row) {
    uint32_t offset = (uint32_t)((uintptr_t)block - (uintptr_t)window_address(slab->first_slice));
    return class_block_index(row, offset - class_first_offset(row, slab->first_slice));
}

// A slab that is not LEASED got bits back: a FULL one is listed, a LISTED one given back if nothing is out any more.
static NOINLINE void put_settle(struct slab *slab, uint64_t now, unsigned class_index) {
    if (slab_state_of(now) == SLAB_FULL)
        depot_list_full(slab, now);
    else if (slab_state_of(now) == SLAB_LISTED && slab_is_wholly_free(slab))
        depot_reclaim(slab, now, class_index);
}

// True where `set` is all that a bitmap word can hold now; a hint.
ALWAYS_INLINE bool word_is_whole(const struct slab *slab, const uint64_t *word, uint64_t set) {
    if (LIKELY((set & (set + 1)) != 0)) // some bit is missing below the highest
        return false;
    unsigned first = (unsigned)(word - slab->bits) * 64;
    unsigned carved = load_relaxed(&slab->carved);
    return set == bits_low_mask(carved > first ? carved - first : 0);
}

// Sets bits of one word, and moves the slab on where that is due (S3, S4).
ALWAYS_INLINE void put_mask(struct slab *slab, uint64_t *word, uint64_t mask, bool alone) {
    unsigned class_index = slab->class_index; // read while the slab can't go: our blocks are still out
    uint64_t before = load_relaxed(&slab->state);
    uint64_t now = before;
    uint64_t old;
    if (alone) {
        old = load_relaxed(word);
        store_relaxed(word, old | mask);
    } else {
        // total order: S4; release: what the program did to the blocks comes before their next use. Pairs: slab_take
        old = or_total(word, mask);
        now = load_total(&slab->state); // total order: S4, pairs with slab_leased_to_full and depot_unlease
    }
    if (UNLIKELY((old & mask) != 0))
        put_report_double(slab, word, old & mask);
    if (slab_state_of(now) == SLAB_LEASED || slab_generation_of(now) != slab_generation_of(before))
        return;
    if (slab_state_of(now) == SLAB_LISTED && !word_is_whole(slab, word, old | mask))
        return;
    put_settle(slab, now, class_index);
}

// Sets the bits of neighbouring blocks, word by word.
static void put_row(struct slab *slab, uint32_t index, unsigned length, bool alone) {
    while (length > 0) {
        unsigned start = index % 64;
        unsigned count = length < 64 - start ? length : 64 - start;
        put_mask(slab, &slab->bits[index / 64], bits_low_mask(count) << start, alone);
        index += count;
        length -= count;
    }
}

// How many of the blocks from the first on follow one another in steps of `step` bytes.
ALWAYS_INLINE unsigned row_length(void *const *blocks, unsigned count, ptrdiff_t step) {
    char *next = blocks[0];
    unsigned length = 0;
    for (; length < count && blocks[length] == next; length++)
        next += step;
    return length;
}

// Puts a row of neighbours at the batch's front; returns how many blocks that were, 0 where the first stands alone.
ALWAYS_INLINE unsigned put_front_row(void *const *blocks, unsigned count, unsigned class_index, bool alone) {
    const struct size_class *row = &size_classes[class_index];
    ptrdiff_t bytes = (ptrdiff_t)row->bytes;
    ptrdiff_t step = (char *)blocks[1] - (char *)blocks[0];
    if (step != bytes && step != -bytes)
        return 0;
    unsigned length = row_length(blocks, count, step);
    struct slab *slab = put_slab_of(blocks[0], class_index);
    if (slab == NULL)
        return 1;
    uint32_t first = put_index_of(blocks[0], slab, row);
    uint32_t carved = load_relaxed(&slab->carved);
    if (first >= carved)
        return 0; // the careful path says what is wrong
    // The row ends with the slab: what follows may lie in the next one.
    unsigned room = step > 0 ? carved - first : first + 1;
    length = length < room ? length : room;
    put_row(slab, step > 0 ? first : first + 1 - length, length, alone);
    return length;
}

// One block on its own, with every check.
static NOINLINE void put_one(void *block, unsigned class_index, bool alone) {
    struct slab *slab = put_slab_of(block, class_index);
    if (slab == NULL)
        return;
    uint32_t index = put_index_of(block, slab, &size_classes[slab->class_index]);
    if (UNLIKELY(index >= load_relaxed(&slab->carved)))
        put_report_misplaced(block, slab, index);
    else
        put_mask(slab, &slab->bits[index / 64], UINT64_C(1) << (index % 64), alone);
}

// put_one where nothing has to be said or moved, which is nearly always; false: nothing was done.
ALWAYS_INLINE bool put_one_quickly(const void *block, unsigned class_index, const struct size_class *row) {
    uintptr_t offset = (uintptr_t)block - window.base;
    struct slab *slab = slab_of_slice(offset >> SLICE_SHIFT);
    if (UNLIKELY(slab == NULL || slab->class_index != class_index))
        return false;
    uint32_t first = (slab->first_slice << SLICE_SHIFT) + class_first_offset(row, slab->first_slice);
    uint32_t index = class_block_index(row, (uint32_t)offset - first);
    uint64_t *word = &slab->bits[index / 64];
    if (UNLIKELY(index >= load_relaxed(&slab->carved)))
        return false;
    uint64_t old = load_relaxed(word);
    uint64_t set = old | UINT64_C(1) << (index % 64);
    if (UNLIKELY(set == old))
        return false;
    enum slab_state state = slab_state_of(load_relaxed(&slab->state));
    // A full slab has to be listed; a listed one may be wholly free once a word has no gap.
    if (state != SLAB_LEASED && UNLIKELY(state == SLAB_FULL || (set & (set + 1)) == 0))
        return false;
    store_relaxed(word, set);
    return true;
}

// Puts a batch that has no rows at its front, block by block, up to the next row; returns how many blocks.
static unsigned put_scattered(void *const *blocks, unsigned count, unsigned class_index) {
    const struct size_class row = size_classes[class_index];
    char *previous = NULL;
    unsigned i = 0;
    for (; i < count; i++) {
        char *block = blocks[i];
        ptrdiff_t step = block - previous;
        if (UNLIKELY(step == (ptrdiff_t)row.bytes || step == -(ptrdiff_t)row.bytes))
            break;
        previous = block;
        if (UNLIKELY(!put_one_quickly(block, class_index, &row)))
            put_one(block, class_index, true);
    }
    return i;
}

static void put_alone(void *const *blocks, unsigned count, unsigned class_index) {
    for (unsigned i = 0; i < count;) {
        unsigned length = i + 1 < count ? put_front_row(blocks + i, count - i, class_index, true) : 0;
        i += length > 0 ? length : put_scattered(blocks + i, count - i, class_index);
    }
}

// Adds a block's bit to the table; what had its place goes to its slab.
static void pending_add(struct pending *table, void *block, unsigned class_index, bool alone) {
    struct slab *slab = put_slab_of(block, class_index);
    if (slab == NULL)
        return;
    uint32_t index = put_index_of(block, slab, &size_classes[slab->class_index]);
    if (UNLIKELY(index >= load_relaxed(&slab->carved))) {
        put_report_misplaced(block, slab, index);
        return;
    }
    uint64_t *word = &slab->bits[index / 64];
    uint64_t bit = UINT64_C(1) << (index % 64);
    struct pending *pending = &table[((uintptr_t)word >> 3 ^ (uintptr_t)word >> 6) % PENDING_COUNT];
    if (pending->word == word) {
        if (UNLIKELY((pending->mask & bit) != 0))
            put_report_double(slab, word, bit);
        pending->mask |= bit;
        return;
    }
    if (pending->word != NULL)
        put_mask(pending->slab, pending->word, pending->mask, alone);
    __builtin_prefetch(word, 1);
    *pending = (struct pending){word, bit, slab};
}

static void put_pending(struct pending *table, bool alone) {
    for (unsigned i = 0; i < PENDING_COUNT; i++)
        if (table[i].word != NULL)
            put_mask(table[i].slab, table[i].word, table[i].mask, alone);
}

static void put_shared(void *const *blocks, unsigned count, unsigned class_index) {
    struct pending table[PENDING_COUNT] = {0};
    for (unsigned i = 0; i < count; i++) {
        unsigned length = i + 1 < count ? put_front_row(blocks + i, count - i, class_index, false) : 0;
        if (length > 0)
            i += length - 1;
        else
            pending_add(table, blocks[i], class_index, false);
    }
    put_pending(table, false);
}

void put_blocks(void *const *blocks, unsigned count, unsigned class_index) {
    if (os_is_single_threaded())
        put_alone(blocks, count, class_index);
    else
        put_shared(blocks, count, class_index);
}

void put_mixed_blocks(void *const *blocks, unsigned count) {
    struct pending table[PENDING_COUNT] = {0};
    bool alone = os_is_single_threaded();
    for (unsigned i = 0; i < count; i++)
        pending_add(table, blocks[i], PUT_ANY_CLASS, alone);
    put_pending(table, alone);
}
