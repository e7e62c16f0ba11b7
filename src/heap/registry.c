// Heaps and threads: which thread has which heap, from a thread's first slow call to its end.
#include "heap/registry.h"
#include "heap/transfer.h"
#include "heap/visit.h"
#include "region/meta.h"
#include "sample/lives.h"
#include "sys/options.h"
#include "sys/os.h"

#define CLASSES_TO_KIB (CLASS_FIRST + CLASS_LINEAR_COUNT + 2 * CLASS_FINE_STEPS) // two doublings behind 256 B
_Static_assert(offsetof(struct heap, classes) + CLASSES_TO_KIB * sizeof(struct heap_class) <= PAGE_LEAST_BYTES, "H7");

INTERNAL struct constant_stack constant_stack __attribute__((aligned(STACK_BYTES)));

#define STACKS_INITIAL                                  \
    {                                                   \
        .top = { [0 ... CLASS_END - 1] = CONSTANT_TOP } \
    }

#ifdef HAKMEM_TLS_POINTER
// Shared by all threads without a heap; never written: both of the fast path's tests fail on it (T2).
static struct stacks stacks_not_started = STACKS_INITIAL;
static struct stacks stacks_ended = {.top = {[0 ... CLASS_END - 1] = CONSTANT_TOP}, .ended = true};
INTERNAL __thread struct stacks *thread_stacks_pointer __attribute__((tls_model("initial-exec"))) = &stacks_not_started;
#else
INTERNAL __thread struct stacks thread_stacks __attribute__((tls_model("initial-exec"))) = STACKS_INITIAL;
#endif

INTERNAL struct registry registry = {
    .lock = LOCK_INIT(registry), .spare_lock = LOCK_INIT(spare), .statistics_lock = LOCK_INIT(statistics)};
INTERNAL struct lock learn_lock = LOCK_INIT(learn);
INTERNAL uint32_t heap_trim_turn;

#ifdef HAKMEM_TLS_POINTER
void stacks_set_early(void) {
    if (thread_stacks_pointer == NULL)
        thread_stacks_pointer = &stacks_not_started;
}

static struct stacks *thread_stacks_of(struct heap *heap) {
    return &heap->own_stacks;
}

static void thread_take_stacks(struct heap *heap) {
    heap->own_stacks = stacks_not_started;
    heap->stacks = &heap->own_stacks;
    thread_stacks_pointer = heap->stacks;
}

static void thread_leave_stacks(void) {
    thread_stacks_pointer = &stacks_ended;
}
#else
void stacks_set_early(void) {
    for (unsigned i = 0; i < CLASS_END; i++)
        if (thread_stacks.top[i] == NULL)
            thread_stacks.top[i] = CONSTANT_TOP;
}

static struct stacks *thread_stacks_of(struct heap *heap) {
    (void)heap;
    return &thread_stacks;
}

static void thread_take_stacks(struct heap *heap) {
    heap->stacks = &thread_stacks;
}

static void thread_leave_stacks(void) {
    thread_stacks.limit = 0;
    thread_stacks.heap = NULL;
    thread_stacks.ended = true;
}
#endif

// After this a heap is as new; a new one is zeroed memory, of which a thread touches what it uses.
void registry_forget_stacks(struct heap *heap) {
    for (unsigned i = 0; i < CLASS_END; i++)
        while (heap->classes[i].parked != NULL)
            heap_flush_parked(heap, i);
    for (unsigned i = CLASS_FIRST; i <= CLASS_LAST_HELD; i++)
        if (heap->classes[i].passes_on)
            heap->classes[i].passes_on = false;
    store_relaxed(&heap->window_calls, 0u); // others read it
    lives_drop(heap);
    heap->stacks_granted = 0;
    heap->stack_look = 0;
    heap->granted_bytes = 0;
    heap->outbox_blocks = 0;
    for (unsigned i = 0; i < CLASS_END; i++) {
        if (heap->classes[i].cell == NULL)
            continue;
        heap_spare_cell(heap, heap->classes[i].cell);
        heap->classes[i].cell = NULL;
        store_relaxed(&heap->classes[i].depth, 0);
        heap->classes[i].idle_blocks = 0;
        heap->classes[i].last_turn = 0;
        heap->classes[i].park_allowance = 0;
        heap->classes[i].rise = 0;
        heap->classes[i].fall = 0;
    }
    heap->turn = 0;
    heap->refill_turn = 0;
    heap->visit_turn = 0;
    heap->phase_turns = FREE_PHASE_TURNS;
}

