// What was learned goes into the policy file: at the end, on demand (learn_save, learn/learn.h), or by a signal.
#ifndef LEARN_SAVING_H
#define LEARN_SAVING_H

#include "base/atomics.h"

// 1: a signal asks for it. Relaxed: it says nothing else.
SHARED uint32_t saving_is_wanted;

// Minds the signal of option policy_signal, if there is one. Before other threads learn.
INTERNAL void saving_start(void);
// A fork child: nothing of it is in a file. Under learn_lock.
INTERNAL void saving_begin_life(void);
INTERNAL void saving_obey_slow(void);

// Where a look is over, outside of the heap: saves if a signal asked for it.
ALWAYS_INLINE void saving_obey(void) {
    if (UNLIKELY(load_relaxed(&saving_is_wanted) != 0))
        saving_obey_slow();
}

#endif
