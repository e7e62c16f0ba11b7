// Between threads that pass blocks around a batch goes from stack to stack: one lock and one copy, and no slab is
// touched. Otherwise each block costs an atomic OR where it is freed and a search where it is taken again, on lines
// that another processor wrote last; and since taking is the cheaper half, two threads that do the same fall into step
// as one that only allocates and one that only frees.
//
// A cache nobody takes from is given up: after a few batches for which it had no room it goes back to the slabs, and
// opens again with the next refill. So a phase in which everything is freed keeps nothing here.
//
// The idea is that of tcmalloc's transfer cache, and of the depot in Bonwick and Adams' magazines ("Magazines and
// vmem", USENIX 2001).
#include "heap/transfer.h"

#include "slab/put.h"
#include "sys/lock.h"

struct transfer {
    struct lock lock;
    uint16_t count;   // blocks in it. Under the lock; read without it as a hint
    uint8_t moves;    // times that blocks came or went. As count
    uint8_t declined; // batches declined since the last refill. Relaxed, by anyone: a hint
} __attribute__((aligned(CACHE_LINE_BYTES)));

static struct transfer transfers[CLASS_COUNT];
// Apart, so that a class without any touches no memory. Under the class's lock.
static void *transfer_slots[CLASS_COUNT][TRANSFER_BLOCKS] __attribute__((aligned(CACHE_LINE_BYTES)));

void transfer_start(void) {
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        transfers[i].lock.rank = LOCK_RANK_transfer;
}

// X2, in blocks.
static unsigned transfer_room(unsigned class_index) {
    struct slab_totals slabs = slab_count(class_index);
    size_t share = (slabs.made - slabs.returned) * size_classes[class_index].slices * SLICE_BYTES / TRANSFER_SHARE;
    size_t bytes = share < TRANSFER_LEAST_BYTES ? TRANSFER_LEAST_BYTES : share;
    size_t blocks = (bytes < TRANSFER_MOST_BYTES ? bytes : TRANSFER_MOST_BYTES) / class_bytes(class_index);
    return blocks < TRANSFER_BLOCKS ? (unsigned)blocks : TRANSFER_BLOCKS;
}

bool transfer_give(struct heap *heap, unsigned class_index, void *const *blocks, unsigned count) {
    struct transfer *transfer = &transfers[class_index];
    bool taken = false;
    uint8_t declined = load_relaxed(&transfer->declined);
    if (declined < TRANSFER_DECLINED_MOST) {
        lock_acquire(&transfer->lock);
        unsigned have = transfer->count;
        taken = have + count <= transfer_room(class_index);
        if (taken) {
            for (unsigned i = 0; i < count; i++)
                transfer_slots[class_index][have + i] = blocks[i];
            store_relaxed(&transfer->count, (uint16_t)(have + count));
            store_relaxed(&transfer->moves, (uint8_t)(transfer->moves + 1));
        }
        lock_release(&transfer->lock);
    }
    if (!taken && declined < TRANSFER_DECLINED_MOST)
        store_relaxed(&transfer->declined, (uint8_t)(declined + 1));
    else if (!taken)
        transfer_empty(heap, class_index);
    return taken;
}

unsigned transfer_take(unsigned class_index, void **blocks, unsigned want) {
    struct transfer *transfer = &transfers[class_index];
    if (load_relaxed(&transfer->declined) != 0)
        store_relaxed(&transfer->declined, 0);
    if (load_relaxed(&transfer->count) == 0)
        return 0;
    lock_acquire(&transfer->lock);
    unsigned have = transfer->count;
    unsigned count = have < want ? have : want;
    for (unsigned i = 0; i < count; i++)
        blocks[i] = transfer_slots[class_index][have - count + i];
    store_relaxed(&transfer->count, (uint16_t)(have - count));
    store_relaxed(&transfer->moves, (uint8_t)(transfer->moves + 1));
    lock_release(&transfer->lock);
    return count;
}

void transfer_empty(struct heap *heap, unsigned class_index) {
    void *blocks[STACK_MAX_BATCH];
    unsigned count;
    struct transfer *transfer = &transfers[class_index];
    while ((count = transfer_take(class_index, blocks, STACK_MAX_BATCH)) > 0) {
        count_add(&heap->classes[class_index].counters.flushed_blocks, count);
        put_blocks(blocks, count, class_index);
    }
    store_relaxed(&transfer->declined, TRANSFER_DECLINED_MOST);
}

void transfer_empty_all(struct heap *heap) {
    for (unsigned i = CLASS_FIRST; heap != NULL && i < CLASS_COUNT; i++)
        transfer_empty(heap, i);
}

void transfer_forget_changes(void) {
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        lock_reset(&transfers[i].lock);
}

unsigned transfer_blocks(unsigned class_index) {
    return load_relaxed(&transfers[class_index].count);
}

uint8_t transfer_moves(unsigned class_index) {
    return load_relaxed(&transfers[class_index].moves);
}
