// Puts blocks back into their slabs: sets their bits, sees misuse, and moves slabs on that thereby have free blocks.
#ifndef SLAB_PUT_H
#define SLAB_PUT_H

#include "slab/depot.h"

// Puts `count` blocks back, all of one class. `holder` acts as lessee where a slab has to move. Reports double,
// misaligned and invalid pointers; such a one is left out when the option says go on.
INTERNAL void put_blocks(void *const *blocks, unsigned count, unsigned class_index, struct holder *holder);
// The same for blocks of any classes.
INTERNAL void put_mixed_blocks(void *const *blocks, unsigned count, struct holder *holder);

// True where a block is in its slab already, or its slab has gone. For a fork child, which is alone.
INTERNAL bool put_is_free(const void *block);

#endif
