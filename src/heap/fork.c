// Fork: nobody holds a lock while the process doubles; the child takes over what the threads that did not come along
// had in their stacks, outboxes and leases.
//
// F1. The forking thread holds every lock, in rank order, from prepare to parent or child. Taking the first one
//     serialises forks of several threads.
// F2. In the child a block may be lost where its thread was between two steps (T4, S1), but none is doubled: a bit that
//     is set already is left alone.
#include "big/mapping.h"
#include "heap/registry.h"
#include "region/meta.h"
#include "region/runs.h"

// Every lock of the library in rank order.
static void for_each_lock(void (*act)(struct lock *lock)) {
    act(&registry.statistics_lock);
    act(&registry.lock);
    act(&registry.spare_lock);
    act(&runs_grow_lock);
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        act(&depots[i].lock);
    act(&runs_lock);
    act(&mapping_lock);
    act(&meta_lock);
}

void heap_fork_prepare(void) {
    for_each_lock(lock_acquire_for_fork);
    lock_fork_begin();
}

void heap_fork_parent(void) {
    lock_fork_end();
    for_each_lock(lock_release);
}

// Moves the blocks of a stack or outbox to their slabs.
static void take_over_blocks(struct heap *dead, void *const *blocks, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!put_is_free(blocks[i])) // F2
            put_mixed_blocks(&blocks[i], 1, &dead->holder);
}

// A slab that a dead thread had LEASED: listed, or given back.
static void take_over_lease(struct heap *dead, const struct heap *mine, struct slab *slab) {
    if (slab == NULL || slab_state_of(load_relaxed(&slab->state)) != SLAB_LEASED)
        return; // the thread was before its first step, or behind its last
    const struct heap_class *ours = mine == NULL ? NULL : &mine->classes[slab->class_index];
    if (ours != NULL && (ours->slab == slab || ours->fresh == slab))
        return; // the thread was about to lose the race for it
    list_init(&slab->link);
    depot_unlease(slab, &dead->holder);
}

// Notes how many blocks the dead thread's stacks hold while its tops can still be read: its thread-local storage goes
// to the next thread that starts.
static void note_stacks(struct heap *dead) {
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        struct heap_class *own = &dead->classes[i];
        own->idle_blocks = 0;
        if (own->depth == 0)
            continue;
        void **top = dead->stacks->top[i];
        void **bottom = heap_bottom(dead, i);
        if (top >= bottom && top <= heap_cell_end(dead, i)) // else the bottom was just moving
            own->idle_blocks = (uint8_t)(top - bottom);
    }
}

void heap_fork_child(void) {
    struct heap *mine = thread_stacks.heap;
    lock_fork_end();
    for_each_lock(lock_reset);
    for (struct list *node = registry.all.next; node != &registry.all; node = node->next) {
        struct heap *dead = LIST_OWNER(node, struct heap, link);
        if (dead == mine || dead->stacks == NULL)
            continue;
        struct slab *in_transit = dead->holder.in_transit;
        take_over_lease(dead, mine, in_transit);
        for (unsigned i = 0; i < CLASS_COUNT; i++) {
            take_over_lease(dead, mine, dead->classes[i].slab);
            take_over_lease(dead, mine, dead->classes[i].fresh);
            dead->classes[i].slab = NULL;
            dead->classes[i].fresh = NULL;
        }
        note_stacks(dead);
        registry_add_orphan(dead);
    }
}

void heap_adopt_orphan(void) {
    struct heap *dead = registry_take_orphan();
    if (dead == NULL)
        return;
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        struct heap_class *own = &dead->classes[i];
        if (own->depth == 0)
            continue;
        take_over_blocks(dead, heap_bottom(dead, i), own->idle_blocks);
        count_add(&own->counters.flushed_blocks, own->idle_blocks);
    }
    take_over_blocks(dead, dead->outbox, dead->outbox_blocks); // counted when they were sent home
    registry_forget_stacks(dead);
    registry_end_heap(dead);
}
