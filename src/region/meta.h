// Metadata memory: apart from user data, between guard pages, never unmapped.
//
// M1. Memory handed out stays readable and of its kind for ever (type-stable): a reader that comes late reads stale
//     data, never another kind's, and never faults.
#ifndef REGION_META_H
#define REGION_META_H

#include "sys/lock.h"

SHARED struct lock meta_lock;

// Zeroed memory for records of one kind, aligned to `align` (a power of two up to the OS page). NULL: none to be had.
// Takes the lock of rank meta.
INTERNAL void *meta_take(size_t bytes, size_t align);
INTERNAL size_t meta_bytes(void);

#endif
