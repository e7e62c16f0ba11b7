// Blocks with mappings of their own, found by address.
//
//   address:   46 ........ 31 | 30 ........ 16 | 15 ... 0
//              root entry       leaf entry       (at most one block starts in 64 KiB: all are larger)
//
// B1. Entries are read without locks. Leaves are never freed (type-stable); an entry is cleared before its address is
//     given back, so that an address that is found is a block that lives.
#ifndef BIG_MAPPING_H
#define BIG_MAPPING_H

#include "sys/lock.h"

SHARED struct lock mapping_lock; // for new leaves

struct mapping {
    uintptr_t block; // what the program has; 0: no entry
    uintptr_t start; // of the mapping: at or below the block (alignment)
    size_t bytes;    // of the mapping from `block` on
    uintptr_t site;  // return address of the call that asked for it; 0: not known
};

// A block of at least `bytes` at a multiple of `align`; zeroed. NULL: no memory.
INTERNAL void *mapping_make(size_t bytes, size_t align, uintptr_t site);
// Looks an address up; false: no block starts there. *found is a copy.
INTERNAL bool mapping_find(const void *block, struct mapping *found);
// Takes a block out of the table; false: no block starts there. *hidden says what it was.
INTERNAL bool mapping_hide(const void *block, struct mapping *hidden);
// Puts a hidden one back; NULL: no memory for the table, and nothing has changed.
INTERNAL void *mapping_show(const struct mapping *hidden);
// Takes a block out of the table that stays counted, and is to come back as it is; false: no block starts there.
INTERNAL bool mapping_keep(const struct mapping *seen);
// Puts it back for another call site, or makes it a hidden one.
INTERNAL void mapping_show_kept(uintptr_t block, uintptr_t site);
INTERNAL void mapping_hide_kept(uintptr_t block, struct mapping *hidden);
// Grows or shrinks a hidden one; false: nothing has changed.
INTERNAL bool mapping_fit(struct mapping *hidden, size_t bytes);
// Unmaps a hidden one.
INTERNAL void mapping_release(const struct mapping *hidden);
// Grows or shrinks a block, moving it where it must; NULL: nothing has changed.
INTERNAL void *mapping_resize(void *block, size_t bytes);

struct mapping_totals {
    size_t blocks;
    size_t bytes;
};
INTERNAL struct mapping_totals mapping_count(void);

#endif
