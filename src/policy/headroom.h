// How much room a block gets that grows by small steps.
//
// A block that is made larger than asked for by a part (1/N) is copied once while it grows by that part. So where
// copies take much of the time, that part is doubled: at the most a block has twice what was asked for. What the room
// costs is memory of growing blocks alone, of which most pages are not touched yet.
#ifndef POLICY_HEADROOM_H
#define POLICY_HEADROOM_H

#include "base/compiler.h"
#include "base/tuning.h"

#define HEADROOM_LEAST_NS (20 * MS_NS) // in less time too little is counted

struct headroom_seen {
    uint64_t elapsed_ns;
    uint64_t blocks; // that were copied meanwhile to grow by a small step
    uint64_t bytes;
};

// The next share (1/N), from the present one: the same before HEADROOM_LEAST_NS have passed.
INTERNAL size_t headroom_choose(size_t share, const struct headroom_seen *seen);

#endif
