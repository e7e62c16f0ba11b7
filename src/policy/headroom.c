// Room for growing blocks.
#include "policy/headroom.h"

#define COPY_KIB_NS 64    // of what is in no cache any more
#define COPY_BLOCK_NS 100 // and for each block, with its malloc and free
#define WORTH_SHARE 64    // from this part (1/N) of the time on

size_t headroom_choose(size_t share, const struct headroom_seen *seen) {
    uint64_t spent_ns = seen->blocks * COPY_BLOCK_NS + seen->bytes / 1024 * COPY_KIB_NS;
    bool is_worth = seen->elapsed_ns >= HEADROOM_LEAST_NS && spent_ns > seen->elapsed_ns / WORTH_SHARE;
    return is_worth && share > 1 ? share / 2 : share;
}
