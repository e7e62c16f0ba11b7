// A thread of the library's own that gives back what lies idle while the program does nothing (option purge_delay).
//
// J1. There is at most one, and only while there is a delay, and the heap, with what it retains, is larger than what
//     may always stay, or something is retained. A process that is confined starts none: it may be killed for it.
// J2. It is started by threads that allocate, never by those that free: the C library frees under locks that
//     pthread_create takes; and by those that have a heap, outside of it.
// J3. Each delay it purges as much as was retained all through the delay: what is in use now and then stays. Pages of
//     part-used slabs go once, when nothing has moved for a delay.
// J4. It blocks all signals, and is inside a heap's gate but while it sleeps, so that fork finds everything whole. A
//     fork child has none until it allocates.
// J5. The learner wants what nobody took for a shorter delay to go, too, but for what came again: up to so much in use
//     (policy/rises.h, by the highest and the lowest of each delay). While there is a helper that does it, where no
//     thread comes by to look as well; else who looks. How many delays it takes is found by what comes back
//     (retention_idle). Both are known under idle_is_busy. What threads hold and do not use goes first (heap/visit.h),
//     at most once in VISIT_NS, and in VISIT_THREAD_NS for each thread.
// J6. Where it is there, the learner looks through it as well, so that a program is seen whose threads pass by no cold
//     path: each time that it wakes up, inside the gate and without locks.
#ifndef HEAP_HELPER_H
#define HEAP_HELPER_H

#include "policy/snapshot.h"

// Starts the helper where there is something to do and none yet; errno is kept.
INTERNAL void helper_start(void);
// What the learner says of idle memory (J5).
struct helper_idle {
    size_t delay;      // milliseconds; 0: none
    size_t hold_ms;    // for so long what comes again is held at most: retention_hold_ns
    size_t back_bytes; // so much may come back in vain: retention_idle_back_bytes
};
// J5. By one thread at a time.
INTERNAL void helper_want_idle(const struct helper_idle *wanted);
typedef void helper_look_function(void);
// J6. Once, before any thread may be started for the learner.
INTERNAL void helper_let_look(helper_look_function *look);
// J5. Such a delay has gone by. Inside a heap's gate, without locks: it purges.
INTERNAL void helper_let_idle_go(void);
// In a fork child.
INTERNAL void helper_forget(void);

ALWAYS_INLINE void helper_look(void) {
    if (UNLIKELY(DECIDED(purge_delay) != 0))
        helper_start();
}

#endif
