// Blocks above the slab classes: runs of the window up to the option big_threshold, from there on mappings of their own
// (big/cache.h). Slab classes that large are closed: what would have been theirs is a mapping too.
#ifndef BIG_BIG_H
#define BIG_BIG_H

#include "big/kept.h"
#include "big/mapping.h"
#include "region/window.h"

// A block of at least `bytes` at a multiple of `align`, a power of two, for a call that returns to `site` (0: not
// known). *zeroed: it reads as zero. `kept`: the calling thread's, or NULL. NULL: no memory.
INTERNAL void *big_take(size_t bytes, size_t align, uintptr_t site, bool *zeroed, struct kept *kept);
// The same, always as a mapping, which the kernel can move without copying.
INTERNAL void *big_take_mapping(size_t bytes, size_t align, uintptr_t site, bool *zeroed);
// Usable bytes of a big block; 0 where no big block starts there.
INTERNAL size_t big_usable_bytes(const void *block);
// Ends a big block; false where no big block starts there.
INTERNAL bool big_give(void *block, struct kept *kept);
// Gives back what the thread keeps, if it does; and one that was taken out of there. Without locks.
INTERNAL void big_let_go(struct kept *kept);
INTERNAL void big_give_kept(uintptr_t block);
// Makes a big block hold `bytes` (more than the slab classes do) where it is, or moves its pages; NULL: neither is
// possible, nothing has changed.
INTERNAL void *big_resize(void *block, size_t bytes);

#endif
