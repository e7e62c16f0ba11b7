// What the tests of the big layer share: a mapping made and ended without the cache.
#ifndef HAKMEM_TESTS_MAPPINGS_H
#define HAKMEM_TESTS_MAPPINGS_H

#include "unit/unit.h"

#include "big/mapping.h"

UNUSED static void *mapping_of(size_t bytes, size_t align) {
    return mapping_make(bytes, align, 0);
}

// False: no block starts there.
UNUSED static bool mapping_end(const void *block) {
    struct mapping hidden;
    bool found = mapping_hide(block, &hidden);
    if (found)
        mapping_release(&hidden);
    return found;
}

#endif
