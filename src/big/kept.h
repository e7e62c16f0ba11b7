// The big block that a thread keeps for itself: BigCache's part of a thread.
//
// A buffer that is made and freed in a loop is the commonest use of big blocks. Such a thread takes no lock, and does
// not trade places with others that do the same, whose memory lies in another processor's caches.
//
// Z1. A thread that asks for just the length that it gave back last may keep the next one that it gives back, of up to
//     KEPT_BYTES and the option retain_min; all threads together KEPT_ALL_BYTES. The grant ends with a request of
//     another length; what is kept has gone home by then.
// Z2. `block` is exchanged: the thread takes it out, and so may anybody who trims. Whoever got it has it.
// Z3. A kept block counts as in use. For the program it does not exist: what its memory belongs to says so.
#ifndef BIG_KEPT_H
#define BIG_KEPT_H

#include "base/atomics.h"

struct kept {
    uintptr_t block;   // Z2; 0: none
    size_t last_bytes; // length of the block that was given back last
    size_t granted;    // length of what may be kept, and of what is (Z1); 0: none. Others read it as a hint
    uint64_t hits;     // requests served; others read it
    uint64_t seen_hits;
};

// A request: takes the kept block out, whatever its length. 0: there is none.
INTERNAL uintptr_t kept_take(struct kept *kept);
// A request of so many bytes (as they would be given back) was made: grants, or ends the grant.
INTERNAL void kept_note_request(struct kept *kept, size_t bytes);
// A block of so many bytes (0: of a kind that is never kept) is given back: true where it is to be kept.
INTERNAL bool kept_accepts(struct kept *kept, size_t bytes);
// Keeps a block that was accepted, and that the program can't find any more.
INTERNAL void kept_put(struct kept *kept, uintptr_t block);
// The grant ends.
INTERNAL void kept_end(struct kept *kept);
// True where no request was served since the last call.
INTERNAL bool kept_is_idle(struct kept *kept);

// Bytes kept, as another thread may see them: a hint.
ALWAYS_INLINE size_t kept_bytes(const struct kept *kept) {
    return load_relaxed(&kept->block) != 0 ? load_relaxed(&kept->granted) : 0;
}

#endif
