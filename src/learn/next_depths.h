// How deep stacks are to be in the next run: by what a whole life moved, since a file's depths hold from its beginning
// to its end, where the running program has each for a phase. All of it under learn_lock.
#ifndef LEARN_NEXT_DEPTHS_H
#define LEARN_NEXT_DEPTHS_H

#include "policy/depths.h"

// A fork child: what its parent did counts no more.
INTERNAL void next_depths_begin_life(void);
// Notes what was moved since the last note at the depths that are decided, by class; busy_ns: the process's processor
// time so far, 0: not known.
INTERNAL void next_depths_note(const struct depths_seen *seen, const uint8_t *decided, uint64_t busy_ns);
// Of each fixed class: base, which is the default, where no more pays; what is decided where the class was not used.
INTERNAL void next_depths_choose(const uint8_t *base, const uint8_t *decided, uint8_t *depths);

#endif
