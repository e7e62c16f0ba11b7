// How long blocks live: in calls of the thread that asked for them, inside of one sampling window at a time.
//
// U1. A block is followed for LIVES_CALLS calls. It is freed within them, or it is kept. One that is asked for so late
//     that the window ends before is left out, freed or not: so nothing depends on where in its window a block begins.
// U2. A free is noted by the thread that asked for the block. Where another thread frees it, it is kept; or, as soon as
//     its address is handed out again in the window, freed by then.
// U3. The window in hand belongs to its owner alone; the outputs are counts that everybody may read.
#ifndef SAMPLE_LIVES_H
#define SAMPLE_LIVES_H

#include "sample/sizes.h"

// By entry, as sizes_seen: blocks that were followed, and those of them that were kept; less what lives_fade took
// away. Relaxed: hints.
SHARED uint32_t lives_followed[CLASS_MAP_COUNT];
SHARED uint32_t lives_kept[CLASS_MAP_COUNT];

// The same by sizes_kind and by the calls between request and free: 0, 1, 2 to 3, 4 to 7 and so on; the last: kept.
// Only grows.
#define LIVES_SPANS 10
#define LIVES_SPAN_KEPT (LIVES_SPANS - 1)
SHARED uint64_t lives_by_kind[SIZES_KINDS][LIVES_SPANS];
_Static_assert(1u << (LIVES_SPAN_KEPT - 1) == LIVES_CALLS, "a span for each doubling");

// Who follows blocks now; NULL: nobody.
SHARED const void *lives_owner;

ALWAYS_INLINE bool lives_are_of(const void *owner) {
    return load_relaxed(&lives_owner) == owner;
}

// Begins a window, for `owner` to be its owner; nothing where there is one.
INTERNAL void lives_begin(const void *owner);
// Ends it: what was followed long enough is counted. `calls_left`: 0, or so many before its time. Nothing where it is
// not the owner's, as the next ones.
INTERNAL void lives_end(const void *owner, unsigned calls_left);
// Ends it without a count; also for an owner that has gone.
INTERNAL void lives_drop(const void *owner);
// The owner got a block, in a call after which so many are left of the window.
INTERNAL void lives_note_request(const void *owner, const void *block, size_t bytes, unsigned calls_left);
// It frees one, any, while so many are left with this one.
INTERNAL void lives_note_free(const void *owner, const void *block, unsigned calls_left);
// Takes half of each count by entry away.
INTERNAL void lives_fade(void);
// Of the bytes that were asked for in blocks that were followed, how many of a thousand were freed again: short-lived.
// 0: nothing was followed.
INTERNAL unsigned lives_short_permille(void);

#endif
