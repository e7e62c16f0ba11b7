// A thread of the library's own that gives back what lies idle while the program does nothing (option purge_delay).
//
// J1. There is at most one, and only while the heap, with what it retains, is larger than what may always stay, or
//     something is retained.
// J2. It is started by threads that allocate, never by those that free: the C library frees under locks that
//     pthread_create takes.
// J3. Each delay it purges as much as was retained all through the delay: what is in use now and then stays. Pages of
//     part-used slabs go once, when nothing has moved for a delay.
// J4. It blocks all signals, and is inside a heap's gate while it purges, so that fork finds everything whole. A fork
//     child has none until it allocates.
// J5. The learner wants what nobody took for a shorter delay to go, too, but for so much of it: what it knows to come
//     again. While there is a helper that does it, where no thread comes by to look as well; else who looks.
#ifndef HEAP_HELPER_H
#define HEAP_HELPER_H

#include "policy/snapshot.h"

// Starts the helper where there is something to do and none yet. Outside of locks and gates; errno is kept.
INTERNAL void helper_start(void);
// J5. Once each such delay, in milliseconds, by one thread at a time, inside a heap's gate.
INTERNAL void helper_let_idle_go(size_t delay, size_t keep_bytes);
// In a fork child.
INTERNAL void helper_forget(void);

ALWAYS_INLINE void helper_look(void) {
    if (UNLIKELY(DECIDED(purge_delay) != 0))
        helper_start();
}

#endif
