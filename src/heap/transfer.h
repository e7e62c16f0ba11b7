// Transfer caches: blocks on their way from threads that free to threads that allocate.
//
// X1. A class's transfer cache holds free blocks of the class that are in no stack, no outbox and no bitmap.
// X2. Blocks are given only where there is room, which grows with what the class has in use. What the class gives back
//     later makes no room smaller; a cache that lies idle is emptied, and so is one whose class is being freed.
#ifndef HEAP_TRANSFER_H
#define HEAP_TRANSFER_H

#include "heap/heap.h"
#include "sys/lock.h"

struct transfer {
    struct lock lock;
    uint64_t passed_blocks; // handed out so far. Under the lock; read without it as a count
    uint32_t unclaimed;     // blocks offered since the last refill. Relaxed, by anyone: a hint
    uint16_t count;         // blocks in it. Under the lock; read without it as a hint
    uint8_t looks;          // since blocks last came or went. Relaxed, by anyone: a hint
    bool closed;            // until the next refill. As unclaimed
} __attribute__((aligned(CACHE_LINE_BYTES)));

SHARED struct transfer transfers[CLASS_END];

INTERNAL void transfer_start(void);
// Takes the blocks over, oldest first, all or none; false: there is no room, or the class is being freed. In that case
// it may have sent home what it had.
INTERNAL bool transfer_give(struct heap *heap, unsigned class_index, void *const *blocks, unsigned count);
// Hands out up to `want` blocks, those that came last; the number of them.
INTERNAL unsigned transfer_take(unsigned class_index, void **blocks, unsigned want);
// Puts the blocks that it has now back into their slabs; the heap counts them.
INTERNAL void transfer_empty(struct heap *heap, unsigned class_index);
INTERNAL void transfer_empty_all(struct heap *heap);
// Looks at the next class's: one that did not move for many looks is emptied.
INTERNAL void transfer_look(struct heap *heap);
// In a fork child, where a thread was in the middle of a change.
INTERNAL void transfer_forget_changes(void);
// The class is being freed: a hint.
INTERNAL bool transfer_is_closed(unsigned class_index);
// How many blocks it has, and has handed out so far; hints.
INTERNAL unsigned transfer_blocks(unsigned class_index);
INTERNAL uint64_t transfer_passed_blocks(unsigned class_index);

#endif
