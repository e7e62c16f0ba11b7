// Blocks above the slab classes: runs of the window up to BIG_RUN_MAX_BYTES, mappings of their own above.
#ifndef BIG_BIG_H
#define BIG_BIG_H

#include "big/mapping.h"
#include "region/window.h"

// A block of at least `bytes` at a multiple of `align`, a power of two. *zeroed: it reads as zero. NULL: no memory.
INTERNAL void *big_take(size_t bytes, size_t align, bool *zeroed);
// Usable bytes of a big block; 0 where no big block starts there.
INTERNAL size_t big_usable_bytes(const void *block);
// Ends a big block; false where no big block starts there.
INTERNAL bool big_give(void *block);
// Makes a big block hold `bytes` (more than the slab classes do) where it is, or moves its pages; NULL: neither is
// possible, nothing has changed.
INTERNAL void *big_resize(void *block, size_t bytes);

#endif
