// What threads hold and do not use goes back, whether they run or are blocked: leases, and blocks in stacks.
//
// A blocked thread can give nothing up, so another one, a visitor, does it for it. Leases are the cold path's alone: it
// is enough to shut the thread out of that (H5). Its stacks it may pop and push meanwhile:
//
//   a stack before it            | NULL | p0 | p1 | p2 | ... | pm |   top
//   V3: from the bottom up       | NULL | NULL NULL NULL ...  | pm |  top
//   V4: nothing was popped         new bottom: | NULL | pm |  top     p0, p1, ... are the visitor's
//
// V1. A visitor takes from a heap while its thread is shut out, and gives what it took back to slabs after it was let
// in
//     again: no system call but the barrier keeps the thread out.
// V2. Idle is a class that its thread neither refilled nor flushed since the last visit, and whose stack holds as many
//     blocks as then. Between two visits each thread must have had a processor: one that waits for it is not idle.
// V3. All blocks but the newest are replaced by NULL, each by a swap: what the thread meanwhile pushed over a block
// that
//     it had popped stays. Then comes a barrier on all processors: what a thread loads from then on is the NULL, hence
//     its cold path, where it has to wait.
// V4. Where the top lies above the newest block still, and NULL below that, the thread is not about to pop one of the
//     others, and has popped none: for that its top was lower, and when it rose again something was pushed over a NULL.
//     So they are the visitor's, and the stack is so much shallower.
// V5. Else it is in doubt what the thread has popped, until it comes by the gate: each NULL below its top, from the
// bottom
//     up to the first slot that is none, was a block that it has not popped, which goes back to where it was. Nothing
//     more is taken out of stacks until no doubt is left.
#ifndef HEAP_VISIT_H
#define HEAP_VISIT_H

#include "heap/heap.h"

// Visits all threads; by one caller at a time, inside a heap's gate and without locks.
INTERNAL void visit_idle(void);
// V5. By the heap's thread, inside; or in a fork child for a thread that did not come along.
INTERNAL NOINLINE void visit_settle(struct heap *heap);

#endif
