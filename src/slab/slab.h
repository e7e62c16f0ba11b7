// Slabs: runs of slices that hold blocks of one size class; a bit a block, out of line.
//
//   descriptor:  state  first  carved  links ...   bits: 1 = free, in the slab
//   slab:        | block 0 | block 1 | ... | block carved-1 |  never handed out yet  |
//
//              slab_make                        take (last bit gone)
//    no slab ------------> LEASED  <------------------------------->  FULL
//       ^                   |  ^     put (a bit came back; by CAS)      |
//       |  give back        |  | lease                                 | put lists it
//       +-------------------+  |                                       v
//          wholly free         +----------------------------------- LISTED (in the depot)
//
// S1. A block is in exactly one place: with the program, in a thread's stack or outbox, set in its slab's bitmap, or
//     beyond `carved`.
// S2. Only the lessee (the thread that moved the slab to LEASED) carves, clears bits and gives the slab back.
// S3. Anybody who holds a block may set its bit. Before that it reads the state word; after its last OR into a slab it
//     touches only that word and the type-stable descriptor, and acts only where the generation is still the same.
// S4. OR of a bit → load of the state, and store of FULL → scan of the bits, are a Dekker pair: all four are totally
//     ordered, so either the freeing thread sees FULL or the lessee sees the bit.
// S5. Every way out of LEASED first looks whether the slab is wholly free (set bits = carved), and gives it back then.
// S6. The generation grows when a slab is given back, so that a late reader of the state word knows.
// S7. Descriptors are type-stable: reused for slabs with equally long bitmaps alone.
#ifndef SLAB_SLAB_H
#define SLAB_SLAB_H

#include "base/list.h"
#include "region/window.h"
#include "slab/size_class.h"
#include "sys/fault.h"

enum slab_state {
    SLAB_NONE, // descriptor waits for reuse
    SLAB_LEASED,
    SLAB_LISTED,
    SLAB_FULL,
};

// Somebody who takes leases: a thread's heap. Slabs of held classes listed for it wait in its own lists.
struct holder {
    unsigned tag;                            // whose threads may reuse blocks of its held slabs
    bool ended[CLASS_LAST_HELD + 1];         // its thread has gone: its slabs are anybody's. Under the depots' locks
    struct list listed[CLASS_LAST_HELD + 1]; // its listed slabs. Under the class's depot lock
    struct list depot_link[CLASS_LAST_HELD + 1]; // in the depot's list of holders with listed slabs
};

struct slab {
    uint64_t state; // generation << 8 | enum slab_state. S3, S4
    uint32_t first_slice;
    uint16_t carved; // blocks handed out at least once; written by the lessee (S2), read by all
    uint8_t class_index;
    uint8_t next_word : 7; // where the lessee's next search of the bitmap starts
    uint8_t zeroed : 1;    // blocks that were never handed out read as zero
    struct list link;      // in the depot, or among free descriptors
    struct holder *holder; // last lessee
    uint64_t bits[];       // size_class.words of them; one more is slab_purged_bytes
} __attribute__((aligned(CACHE_LINE_BYTES)));

#define SLAB_STATE_BITS 8

ALWAYS_INLINE enum slab_state slab_state_of(uint64_t word) {
    return (enum slab_state)(word & ((1 << SLAB_STATE_BITS) - 1));
}

ALWAYS_INLINE uint64_t slab_generation_of(uint64_t word) {
    return word >> SLAB_STATE_BITS;
}

// The word with the same generation and another state.
ALWAYS_INLINE uint64_t slab_word_with(uint64_t word, enum slab_state state) {
    return (word & ~(uint64_t)((1 << SLAB_STATE_BITS) - 1)) | state;
}

// The slab that a slice belongs to; NULL: it is a run's, or not ours.
ALWAYS_INLINE struct slab *slab_of_slice(size_t slice) {
    intptr_t info = load_relaxed(&window.info[slice]);
    return LIKELY(info > 0) ? (struct slab *)info : NULL;
}

ALWAYS_INLINE bool class_is_held(unsigned class_index) {
    return class_index <= CLASS_LAST_HELD;
}

ALWAYS_INLINE void *slab_block(const struct slab *slab, uint32_t index) {
    const struct size_class *row = &size_classes[slab->class_index];
    uint32_t offset = class_first_offset(row, slab->first_slice);
    return (char *)window_address(slab->first_slice) + offset + (size_t)index * row->bytes;
}

// What of the slab was purged page by page since it was last leased for its blocks. Under the depot's lock, or by the
// lessee.
ALWAYS_INLINE uint64_t *slab_purged_bytes(struct slab *slab) {
    return &slab->bits[size_classes[slab->class_index].words];
}

struct slab_totals {
    uint64_t made;
    uint64_t returned;
};

// A new slab LEASED by `holder`, or NULL: no memory.
INTERNAL struct slab *slab_make(unsigned class_index, struct holder *holder);
// Ends a LEASED, wholly free slab: its slices go back. By the lessee (S2).
INTERNAL void slab_give_back(struct slab *slab);
// Takes up to `want` blocks that were put back, and writes them from end[-1] downwards, as a stack wants them: the
// first on top. By the lessee (S2).
INTERNAL unsigned slab_take(struct slab *slab, void **end, unsigned want);
// The same with blocks that were never handed out, in order of address. By the lessee (S2).
INTERNAL unsigned slab_carve(struct slab *slab, void **end, unsigned want);
// True where nothing is left to take without others' help.
INTERNAL bool slab_is_exhausted(const struct slab *slab);
// True where every block was handed out at least once.
INTERNAL bool slab_is_carved(const struct slab *slab);
// LEASED → FULL. True: done. False: a block came back meanwhile, the slab is still LEASED (S4).
INTERNAL bool slab_leased_to_full(struct slab *slab);
// All carved blocks are back. Exact for the lessee, a hint for others.
INTERNAL bool slab_is_wholly_free(const struct slab *slab);
// Blocks that could be taken: a hint.
INTERNAL unsigned slab_free_blocks(const struct slab *slab);
// Shows the slices to the threads of a (new) holder.
INTERNAL void slab_set_holder(struct slab *slab, struct holder *holder);
INTERNAL struct slab_totals slab_count(unsigned class_index);
// What the class's slabs occupy, and how many blocks they have room for; hints, as slab_count is.
INTERNAL size_t slab_in_use_bytes(unsigned class_index);
INTERNAL size_t slab_in_use_blocks(unsigned class_index);
#endif
