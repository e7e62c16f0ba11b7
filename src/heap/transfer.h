// Transfer caches: blocks on their way from threads that free to threads that allocate.
//
// X1. A class's transfer cache holds free blocks of the class that are in no stack, no outbox and no bitmap.
// X2. It holds no more than its room, which grows with what the class has in use.
#ifndef HEAP_TRANSFER_H
#define HEAP_TRANSFER_H

#include "heap/heap.h"

INTERNAL void transfer_start(void);
// Takes the blocks over, oldest first, all or none; false: there is no room, or nobody takes any.
INTERNAL bool transfer_give(struct heap *heap, unsigned class_index, void *const *blocks, unsigned count);
// Hands out up to `want` blocks, those that came last; the number of them.
INTERNAL unsigned transfer_take(unsigned class_index, void **blocks, unsigned want);
// Puts all its blocks back into their slabs; the heap counts them.
INTERNAL void transfer_empty(struct heap *heap, unsigned class_index);
INTERNAL void transfer_empty_all(struct heap *heap);
// In a fork child, where a thread was in the middle of a change.
INTERNAL void transfer_forget_changes(void);
// Blocks in it, and how often it moved; hints.
INTERNAL unsigned transfer_blocks(unsigned class_index);
INTERNAL uint8_t transfer_moves(unsigned class_index);

#endif
