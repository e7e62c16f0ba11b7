// Visits threads, and takes what they do not use.
#include "heap/visit.h"

#include "heap/registry.h"
#include "heap/sampling.h"
#include "slab/sparse.h"
#include "sys/os.h"

#define VISIT_LEASES 128u // taken before the threads are let in again
#define VISIT_STACKS 96u
#define VISIT_LEAST_BLOCKS 2u  // in a stack, of which the newest stays
#define VISIT_TRIM_SLABS 4096u // of a class looked at: some milliseconds

// What was taken out of a stack.
struct lifted {
    struct heap *heap;
    unsigned class_index;
    unsigned count;
    bool is_taken;    // V4. By the visitor
    bool is_in_doubt; // V5. By the heap's thread, once it is let in again
    void *blocks[STACK_SLOTS];
};

// By the visitor; what is in doubt by that heap's thread.
static struct {
    unsigned count;
    uint32_t doubts; // of them
    struct lifted stacks[VISIT_STACKS];
} lifted;
static bool was_busy[CLASS_END]; // at the last visit, some thread's class; by the visitor

struct visit {
    struct list *next;   // heap to go on with
    unsigned next_class; // of that one: none is looked at twice
    bool takes_stacks;
    bool is_whole; // no thread was inside
    bool is_busy[CLASS_END];
    unsigned count;
    struct slab *leases[VISIT_LEASES];
};

static void take_lease(struct visit *visit, struct slab **lease) {
    if (*lease == NULL)
        return;
    visit->leases[visit->count++] = *lease;
    store_relaxed(lease, NULL); // order: by the gate
}

// V3, as far as the thread lets it.
static unsigned lift_blocks(void **bottom, unsigned count, void **blocks) {
    for (unsigned i = 0; i < count; i++) {
        void *block = load_relaxed(&bottom[i]); // order: by the barrier, as the swap's
        if (block == NULL || !swap_relaxed(&bottom[i], block, NULL))
            return i;
        blocks[i] = block;
    }
    return count;
}

// V2. Its thread may use the stack meanwhile, also in a sampling window.
static bool has_lain_idle(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    uint8_t blocks = (uint8_t)heap_stack_blocks(heap, class_index);
    bool is_as_before = blocks == own->visit_blocks;
    own->visit_blocks = blocks;
    return is_as_before && heap->turn - own->last_turn >= heap->turn - heap->visit_turn;
}

// Its thread may use the stack meanwhile.
static void lift_stack(struct heap *heap, unsigned class_index) {
    unsigned blocks = heap_stack_blocks(heap, class_index);
    if (blocks < VISIT_LEAST_BLOCKS)
        return;
    struct lifted *stack = &lifted.stacks[lifted.count];
    *stack = (struct lifted){.heap = heap, .class_index = class_index};
    stack->count = lift_blocks(heap_bottom(heap, class_index), blocks - 1, stack->blocks);
    lifted.count += stack->count > 0;
}

// False: there is no room for more.
static bool take_idle(struct visit *visit, struct heap *heap) {
    bool takes_stacks = visit->takes_stacks && heap != thread_stacks.heap && !heap_is_sampling(heap);
    for (unsigned i = visit->next_class; i < CLASS_END; i++) {
        struct heap_class *own = &heap->classes[i];
        visit->next_class = i;
        if (visit->count + 2 > VISIT_LEASES || (takes_stacks && lifted.count == VISIT_STACKS))
            return false;
        if (!has_lain_idle(heap, i)) {
            visit->is_busy[i] = true;
            continue;
        }
        take_lease(visit, &own->slab);
        take_lease(visit, &own->fresh);
        if (takes_stacks)
            lift_stack(heap, i);
    }
    heap->visit_turn = heap->turn;
    return true;
}

// Of as many heaps as there is room for, from visit->next on.
static void take_from_heaps(struct visit *visit) {
    for (; visit->next != &registry.all; visit->next = visit->next->next) {
        struct heap *heap = LIST_OWNER(visit->next, struct heap, link);
        if (heap->stacks == NULL)
            continue;
        if (!heap_try_stop(heap))
            visit->is_whole = false;
        else if (!take_idle(visit, heap))
            return;
        visit->next_class = CLASS_FIRST;
    }
}

