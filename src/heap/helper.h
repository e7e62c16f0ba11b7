// A thread of the library's own that gives back what lies idle while the program does nothing (option purge_delay).
//
// J1. There is at most one, and only while the heap, with what it retains, is larger than what may always stay, or
//     something is retained.
// J2. It is started by threads that allocate, never by those that free: the C library frees under locks that
//     pthread_create takes.
// J3. Each delay it purges as much as was retained all through the delay: what is in use now and then stays.
// J4. It blocks all signals, and is inside a heap's gate while it purges, so that fork finds everything whole. A fork
//     child has none until it allocates.
#ifndef HEAP_HELPER_H
#define HEAP_HELPER_H

#include "policy/snapshot.h"

// Starts the helper where there is something to do and none yet. Outside of locks and gates; errno is kept.
INTERNAL void helper_start(void);
// In a fork child.
INTERNAL void helper_forget(void);

ALWAYS_INLINE void helper_look(void) {
    if (UNLIKELY(DECIDED(purge_delay) != 0))
        helper_start();
}

#endif