struct heap *registry_new_heap(void) {
    struct heap *heap = meta_take(sizeof(struct heap), HEAP_ALIGN);
    if (heap == NULL)
        return NULL;
    lock_acquire(&registry.lock);
    uint32_t number = ++registry.heaps;
    list_add_last(&registry.all, &heap->link);
    list_init(&heap->free_link);
    heap->phase_turns = FREE_PHASE_TURNS;
    lock_release(&registry.lock);
    depot_holder_start(&heap->holder, number % TAG_COUNT);
    return heap;
}

// A heap whose thread has gone, or a new one.
static struct heap *registry_take_heap(void) {
    struct heap *heap = NULL;
    lock_acquire(&registry.lock);
    if (!list_is_empty(&registry.without_thread)) {
        heap = LIST_OWNER(registry.without_thread.next, struct heap, free_link);
        list_remove(&heap->free_link);
    }
    lock_release(&registry.lock);
    if (heap == NULL)
        return registry_new_heap();
    depot_holder_revived(&heap->holder);
    return heap;
}

// The heap that the first thread took before its thread-local storage was made anew (api/early.c): what its stacks held
// is lost, its leases go on. NULL: there is none.
static struct heap *registry_take_early_heap(void) {
    struct heap *heap = NULL;
    lock_acquire(&registry.lock);
    if (registry.first != NULL && registry.first_thread == os_thread() && registry.first->stacks != NULL &&
        registry.first->stacks == thread_stacks_of(registry.first)) {
        heap = registry.first;
        heap->stacks = NULL;
        store_relaxed(&registry.threads, registry.threads - 1);
    }
    lock_release(&registry.lock);
    if (heap != NULL)
        registry_forget_stacks(heap);
    return heap;
}

// A heap for the calling thread, or NULL: no memory.
static struct heap *thread_take_heap(void) {
    struct heap *heap = registry_take_early_heap();
    if (heap == NULL)
        heap = registry_take_heap();
    if (heap == NULL)
        return NULL;
    lock_acquire(&registry.lock); // readers of other threads' tops hold it
    store_relaxed(&registry.threads, registry.threads + 1);
    if (registry.first == NULL) {
        registry.first = heap;
        registry.first_thread = os_thread();
    }
    thread_take_stacks(heap);
    lock_release(&registry.lock);
    thread_stacks.heap = heap;
    heap->trim_turn = load_relaxed(&heap_trim_turn);
    if (options.fastlane == OPTION_FASTLANE_ON) {
        thread_stacks.view = window.views + heap->holder.tag;
        thread_stacks.limit = window.limit;
    }
    return heap;
}

static COLD struct heap *thread_start(void) {
    if (thread_stacks.ended || !heap_process_start())
        return NULL;
    registry_enter_spare(); // a thread that forks waits for it, and finds heaps that are whole
    struct heap *heap = thread_take_heap();
    registry_leave_spare();
    if (heap != NULL)
        os_thread_exit_arm(heap); // it may allocate
    return heap;
}

void registry_enter_spare(void) {
    uintptr_t self = os_thread();
    if (load_relaxed(&registry.spare_thread) != self) {
        lock_acquire(&registry.spare_lock);
        store_relaxed(&registry.spare_thread, self);
    }
    registry.spare_entries++;
}

bool registry_try_enter_spare(void) {
    if (!lock_try(&registry.spare_lock))
        return false;
    store_relaxed(&registry.spare_thread, os_thread());
    registry.spare_entries++;
    return true;
}

void registry_leave_spare(void) {
    if (--registry.spare_entries > 0)
        return;
    store_relaxed(&registry.spare_thread, 0);
    lock_release(&registry.spare_lock);
}

