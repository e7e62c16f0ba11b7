// Puts blocks back into their slabs.
//
// With several threads each bit costs an atomic OR on a line that is often not in the cache. So the blocks' bits are
// gathered first, in a small table keyed by bitmap word (a batch of neighbours is one OR), and the words are fetched
// ahead while the table fills.
#include "slab/put.h"

#include "sys/os.h"

// Bits on their way into one bitmap word.
struct pending {
    uint64_t *word;
    uint64_t mask;
    struct slab *slab;
};

#define PENDING_COUNT 16 // a power of two; a batch rarely meets more words at a time

// Where a block's bit is; NULL after a fault.
static struct slab *put_locate(void *block, unsigned class_index, uint32_t *index) {
    struct slab *slab = slab_of_slice(window_slice_of(block));
    if (UNLIKELY(slab == NULL || (class_index != PUT_ANY_CLASS && slab->class_index != class_index))) {
        // It was one of our blocks when the program freed it (S1), and its slab has gone since: it was free already.
        fault_report(FAULT_double_free, block, class_bytes(class_index));
        return NULL;
    }
    const struct size_class *row = &size_classes[slab->class_index];
    *index = class_block_index(row, (uint32_t)((uintptr_t)block - (uintptr_t)window_address(slab->first_slice)));
    if (LIKELY(*index < load_relaxed(&slab->carved)))
        return slab;
    fault_report(*index < row->blocks ? FAULT_invalid_pointer : FAULT_misaligned_pointer, block, row->bytes);
    return NULL;
}

// After bits were set in a slab whose state word was `before`: S3, S4. `whole`: a bitmap word became all ones.
static void put_settle(struct slab *slab, uint64_t before, bool whole, unsigned class_index, struct holder *holder) {
    uint64_t now = load_total(&slab->state); // total order: S4, pairs with slab_leased_to_full and depot_unlease
    if (LIKELY(slab_state_of(now) == SLAB_LEASED) || slab_generation_of(now) != slab_generation_of(before))
        return;
    if (slab_state_of(now) == SLAB_FULL)
        depot_list_full(slab, now, holder);
    else if (slab_state_of(now) == SLAB_LISTED && whole && slab_is_wholly_free(slab))
        depot_reclaim(slab, now, class_index, holder);
}

// A bit that was set already: each one of `doubled` is a block freed twice.
static void put_report_double(const struct slab *slab, const uint64_t *word, uint64_t doubled, unsigned class_index) {
    for (; doubled != 0; doubled &= doubled - 1) {
        uint32_t index = (uint32_t)(word - slab->bits) * 64 + bits_lowest(doubled);
        fault_report(FAULT_double_free, slab_block(slab, index), class_bytes(class_index));
    }
}

// True where `set` is all that a bitmap word can hold now.
static bool word_is_whole(const struct slab *slab, const uint64_t *word, uint64_t set) {
    unsigned first = (unsigned)(word - slab->bits) * 64;
    unsigned carved = load_relaxed(&slab->carved);
    return set == bits_low_mask(carved > first ? carved - first : 0);
}

static void put_pending(struct pending *pending, struct holder *holder) {
    struct slab *slab = pending->slab;
    unsigned class_index = slab->class_index; // read while the slab can't go: our blocks are still out
    uint64_t before = load_relaxed(&slab->state);
    // total order: S4; release: what the program did to the blocks comes before their next use. Pairs: slab_clear_bits
    uint64_t old = or_total(pending->word, pending->mask);
    if (UNLIKELY((old & pending->mask) != 0))
        put_report_double(slab, pending->word, old & pending->mask, class_index);
    put_settle(slab, before, word_is_whole(slab, pending->word, old | pending->mask), class_index, holder);
}

static void put_shared(void *const *blocks, unsigned count, unsigned class_index, struct holder *holder) {
    struct pending table[PENDING_COUNT] = {0};
    for (unsigned i = 0; i < count; i++) {
        uint32_t index;
        struct slab *slab = put_locate(blocks[i], class_index, &index);
        if (slab == NULL)
            continue;
        uint64_t *word = &slab->bits[index / 64];
        uint64_t bit = UINT64_C(1) << (index % 64);
        struct pending *pending = &table[((uintptr_t)word >> 3 ^ (uintptr_t)word >> 6) % PENDING_COUNT];
        if (pending->word != word) {
            if (pending->word != NULL)
                put_pending(pending, holder);
            __builtin_prefetch(word, 1);
            *pending = (struct pending){word, bit, slab};
        } else if (UNLIKELY((pending->mask & bit) != 0)) {
            put_report_double(slab, word, bit, slab->class_index);
        } else {
            pending->mask |= bit;
        }
    }
    for (unsigned i = 0; i < PENDING_COUNT; i++)
        if (table[i].word != NULL)
            put_pending(&table[i], holder);
}

// One thread in the process: no atomics, no order.
static void put_alone(void *const *blocks, unsigned count, unsigned class_index, struct holder *holder) {
    for (unsigned i = 0; i < count; i++) {
        uint32_t index;
        struct slab *slab = put_locate(blocks[i], class_index, &index);
        if (slab == NULL)
            continue;
        uint64_t *word = &slab->bits[index / 64];
        uint64_t bit = UINT64_C(1) << (index % 64);
        uint64_t old = load_relaxed(word);
        if (UNLIKELY((old & bit) != 0)) {
            put_report_double(slab, word, bit, slab->class_index);
            continue;
        }
        store_relaxed(word, old | bit);
        uint64_t state = load_relaxed(&slab->state);
        if (LIKELY(slab_state_of(state) == SLAB_LEASED))
            continue;
        put_settle(slab, state, word_is_whole(slab, word, old | bit), slab->class_index, holder);
    }
}

void put_blocks(void *const *blocks, unsigned count, unsigned class_index, struct holder *holder) {
    if (os_is_single_threaded())
        put_alone(blocks, count, class_index, holder);
    else
        put_shared(blocks, count, class_index, holder);
}

bool put_is_free(const void *block) {
    const struct slab *slab = slab_of_slice(window_slice_of(block));
    if (slab == NULL)
        return true;
    uintptr_t start = (uintptr_t)window_address(slab->first_slice);
    uint32_t index = class_block_index(&size_classes[slab->class_index], (uint32_t)((uintptr_t)block - start));
    return index >= load_relaxed(&slab->carved) || (load_relaxed(&slab->bits[index / 64]) >> (index % 64) & 1) != 0;
}
