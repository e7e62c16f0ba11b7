// Makes slabs, takes blocks out of them, ends them.
#include "slab/slab.h"

#include "region/huge.h"
#include "region/meta.h"
#include "region/runs.h"
#include "sys/os.h"

// Free descriptors by size in cache lines (S7). Under meta_lock.
#define SLAB_LINE_BYTES 64
#define SLAB_MAX_LINES 9
static struct list free_slabs[SLAB_MAX_LINES + 1];
static struct slab_totals slab_totals[CLASS_END];

static size_t slab_lines(const struct size_class *row) {
    size_t bytes = offsetof(struct slab, bits) + (row->words + 1u) * sizeof(uint64_t);
    size_t lines = (bytes + SLAB_LINE_BYTES - 1) / SLAB_LINE_BYTES;
    CHECK(lines <= SLAB_MAX_LINES);
    return lines;
}
_Static_assert(offsetof(struct slab, bits) == sizeof(struct slab) - sizeof(uint64_t[3]),
               "three words fit the first line");

static struct slab *descriptor_take(const struct size_class *row) {
    size_t lines = slab_lines(row);
    struct list *waiting = &free_slabs[lines];
    struct slab *slab = NULL;
    lock_acquire(&meta_lock);
    if (waiting->next == NULL)
        list_init(waiting);
    if (!list_is_empty(waiting)) {
        slab = LIST_OWNER(waiting->next, struct slab, link);
        list_remove(&slab->link);
    }
    lock_release(&meta_lock);
    return slab != NULL ? slab : meta_take(lines * SLAB_LINE_BYTES, SLAB_LINE_BYTES);
}

static void descriptor_give(struct slab *slab, const struct size_class *row) {
    lock_acquire(&meta_lock);
    list_add_first(&free_slabs[slab_lines(row)], &slab->link);
    lock_release(&meta_lock);
}

void slab_set_holder(struct slab *slab, struct holder *holder) {
    const struct size_class *row = &size_classes[slab->class_index];
    slab->holder = holder;
    for (size_t slice = slab->first_slice; slice < slab->first_slice + row->slices; slice++)
        if (class_is_held(slab->class_index))
            window_show_tag(slice, slab->class_index, holder->tag);
        else
            window_show_all(slice, slab->class_index);
}

struct slab *slab_make(unsigned class_index, struct holder *holder) {
    const struct size_class *row = &size_classes[class_index];
    bool zeroed;
    struct slab *slab = descriptor_take(row);
    if (slab == NULL)
        return NULL;
    size_t first = runs_take(row->slices, 1, &zeroed);
    if (first == NO_SLICE) {
        list_init(&slab->link);
        descriptor_give(slab, row);
        return NULL;
    }
    list_init(&slab->link);
    slab->first_slice = (uint32_t)first;
    slab->class_index = (uint8_t)class_index;
    slab->next_word = 0;
    slab->zeroed = zeroed;
    store_relaxed(&slab->carved, 0);
    for (unsigned i = 0; i <= row->words; i++) // the last is slab_purged_bytes
        store_relaxed(&slab->bits[i], 0);
    for (unsigned i = 0; i < row->slices; i++)
        store_relaxed(&window.info[first + i], (intptr_t)slab);
    slab_set_holder(slab, holder);
    // release: whoever reads this state sees a descriptor that is complete; pairs with the loads in put.c
    store_release(&slab->state, slab_word_with(load_relaxed(&slab->state), SLAB_LEASED));
    shared_add(&slab_totals[class_index].made, 1);
    return slab;
}

void slab_give_back(struct slab *slab) {
    const struct size_class *row = &size_classes[slab->class_index];
    uint64_t word = load_relaxed(&slab->state);
    size_t first = slab->first_slice;
    CHECK(slab_state_of(word) == SLAB_LEASED && slab_is_wholly_free(slab));
    shared_add(&slab_totals[slab->class_index].returned, 1);
    for (unsigned i = 0; i < row->slices; i++) {
        window_show_all(first + i, CLASS_NONE);
        store_relaxed(&window.info[first + i], 0);
    }
    size_t purged_bytes = *slab_purged_bytes(slab);
    uint64_t generation = slab_generation_of(word) + 1;                               // S6
    store_release(&slab->state, generation << SLAB_STATE_BITS | (uint64_t)SLAB_NONE); // release: as in slab_make
    descriptor_give(slab, row);
    runs_give_purged(first, row->slices, purged_bytes);
}

// Writes the blocks of a word's bits below `end`, the lowest address last, up to `want`; returns the bits of the
// others.
static uint64_t slab_write_blocks(char *first, size_t bytes, uint64_t seen, void **end, unsigned want) {
    if (seen == ~UINT64_C(0) && want >= 64) {
        for (unsigned i = 0; i < 64; i++)
            end[-1 - (ptrdiff_t)i] = first + i * bytes;
        return 0;
    }
    for (; seen != 0 && want > 0; seen &= seen - 1, want--)
        *--end = first + bits_lowest(seen) * bytes;
    return seen;
}