// V4. True: its blocks are the visitor's.
static bool take_lifted(const struct lifted *stack) {
    struct heap *heap = stack->heap;
    struct heap_class *own = &heap->classes[stack->class_index];
    void **bottom = heap_bottom(heap, stack->class_index);
    // acquire: what was pushed below that top, and what its thread did to the blocks before; pairs with stack_push
    void **top = load_acquire(&heap->stacks->top[stack->class_index]);
    if (top <= bottom + stack->count || load_relaxed(&bottom[stack->count - 1]) != NULL) // order: as above
        return false;
    unsigned depth = own->depth - stack->count;
    heap->granted_bytes -= stack->count * class_bytes(stack->class_index);
    store_relaxed(&own->depth, (uint8_t)depth);                    // read by others as a hint
    own->batch = own->batch > depth ? (uint8_t)depth : own->batch; // H4
    own->visit_blocks -= (uint8_t)stack->count;
    own->is_cut = true;
    count_add(&own->counters.flushes, 1);
    count_add(&own->counters.flushed_blocks, stack->count);
    return true;
}

static void take_all_lifted(void) {
    uint32_t doubts = 0;
    bool has_passed = lifted.count > 0 && os_barrier();
    for (unsigned i = 0; i < lifted.count; i++) {
        struct lifted *stack = &lifted.stacks[i];
        stack->is_taken = has_passed && take_lifted(stack);
        stack->is_in_doubt = !stack->is_taken;
        if (stack->is_taken)
            continue;
        stack->heap->is_in_doubt = true;
        doubts++;
    }
    store_relaxed(&lifted.doubts, doubts); // order: by the gates
}

static void give_back(const struct visit *visit) {
    for (unsigned i = 0; visit->takes_stacks && i < lifted.count; i++)
        if (lifted.stacks[i].is_taken)
            put_blocks(lifted.stacks[i].blocks, lifted.stacks[i].count, lifted.stacks[i].class_index);
    for (unsigned i = 0; i < visit->count; i++)
        depot_unlease(visit->leases[i]);
}

// Classes that nobody has used since the last visit, but before: their idle pages go.
static void trim_idle_classes(const struct visit *visit) {
    for (unsigned i = CLASS_LAST_HELD + 1; i < CLASS_END; i++) {
        if (was_busy[i] && !visit->is_busy[i])
            sparse_trim_class(i, VISIT_TRIM_SLABS);
        was_busy[i] = visit->is_busy[i];
    }
}

void visit_idle(void) {
    // The list only grows.
    struct visit visit = {.next = registry.all.next, .next_class = CLASS_FIRST, .is_whole = true};
    bool may_take = !os_is_confined() && os_barrier(); // the first one of a process takes longer
    while (visit.next != &registry.all) {
        if (!heap_try_begin_stop())
            return;
        visit.count = 0;
        // acquire: who has settled the last doubt is through with all of it; pairs with visit_settle
        visit.takes_stacks = may_take && load_acquire(&lifted.doubts) == 0;
        if (visit.takes_stacks)
            lifted.count = 0;
        take_from_heaps(&visit);
        if (visit.takes_stacks)
            take_all_lifted();
        heap_let_others();
        give_back(&visit);
    }
    if (visit.is_whole)
        trim_idle_classes(&visit);
}

void visit_settle(struct heap *heap) {
    uint32_t settled = 0;
    for (unsigned i = 0; i < lifted.count; i++) {
        struct lifted *stack = &lifted.stacks[i];
        if (stack->heap != heap || !stack->is_in_doubt)
            continue;
        void **bottom = heap_bottom(heap, stack->class_index);
        unsigned have = heap_stack_blocks(heap, stack->class_index);
        for (unsigned k = 0; k < stack->count && k < have && bottom[k] == NULL; k++)
            bottom[k] = stack->blocks[k];
        stack->is_in_doubt = false;
        settled++;
    }
    heap->is_in_doubt = false;
    // release: the visitor finds all of it settled; pairs with visit_idle
    sub_release(&lifted.doubts, settled);
}
