// Parked stacks: what makes a deep stack deeper where that pays.
//
// A stack that is full may be parked as a whole, but for its newest blocks, instead of being flushed; it serves a later
// refill without its slabs being touched and without a block being moved. A class earns room for it: each refill that
// takes back from slabs what was flushed before shows that flushing was in vain, and allows one more. So the first
// burst goes back at once, and a loop that frees and takes the same blocks soon stops paying. The idea of passing whole
// stacks around is that of Bonwick and Adams' magazines ("Magazines and vmem", USENIX 2001); here they stay with their
// thread.
//
// K1. A parked cell holds PARK_BLOCKS blocks above its lowest slot, and in that slot the next parked cell.
// K2. Parked blocks count as granted bytes of the thread's budget.
#include <string.h>

#include "heap/heap.h"

static size_t parked_bytes(unsigned class_index) {
    return PARK_BLOCKS * class_bytes(class_index);
}

void heap_allow_parking(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    if (own->depth == STACK_MAX_DEPTH && (own->park_allowance + 1u) * parked_bytes(class_index) <= STACK_PARK_BYTES)
        own->park_allowance++;
}

bool heap_park(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    if (own->parked_count >= own->park_allowance || own->depth != STACK_MAX_DEPTH ||
        !heap_fits_budget(heap, parked_bytes(class_index)))
        return false;
    CHECK(heap_stack_blocks(heap, class_index) == STACK_MAX_DEPTH);
    void **full = own->cell;
    void **cell = heap_take_cell(heap);
    if (cell == NULL)
        return false;
    // The newest stay: so a program that frees and takes a few blocks here does not park and unpark all the time.
    memcpy(cell + 1, full + 1 + PARK_BLOCKS, PARK_KEEP * sizeof *cell);
    own->cell = cell;
    store_relaxed(&heap->stacks->top[class_index], cell + 1 + PARK_KEEP);
    full[0] = own->parked;
    own->parked = full;
    store_relaxed(&own->parked_count, (uint16_t)(own->parked_count + 1));
    heap->granted_bytes += parked_bytes(class_index);
    return true;
}

// Takes the cell that was parked last off its class.
static void **parked_take(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    void **cell = own->parked;
    own->parked = cell[0];
    store_relaxed(&own->parked_count, (uint16_t)(own->parked_count - 1));
    heap->granted_bytes -= parked_bytes(class_index);
    return cell;
}

void *heap_unpark(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    CHECK(heap_stack_blocks(heap, class_index) == 0);
    if (own->depth < STACK_MAX_DEPTH) // it was made shallower since
        heap_set_depth(heap, class_index, STACK_MAX_DEPTH);
    void **cell = parked_take(heap, class_index);
    heap_spare_cell(heap, own->cell);
    cell[0] = NULL; // T1
    own->cell = cell;
    store_relaxed(&heap->stacks->top[class_index], cell + PARK_BLOCKS);
    return cell[PARK_BLOCKS];
}

void heap_flush_parked(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    void **cell = parked_take(heap, class_index);
    own->park_allowance -= own->park_allowance > 0;
    own->fresh_drained = false;
    count_add(&own->counters.flushes, 1);
    count_add(&own->counters.flushed_blocks, PARK_BLOCKS);
    put_blocks(cell + 1, PARK_BLOCKS, class_index);
    heap_spare_cell(heap, cell);
}
