// Fork: the process doubles while no other thread is in the middle of a change (H5). The child takes over what the
// threads that did not come along had in their stacks, outboxes and leases.
//
// F1. registry.spare_lock is held from prepare to parent or child: forks of several threads come one after the other,
//     no heap is made, and threads without a heap wait.
// F2. The forking thread itself goes in and out as ever: what other libraries' fork handlers allocate is served.
// F3. A thread that does not come out (a signal handler keeps it there) is waited for FORK_PATIENCE_MS long. Then the
//     child does without its heap, and with what it had in hand lost.
// F4. A thread that is shut out for GATE_PATIENCE_MS goes in all the same, and F3 is what the child does then: the
//     forking thread may be waiting for a lock of another library that this one holds. One that changes size classes
//     waits for nobody: it is waited for.
#include "big/cache.h"
#include "heap/helper.h"
#include "heap/registry.h"
#include "heap/transfer.h"
#include "heap/visit.h"
#include "region/meta.h"
#include "region/runs.h"
#include "sample/lives.h"

// The other threads' heaps.
static void for_each_other(void (*act)(struct heap *heap)) {
    const struct heap *mine = thread_stacks.heap;
    for (struct list *node = registry.all.next; node != &registry.all; node = node->next) {
        struct heap *heap = LIST_OWNER(node, struct heap, link);
        if (heap != mine && heap->stacks != NULL)
            act(heap);
    }
}

// Waits at least one spin's time for its thread to come out.
static bool gate_try_shut(struct heap *heap) {
    for (unsigned spin = 0; spin < LOCK_SPINS; spin++) {
        uint32_t outside = GATE_OUTSIDE;
        if (swap_acquire(&heap->gate, outside, GATE_SHUT)) // acquire: pairs with heap_leave
            return true;
        spin_pause();
    }
    return false;
}

static void gate_shut(struct heap *heap) {
    for (unsigned slept = 0; slept < FORK_PATIENCE_MS * 1000 && !gate_try_shut(heap); slept += FORK_SLEEP_US)
        os_sleep(FORK_SLEEP_US);
}

static void gate_open(struct heap *heap) {
    uint32_t shut = GATE_SHUT;
    // Fails after F3 and F4. Total order: what was done meanwhile (H6) comes before the thread goes in
    (void)swap_total(&heap->gate, shut, GATE_OUTSIDE);
}

void heap_fork_prepare(void) {
    registry_enter_spare(); // F1
    for_each_other(gate_shut);
}

void heap_let_others(void) {
    for_each_other(gate_open);
    store_relaxed(&registry.changes_rows, 0u); // as in heap_try_stop_others
    // release: who sees the new turn sees the gates open; pairs with heap_enter_later
    store_release(&registry.fork_turn, registry.fork_turn + 1);
    registry_leave_spare();
    os_wake_all(&registry.fork_turn);
}

bool heap_try_begin_stop(void) {
    if (!registry_try_enter_spare()) // F1; a thread that forks may be waiting for us
        return false;
    store_relaxed(&registry.changes_rows, 1u); // before the gates are shut; read by who finds its own shut
    return true;
}

bool heap_try_stop(struct heap *heap) {
    return heap == thread_stacks.heap || heap->stacks == NULL || gate_try_shut(heap);
}

bool heap_try_stop_others(void) {
    if (!heap_try_begin_stop())
        return false;
    for (struct list *node = registry.all.next; node != &registry.all; node = node->next) {
        if (heap_try_stop(LIST_OWNER(node, struct heap, link)))
            continue;
        heap_let_others();
        return false;
    }
    return true;
}

void heap_fork_parent(void) {
    heap_let_others();
}

// Notes how many blocks the dead thread's stacks hold while its tops can still be read: its thread-local storage goes
// to the next thread that starts.
static void note_stacks(struct heap *dead) {
    for (unsigned i = 0; i < CLASS_END; i++)
        dead->classes[i].idle_blocks = (uint8_t)heap_stack_blocks(dead, i);
}

// F3: nobody ends what a thread was changing.
static void forget_changes(void) {
    lock_reset(&learn_lock);
    lock_reset(&registry.statistics_lock);
    lock_reset(&registry.lock);
    lock_reset(&runs_grow_lock);
    transfer_forget_changes();
    depots_forget_changes();
    lock_reset(&runs_lock);
    lock_reset(&mapping_lock);
    lock_reset(&meta_lock);
    runs_forget_purges();
    cache_forget_changes();
}

// A heap whose thread did not come along.
static void take_over(struct heap *dead) {
    bool whole = load_relaxed(&dead->gate) == GATE_SHUT;
    lives_drop(dead);
    if (whole && dead->is_in_doubt)
        visit_settle(dead);
    if (whole)
        note_stacks(dead);
    store_relaxed(&dead->gate, GATE_OUTSIDE);
    dead->entries = 0;
    dead->stacks = NULL;
    store_relaxed(&registry.threads, registry.threads - 1);
    if (whole)
        registry_add_orphan(dead);
    else
        forget_changes();
}

void heap_fork_child(void) {
    helper_forget();
    store_relaxed(&registry.forks, registry.forks + 1); // order: the child has one thread
    for_each_other(take_over);
    registry_leave_spare();
}

void heap_adopt_orphan(void) {
    struct heap *dead = registry_take_orphan();
    if (dead == NULL)
        return;
    for (unsigned i = 0; i < CLASS_END; i++) {
        struct heap_class *own = &dead->classes[i];
        if (own->depth == 0 || own->idle_blocks == 0)
            continue;
        count_add(&own->counters.flushed_blocks, own->idle_blocks);
        put_blocks(heap_bottom(dead, i), own->idle_blocks, i);
    }
    heap_flush_outbox(dead); // counted when they were sent home
    registry_forget_stacks(dead);
    registry_end_heap(dead);
}
