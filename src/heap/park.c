// Parked stacks: what makes a deep stack deeper where that pays.
//
// A stack that is full may be parked as a whole, but for its newest blocks, instead of being flushed; it serves a later
// refill without its slabs being touched and without a block being moved. A class earns room for it by swings: a row of
// full stacks followed by a row of refills shows that flushing was in vain, as far as the two match. So the first burst
// goes back at once, a loop that frees and takes the same blocks soon stops paying, and swings too large to be parked
// as a whole park nothing: a part of their blocks would keep slabs and pages of all of them.
//
// Swings too small to earn anything are kept without, up to a small share of what the class has in use. A thread that
// only frees loses it again.
//
// The idea of keeping whole stacks is that of Bonwick and Adams' magazines ("Magazines and vmem", USENIX 2001); these
// stay with their thread. What threads pass around goes through transfer.c.
//
// K1. A parked cell holds PARK_BLOCKS blocks above its lowest slot, and in that slot the next parked cell.
// K2. Parked blocks count as granted bytes of the thread's budget.
#include <string.h>

#include "heap/registry.h"

static size_t parked_bytes(unsigned class_index) {
    return PARK_BLOCKS * class_bytes(class_index);
}

// How many cells the class may park now.
static unsigned parked_most(const struct heap_class *own, unsigned class_index) {
    unsigned earned = own->park_allowance / PARK_UNIT;
    bool only_frees = own->rise > 2 * PARK_LEAST_SWING;
    if (only_frees)
        return earned;
    size_t threads = load_relaxed(&registry.threads);
    size_t share = slab_in_use_blocks(class_index) / ((size_t)PARK_SHARE * PARK_BLOCKS * (threads == 0 ? 1 : threads));
    unsigned unearned = share < PARK_LEAST_SWING ? (unsigned)share : PARK_LEAST_SWING;
    return unearned > earned ? unearned : earned;
}

void heap_note_full(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    if (class_bytes(class_index) > PARK_MOST_BYTES)
        return;
    if (own->fall > 0) { // the first after refills
        unsigned swing = own->rise < own->fall ? own->rise : own->fall;
        if (swing > PARK_MOST_SWING || swing * parked_bytes(class_index) > STACK_PARK_BYTES)
            own->park_allowance = 0;
        else if (swing >= PARK_LEAST_SWING && swing * PARK_UNIT >= own->park_allowance)
            own->park_allowance = swing * PARK_UNIT;
        else
            own->park_allowance -= own->park_allowance / PARK_FADE_SHARE;
        own->rise = 0;
        own->fall = 0;
    }
    own->rise += own->rise < UINT16_MAX;
    if (own->parked_count == 0)
        return;
    for (unsigned most = parked_most(own, class_index); own->parked_count > most;)
        heap_flush_parked(heap, class_index);
}

bool heap_park(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    if (own->depth != STACK_MAX_DEPTH || heap_stack_blocks(heap, class_index) != STACK_MAX_DEPTH ||
        own->parked_count >= parked_most(own, class_index) || !heap_fits_budget(heap, parked_bytes(class_index)))
        return false;
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
    own->park_allowance -= own->park_allowance < PARK_UNIT ? own->park_allowance : PARK_UNIT;
    own->fresh_drained = false;
    count_add(&own->counters.flushes, 1);
    count_add(&own->counters.flushed_blocks, PARK_BLOCKS);
    put_blocks(cell + 1, PARK_BLOCKS, class_index);
    heap_spare_cell(heap, cell);
}
