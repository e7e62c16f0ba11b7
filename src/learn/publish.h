// Puts decisions in force.
#ifndef LEARN_PUBLISH_H
#define LEARN_PUBLISH_H

#include "heap/registry.h"

// heap_enter, and with learn_lock. Nobody has the lock who is not inside: fork waits for that, and so for the lock.
INTERNAL struct heap *learn_enter_locked(void);
// learn_lock where the program ends, inside. False: nobody lets go of it. A look of another thread is over soon, but a
// signal handler that ends the program may have interrupted this thread's own.
INTERNAL bool learn_try_lock_at_end(void);

// Puts a copy in force, in which the user's own decisions are as the user said. Under learn_lock (heap/registry.h), as
// the next.
INTERNAL void learn_publish(const struct snapshot *snapshot);
// The user's own decision from now on.
INTERNAL void learn_pin(enum decision decision, size_t value);
INTERNAL bool learn_is_pinned(enum decision decision);

#endif
