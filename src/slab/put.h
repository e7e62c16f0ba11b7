// Puts blocks back into their slabs: sets their bits, sees misuse, and moves slabs on that thereby have free blocks.
#ifndef SLAB_PUT_H
#define SLAB_PUT_H

#include "slab/depot.h"

// Puts `count` blocks back, all of one class, and moves slabs on where that is due. Reports double, misaligned and
// invalid pointers; such a one is left out when the option says go on.
INTERNAL void put_blocks(void *const *blocks, unsigned count, unsigned class_index);
// The same for blocks of any classes.
INTERNAL void put_mixed_blocks(void *const *blocks, unsigned count);

#endif
