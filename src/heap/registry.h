// All heaps of the process.
#ifndef HEAP_REGISTRY_H
#define HEAP_REGISTRY_H

#include "heap/heap.h"
#include "sys/lock.h"

struct registry {
    struct lock lock;
    struct lock spare_lock;      // held by a thread without a heap while it is inside (H5)
    struct lock statistics_lock; // for whoever sums the counters of all heaps
    struct list all;             // heaps, by link; only grows. Written under lock and spare_lock
    struct list without_thread;  // heaps to reuse, by free_link. Under lock
    struct list orphans;         // after fork: heaps whose stacks still hold blocks, by free_link. Under lock
    uint32_t orphan_count;       // hint for readers without the lock
    uint32_t heaps;              // made so far. Under lock
    uint32_t threads;            // that have a heap. Under lock; read without it as a hint
    struct heap *first;          // the first thread's heap, see registry_take_early_heap. Under lock
    uintptr_t first_thread;
    struct heap *spare;     // serves threads without a heap. Under spare_lock
    uintptr_t spare_thread; // who holds spare_lock; 0: nobody
    uint32_t spare_entries; // of that thread
    uint32_t fork_turn;     // grows when the gates open again: those who were shut out sleep on it
    uint32_t forks;         // that the process comes from, one after the other
    uint32_t changes_rows;  // 1: the gates are shut by who changes size classes (H6), and will open for sure
};
SHARED struct registry registry;
// What is learned, whole: the lock of the layer above, which stands here for a fork child to find it (F3 in
// heap/fork.c).
SHARED struct lock learn_lock;

// Heaps start on a page of their own.
#define HEAP_ALIGN 4096

INTERNAL struct heap *registry_new_heap(void);
INTERNAL void registry_start(void);
// The part of heap_enter and heap_leave for threads without a heap; also while a heap is made, and while one forks.
INTERNAL void registry_enter_spare(void);
INTERNAL bool registry_try_enter_spare(void);
INTERNAL void registry_leave_spare(void);
// Forgets a heap's stacks; they are empty or lost.
INTERNAL void registry_forget_stacks(struct heap *heap);
// A heap without stacks and without a thread goes to those to be reused.
INTERNAL void registry_end_heap(struct heap *heap);
// A heap whose thread did not come along into a fork child.
INTERNAL void registry_add_orphan(struct heap *heap);
INTERNAL struct heap *registry_take_orphan(void);
// What the operating system calls when a thread ends; `value` is its heap.
INTERNAL void registry_thread_ended(void *value);

#endif
