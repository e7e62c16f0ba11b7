// The race detector: which accesses are ordered by what the C memory model calls happens-before.
//
// Two accesses of one byte, at least one of them a write and at least one of them plain, that are not ordered are a
// data race, whatever the schedule made of them. Order comes from release and acquire alone; what was before the
// threads started is before everything.
#ifndef INTERLEAVE_RACES_H
#define INTERLEAVE_RACES_H

#include "machine.h"

struct clocks {
    uint32_t of[THREADS_MOST];
};

// The memory that is looked after.
void races_watch(uintptr_t start, size_t bytes);
// A new schedule.
void races_start(void);

void races_plain(unsigned thread, uintptr_t address, size_t bytes, bool writes, const void *caller);
// An atomic load; `forwarded`: its thread's own store buffer had the value.
void races_load(unsigned thread, const struct operation *operation, bool forwarded);
// An atomic store is issued: `clocks` says what is before it. And: it has reached memory.
void races_store(unsigned thread, const struct operation *operation, struct clocks *clocks);
void races_stored(const struct operation *operation, const struct clocks *clocks);
// A read-modify-write; `wrote`: it was no compare and swap that failed.
void races_change(unsigned thread, const struct operation *operation, bool wrote);
// Everything so far is before what the thread does next.
void races_join_all(unsigned thread);

#endif
