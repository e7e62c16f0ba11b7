// What the scripts need to know of the subject beyond its own headers.
#ifndef INTERLEAVE_SUBJECT_H
#define INTERLEAVE_SUBJECT_H

#include "heap/registry.h"
#include "heap/transfer.h"
#include "region/runs.h"
#include "script.h"

// Makes the calling code a thread's: its thread-local storage.
void subject_enter(unsigned thread);
void subject_leave(unsigned thread);
// A thread that has just begun.
void subject_new_thread(unsigned thread);
// Calls back for each descriptor that waits for reuse.
void subject_each_waiting(void (*visit)(const struct slab *slab));
// Does a block wait in its class's transfer cache?
bool subject_is_in_transfer(const void *block, unsigned class_index);
// Is a purge under way?
bool subject_is_purging(void);

#endif
