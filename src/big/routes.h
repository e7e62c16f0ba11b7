// Site rules: calls whose blocks are big from another size on than big_threshold says.
//
// E1. A rule is a pair of words that are written one after the other, the size first; who looks between them finds no
//     rule, or the size before: that of another site where the place was one's. That costs speed alone (P1).
// E2. A call site is seen only where the cold path runs. So classes that a rule may concern keep the constant stack
//     while there is one (heap_grant_stack).
// E3. A rule that is dropped keeps its place, with a size that says so, until there is no other for a new one. Who
//     finds it has what calls without a rule have; with the last one the classes get their stacks back.
#ifndef BIG_ROUTES_H
#define BIG_ROUTES_H

#include "base/atomics.h"
#include "base/tuning.h"

// The least size of all rules; SIZE_MAX: there is none. Relaxed: a hint.
SHARED size_t routes_least_bytes;

// Adds a rule or changes it: blocks that the call returning to `site` asks for are big from so many bytes on. False:
// there is no room for another one. By one thread at a time.
INTERNAL bool routes_set(uintptr_t site, size_t threshold_bytes);
// Whether that would be true. By the same thread at a time, as the next one.
INTERNAL bool routes_has_room(uintptr_t site);
// Ends a rule.
INTERNAL void routes_drop(uintptr_t site);
// The rule of a call site; `otherwise` where it has none.
INTERNAL size_t routes_find(uintptr_t site, size_t otherwise);

// The size from which on a block that the call returning to `site` asks for has a mapping of its own.
ALWAYS_INLINE size_t routes_threshold(uintptr_t site, size_t bytes, size_t otherwise) {
    return LIKELY(bytes < load_relaxed(&routes_least_bytes)) ? otherwise : routes_find(site, otherwise);
}

#endif
