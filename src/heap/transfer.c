// Between threads that pass blocks around a batch goes from stack to stack: one lock and one copy, and no slab is
// touched. Otherwise each block costs an atomic OR where it is freed and a search where it is taken again, on lines
// that another processor wrote last; and since taking is the cheaper half, two threads that do the same fall into step
// as one that only allocates and one that only frees.
//
// A class is being freed once as much was offered as half of what is left in use, without a refill by anybody: then
// what is here goes home too, and nothing is taken until the next refill.
//
// The idea is that of tcmalloc's transfer cache, and of the depot in Bonwick and Adams' magazines ("Magazines and
// vmem", USENIX 2001).
#include "heap/transfer.h"

#include "slab/put.h"

INTERNAL struct transfer transfers[CLASS_END];
// Apart, so that a class without any touches no memory. Under the class's lock.
static void *transfer_slots[CLASS_END][TRANSFER_BLOCKS] __attribute__((aligned(CACHE_LINE_BYTES)));

void transfer_start(void) {
    for (unsigned i = 0; i < CLASS_END; i++)
        transfers[i].lock.rank = LOCK_RANK_transfer;
}

// X2, in blocks.
static unsigned transfer_room(unsigned class_index) {
    size_t share = slab_in_use_bytes(class_index) / TRANSFER_SHARE;
    size_t least = class_is_large(class_index) ? TRANSFER_MOST_BYTES : TRANSFER_LEAST_BYTES; // a batch
    size_t bytes = share < least ? least : share;
    size_t blocks = (bytes < TRANSFER_MOST_BYTES ? bytes : TRANSFER_MOST_BYTES) / class_bytes(class_index);
    return blocks < TRANSFER_BLOCKS ? (unsigned)blocks : TRANSFER_BLOCKS;
}

static void transfer_moved(struct transfer *transfer, unsigned count) {
    store_relaxed(&transfer->count, (uint16_t)count);
    if (load_relaxed(&transfer->looks) != 0)
        store_relaxed(&transfer->looks, 0);
}

static bool transfer_try_give(unsigned class_index, void *const *blocks, unsigned count, unsigned room) {
    struct transfer *transfer = &transfers[class_index];
    lock_acquire(&transfer->lock);
    unsigned have = transfer->count;
    bool taken = have + count <= room;
    for (unsigned i = 0; taken && i < count; i++)
        transfer_slots[class_index][have + i] = blocks[i];
    if (taken)
        transfer_moved(transfer, have + count);
    lock_release(&transfer->lock);
    return taken;
}

bool transfer_give(struct heap *heap, unsigned class_index, void *const *blocks, unsigned count) {
    struct transfer *transfer = &transfers[class_index];
    if (load_relaxed(&transfer->closed))
        return false;
    size_t unclaimed = load_relaxed(&transfer->unclaimed) + count;
    store_relaxed(&transfer->unclaimed, (uint32_t)unclaimed);
    if (unclaimed * class_bytes(class_index) > slab_in_use_bytes(class_index) / 2) {
        store_relaxed(&transfer->closed, true);
        transfer_empty(heap, class_index);
        return false;
    }
    return transfer_try_give(class_index, blocks, count, transfer_room(class_index));
}

static unsigned transfer_try_take(unsigned class_index, void **blocks, unsigned want, bool to_thread) {
    struct transfer *transfer = &transfers[class_index];
    if (load_relaxed(&transfer->count) == 0)
        return 0;
    lock_acquire(&transfer->lock);
    unsigned have = transfer->count;
    unsigned count = have < want ? have : want;
    for (unsigned i = 0; i < count; i++)
        blocks[i] = transfer_slots[class_index][have - count + i];
    transfer_moved(transfer, have - count);
    count_add(&transfer->passed_blocks, to_thread ? count : 0);
    lock_release(&transfer->lock);
    return count;
}

unsigned transfer_take(unsigned class_index, void **blocks, unsigned want) {
    struct transfer *transfer = &transfers[class_index];
    if (load_relaxed(&transfer->unclaimed) != 0)
        store_relaxed(&transfer->unclaimed, 0);
    if (load_relaxed(&transfer->closed))
        store_relaxed(&transfer->closed, false);
    return transfer_try_take(class_index, blocks, want, true);
}

void transfer_empty(struct heap *heap, unsigned class_index) {
    void *blocks[STACK_MAX_BATCH];
    unsigned count = 0;
    for (unsigned left = transfer_blocks(class_index); left > 0; left -= count) { // not what others give meanwhile
        count = transfer_try_take(class_index, blocks, left < STACK_MAX_BATCH ? left : STACK_MAX_BATCH, false);
        if (count == 0)
            break;
        count_add(&heap->classes[class_index].counters.flushed_blocks, count);
        put_blocks(blocks, count, class_index);
    }
}

void transfer_empty_all(struct heap *heap) {
    for (unsigned i = CLASS_FIRST; heap != NULL && i < CLASS_END; i++)
        transfer_empty(heap, i);
}

void transfer_forget_changes(void) {
    for (unsigned i = 0; i < CLASS_END; i++)
        lock_reset(&transfers[i].lock);
}

bool transfer_is_closed(unsigned class_index) {
    return load_relaxed(&transfers[class_index].closed);
}

unsigned transfer_blocks(unsigned class_index) {
    return load_relaxed(&transfers[class_index].count);
}

uint64_t transfer_passed_blocks(unsigned class_index) {
    return load_relaxed(&transfers[class_index].passed_blocks);
}

void transfer_look(struct heap *heap) {
    heap->transfer_look = heap->transfer_look + 1 < CLASS_END ? heap->transfer_look + 1 : CLASS_FIRST;
    struct transfer *transfer = &transfers[heap->transfer_look];
    if (load_relaxed(&transfer->count) == 0)
        return;
    uint8_t looks = load_relaxed(&transfer->looks);
    if (looks < TRANSFER_IDLE_LOOKS)
        store_relaxed(&transfer->looks, (uint8_t)(looks + 1));
    else
        transfer_empty(heap, heap->transfer_look);
}