// Another thread is forking: waits until it has.
static NOINLINE void heap_enter_later(struct heap *heap) {
    for (;;) {
        uint32_t turn = load_acquire(&registry.fork_turn); // acquire: then the gates are seen open; pairs: fork.c
        uint32_t outside = GATE_OUTSIDE;
        if (swap_acquire(&heap->gate, outside, GATE_INSIDE)) // acquire: none before; see heap_leave
            return;
        uint32_t shut = GATE_SHUT;
        if (!os_wait_for(&registry.fork_turn, turn, GATE_PATIENCE_MS) && load_relaxed(&registry.changes_rows) == 0 &&
            swap_acquire(&heap->gate, shut, GATE_INSIDE)) // F4 in fork.c; acquire: as above
            return;
    }
}

struct heap *heap_mine(void) {
    struct heap *heap = thread_stacks.heap;
    return LIKELY(heap != NULL) ? heap : thread_start();
}

struct heap *heap_enter(void) {
    struct heap *heap = heap_mine();
    if (UNLIKELY(heap == NULL)) {
        registry_enter_spare();
        return NULL;
    }
    if (heap->entries++ > 0)
        return heap;
    uint32_t outside = GATE_OUTSIDE;
    if (os_is_single_threaded())
        store_relaxed(&heap->gate, GATE_INSIDE);
    else if (UNLIKELY(!swap_acquire(&heap->gate, outside, GATE_INSIDE))) // acquire: nothing in here before; see leave
        heap_enter_later(heap);
    if (UNLIKELY(heap->is_in_doubt))
        visit_settle(heap);
    return heap;
}

void heap_leave(struct heap *heap) {
    if (UNLIKELY(heap == NULL))
        registry_leave_spare();
    else if (--heap->entries == 0)
        store_release(&heap->gate, GATE_OUTSIDE); // release: who shuts the gate sees all; pairs with fork.c
}

void registry_end_heap(struct heap *heap) {
    heap_empty(heap);
    depot_holder_ended(&heap->holder);
    lock_acquire(&registry.lock);
    if (heap == registry.first)
        registry.first_thread = 0; // a later thread may have the same address
    if (heap->stacks != NULL) {    // else in a fork child: its thread went long ago
        store_relaxed(&registry.threads, registry.threads - 1);
        heap->stacks = NULL; // H3
    }
    list_add_first(&registry.without_thread, &heap->free_link);
    lock_release(&registry.lock);
}

void registry_thread_ended(void *value) {
    struct heap *heap = value;
    if (thread_stacks.heap != heap)
        return;
    heap_enter();
    heap_empty(heap);
    for (unsigned i = 0; i < heap->stacks_granted; i++) // what it passed on may have been for nobody else
        transfer_empty(heap, heap->stack_classes[i]);
    for (unsigned i = 0; i < CLASS_END; i++)
        store_relaxed(&thread_stacks.top[i], CONSTANT_TOP);
    registry_forget_stacks(heap);
    thread_leave_stacks();
    heap_leave(heap); // to a fork child that begins here the heap is one with empty stacks
    registry_enter_spare();
    registry_end_heap(heap);
    registry_leave_spare();
}

void registry_start(void) {
    list_init(&registry.all);
    list_init(&registry.without_thread);
    list_init(&registry.orphans);
    registry.spare = registry_new_heap();
}

void registry_add_orphan(struct heap *heap) {
    list_add_last(&registry.orphans, &heap->free_link);
    store_relaxed(&registry.orphan_count, registry.orphan_count + 1);
}

struct heap *registry_take_orphan(void) {
    struct heap *heap = NULL;
    lock_acquire(&registry.lock);
    if (!list_is_empty(&registry.orphans)) {
        heap = LIST_OWNER(registry.orphans.next, struct heap, free_link);
        list_remove(&heap->free_link);
        store_relaxed(&registry.orphan_count, registry.orphan_count - 1);
    }
    lock_release(&registry.lock);
    return heap;
}

void heap_for_each(void (*visit)(struct heap *heap, void *context), void *context) {
    lock_acquire(&registry.lock);
    for (struct list *node = registry.all.next; node != &registry.all && node != NULL; node = node->next)
        visit(LIST_OWNER(node, struct heap, link), context);
    lock_release(&registry.lock);
}