unsigned slab_take(struct slab *slab, void **end, unsigned want) {
    CHECK(slab_state_of(load_relaxed(&slab->state)) == SLAB_LEASED);
    bool alone = os_is_single_threaded();
    size_t bytes = size_classes[slab->class_index].bytes;
    unsigned words = (load_relaxed(&slab->carved) + 63u) / 64;
    unsigned number = slab->next_word < words ? slab->next_word : 0;
    unsigned count = 0;
    for (unsigned turn = 0; turn < words; turn++) {
        uint64_t seen = load_relaxed(&slab->bits[number]);
        if (seen != 0) {
            uint64_t left = slab_write_blocks(slab_block(slab, number * 64), bytes, seen, end - count, want - count);
            count += bits_count(seen ^ left);
            if (alone)
                store_relaxed(&slab->bits[number], left);
            else // acquire: what the freeing threads did to the blocks comes before their next use; pairs: put_mask
                and_total(&slab->bits[number], ~(seen ^ left));
            if (count == want)
                break;
        }
        number = number + 1 == words ? 0 : number + 1;
    }
    slab->next_word = number & 127;
    return count;
}

unsigned slab_carve(struct slab *slab, void **end, unsigned want) {
    CHECK(slab_state_of(load_relaxed(&slab->state)) == SLAB_LEASED);
    size_t bytes = size_classes[slab->class_index].bytes;
    unsigned carved = load_relaxed(&slab->carved);
    unsigned left = size_classes[slab->class_index].blocks - carved;
    unsigned count = left < want ? left : want;
    char *block = slab_block(slab, carved);
    for (unsigned i = 0; i < count; i++, block += bytes)
        *--end = block;
    store_relaxed(&slab->carved, (uint16_t)(carved + count));
    return count;
}

bool slab_is_carved(const struct slab *slab) {
    return load_relaxed(&slab->carved) == size_classes[slab->class_index].blocks;
}

static bool slab_has_bits(const struct slab *slab) {
    unsigned words = size_classes[slab->class_index].words;
    for (unsigned i = 0; i < words; i++)
        if (load_total(&slab->bits[i]) != 0) // total order: S4
            return true;
    return false;
}

bool slab_is_exhausted(const struct slab *slab) {
    return slab_is_carved(slab) && !slab_has_bits(slab);
}

bool slab_leased_to_full(struct slab *slab) {
    uint64_t leased = load_relaxed(&slab->state);
    CHECK(slab_state_of(leased) == SLAB_LEASED);
    uint64_t full = slab_word_with(leased, SLAB_FULL);
    if (os_is_single_threaded()) {
        store_relaxed(&slab->state, full);
        return true;
    }
    exchange_total(&slab->state, full); // total order: S4, pairs with put.c; release: the next lessee sees our carving
    if (!slab_has_bits(slab))
        return true;
    return !swap_total(&slab->state, full, leased); // whoever wins is lessee or lists it; acquire as any lessee
}

bool slab_is_wholly_free(const struct slab *slab) {
    unsigned carved = load_relaxed(&slab->carved);
    if (carved == 0)
        return true;
    // The last word first: programs often free in order of address, and then it is the last to fill.
    unsigned last = (carved - 1) / 64;
    // total order of all the loads: S4, after the state word was read or written
    if (load_total(&slab->bits[last]) != bits_low_mask(carved - last * 64)) // order: as above
        return false;
    for (unsigned i = 0; i < last; i++)
        if (load_total(&slab->bits[i]) != ~UINT64_C(0)) // order: as above
            return false;
    return true;
}

unsigned slab_free_blocks(const struct slab *slab) {
    const struct size_class *row = &size_classes[load_relaxed(&slab->class_index)];
    unsigned count = (unsigned)(row->blocks - load_relaxed(&slab->carved));
    for (unsigned i = 0; i < row->words; i++)
        count += bits_count(load_relaxed(&slab->bits[i]));
    return count;
}

struct slab_totals slab_count(unsigned class_index) {
    return (struct slab_totals){load_relaxed(&slab_totals[class_index].made),
                                load_relaxed(&slab_totals[class_index].returned)};
}

static uint64_t slabs_there(unsigned class_index) {
    struct slab_totals slabs = slab_count(class_index);
    return slabs.returned < slabs.made ? slabs.made - slabs.returned : 0; // counted while they change
}

size_t slab_in_use_bytes(unsigned class_index) {
    return slabs_there(class_index) * size_classes[class_index].slices * SLICE_BYTES;
}

size_t slab_in_use_blocks(unsigned class_index) {
    return slabs_there(class_index) * size_classes[class_index].blocks;
}
