// What must hold when no thread is under way: the invariants of slab.h, depot.h and runs.h, and nothing lost.
#include "big/mapping.h"
#include "region/meta.h"
#include "world.h"

// --- Slabs ---------------------------------------------------------------------------------------

static const struct slab *slabs[WORLD_SLICES];
static unsigned slab_total;

static void find_slabs(void) {
    slab_total = 0;
    for (size_t slice = 0; slice < WORLD_SLICES; slice++) {
        const struct slab *slab = slab_of_slice(slice);
        if (slab != NULL && slab->first_slice == slice)
            slabs[slab_total++] = slab;
        else if (slab != NULL && slab_of_slice(slab->first_slice) != slab)
            interleave_fail("slice %zu belongs to a slab that starts elsewhere", slice);
    }
}

static unsigned number_of(const struct slab *slab) {
    for (unsigned i = 0; i < slab_total; i++)
        if (slabs[i] == slab)
            return i;
    interleave_fail("a descriptor in use has no slices");
}

unsigned world_slabs(unsigned class_index) {
    unsigned count = 0;
    find_slabs();
    for (unsigned i = 0; i < slab_total; i++)
        count += slabs[i]->class_index == class_index;
    return count;
}

static enum slab_state state_of(const struct slab *slab) {
    return slab_state_of(slab->state);
}

static bool bit_of(const struct slab *slab, unsigned index) {
    return slab->bits[index / 64] >> (index % 64) & 1;
}

static unsigned bits_of(const struct slab *slab) {
    unsigned count = 0;
    for (unsigned i = 0; i < size_classes[slab->class_index].words; i++)
        count += bits_count(slab->bits[i]);
    return count;
}

// --- Who has a slab ------------------------------------------------------------------------------

static void each_heap(void (*visit)(const struct heap *heap)) {
    for (const struct list *node = registry.all.next; node != &registry.all; node = node->next)
        visit(LIST_OWNER(node, struct heap, link));
}

static unsigned leases[WORLD_SLICES];   // how many heaps have leased the slab
static unsigned listings[WORLD_SLICES]; // in how many lists it is

static void count_lease(const struct slab *slab, unsigned class_index) {
    if (slab == NULL)
        return;
    if (slab->class_index != class_index || state_of(slab) != SLAB_LEASED)
        interleave_fail("a heap has leased slab %u, which is in state %d", number_of(slab), state_of(slab));
    leases[number_of(slab)]++;
}

static void count_leases(const struct heap *heap) {
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        count_lease(heap->classes[i].slab, i);
        count_lease(heap->classes[i].fresh, i);
    }
    bool has_thread = heap->stacks != NULL || heap == registry.spare;
    for (unsigned i = 0; i < CLASS_COUNT && !has_thread; i++)
        if (heap->classes[i].slab != NULL || heap->classes[i].fresh != NULL)
            interleave_fail("a heap without a thread has leased a slab of class %u", i);
    if (heap->gate != GATE_OUTSIDE || heap->entries != 0)
        interleave_fail("a heap's gate is %u, entered %u times", heap->gate, heap->entries);
}

static unsigned count_list(const struct list *list, unsigned class_index, const struct holder *holder) {
    unsigned count = 0;
    for (const struct list *node = list->next; node != list; node = node->next, count++) {
        const struct slab *slab = LIST_OWNER(node, struct slab, link);
        if (count > WORLD_SLICES || node->next->previous != node)
            interleave_fail("a list of class %u is broken", class_index);
        if (state_of(slab) != SLAB_LISTED || slab->class_index != class_index) // D1
            interleave_fail("slab %u is in a list in state %d", number_of(slab), state_of(slab));
        if (holder != NULL && slab->holder != holder) // D2
            interleave_fail("slab %u is in a list of another holder", number_of(slab));
        if (holder != NULL && holder->ended[class_index])
            interleave_fail("slab %u is in the list of a holder that has ended", number_of(slab));
        listings[number_of(slab)]++;
    }
    return count;
}

static bool has_member(const struct list *list, const struct list *member) {
    for (const struct list *node = list->next; node != list; node = node->next)
        if (node == member)
            return true;
    return false;
}

static void check_depot(unsigned class_index) {
    const struct depot *depot = &depots[class_index];
    unsigned count = count_list(&depot->listed, class_index, NULL);
    if (class_is_held(class_index)) {
        for (const struct list *node = registry.all.next; node != &registry.all; node = node->next) {
            const struct holder *holder = &LIST_OWNER(node, struct heap, link)->holder;
            unsigned own = count_list(&holder->listed[class_index], class_index, holder);
            if ((own > 0) != has_member(&depot->holders, &holder->depot_link[class_index])) // D2
                interleave_fail("a holder with %u listed slabs of class %u is wrongly in or out of the depot", own,
                                class_index);
            count += own;
        }
    } else if (!list_is_empty(&depot->holders)) {
        interleave_fail("class %u has holders", class_index);
    }
    if (depot->slabs != count)
        interleave_fail("the depot of class %u counts %u slabs and lists %u", class_index, depot->slabs, count);
}

// --- Blocks --------------------------------------------------------------------------------------

static const void *sought;
static unsigned found;

static void seek(const struct heap *heap) {
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        const struct heap_class *own = &heap->classes[i];
        for (void *const *cell = own->parked; cell != NULL; cell = cell[0])
            for (unsigned k = 1; k <= PARK_BLOCKS; k++)
                found += cell[k] == sought;
        if (heap->stacks == NULL || own->depth == 0)
            continue;
        void *const *bottom = own->cell + STACK_SLOTS - own->depth;
        for (void *const *slot = bottom; slot < heap->stacks->top[i]; slot++)
            found += *slot == sought;
    }
    for (unsigned i = 0; i < heap->outbox_blocks; i++)
        found += heap->outbox[i] == sought;
}

// S1: every block is in one place.
static void check_block(const struct slab *slab, unsigned index) {
    bool carved = index < slab->carved;
    bool bit = bit_of(slab, index);
    sought = slab_block(slab, index);
    found = 0;
    each_heap(seek);
    found += subject_is_in_transfer(sought, slab->class_index);
    unsigned places = (carved ? bit : 1) + found + world_is_out(sought);
    if (places > 1 || (places == 0 && !world_may_lose) || (bit && !carved))
        interleave_fail("S1: block %u of slab %u is in %u places%s%s%s%s", index, number_of(slab), places,
                        carved ? "" : ", never carved", bit ? ", in the bitmap" : "", found > 0 ? ", in a stack" : "",
                        world_is_out(sought) ? ", with the program" : "");
}

// --- Fork ----------------------------------------------------------------------------------------

// In a fork child, before a dead thread's blocks are brought home: each is there once. A second one would be freed
// again when its slab may have gone to somebody else.
void world_check_orphans(void) {
    const void *known[64];
    unsigned count = 0;
    for (const struct list *node = registry.orphans.next; node != &registry.orphans; node = node->next) {
        const struct heap *heap = LIST_OWNER(node, struct heap, free_link);
        for (unsigned i = 0; i < CLASS_COUNT; i++) {
            const struct heap_class *own = &heap->classes[i];
            for (unsigned k = 0; own->depth > 0 && k < own->idle_blocks; k++)
                known[count++] = own->cell[STACK_SLOTS - own->depth + k];
        }
        for (unsigned i = 0; i < heap->outbox_blocks; i++)
            known[count++] = heap->outbox[i];
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++)
            if (known[i] == known[k])
                interleave_fail("a dead thread's block is in its stacks twice");
}

// --- All together ----------------------------------------------------------------------------------

static unsigned free_listed[CLASS_COUNT]; // wholly free slabs that are listed

static void check_slab(const struct slab *slab) {
    const struct size_class *row = &size_classes[slab->class_index];
    unsigned number = number_of(slab);
    enum slab_state state = state_of(slab);
    bool wholly_free = bits_of(slab) == slab->carved;
    for (unsigned i = 0; i < row->blocks; i++)
        check_block(slab, i);
    if (leases[number] != (state == SLAB_LEASED))
        interleave_fail("slab %u, class %u, state %d has %u lessees", number, slab->class_index, state, leases[number]);
    if (listings[number] != (state == SLAB_LISTED)) // D1
        interleave_fail("slab %u, class %u, state %d is in %u lists", number, slab->class_index, state,
                        listings[number]);
    bool missed = state == SLAB_FULL && (bits_of(slab) != 0 || slab->carved != row->blocks);
    if (state == SLAB_NONE || missed)
        interleave_fail("slab %u, class %u, state %d has %u of %u blocks carved, %u free", number, slab->class_index,
                        state, slab->carved, row->blocks, bits_of(slab));
    if (wholly_free && state == SLAB_LISTED) {
        if (slab->class_index >= CLASS_FIRST_LARGE || slab->carved == 0 || free_listed[slab->class_index]++ > 0)
            interleave_fail("S5: slab %u, class %u, is wholly free and was not given back", number, slab->class_index);
    }
    for (unsigned i = 0; i < row->slices; i++) {
        size_t slice = slab->first_slice + i;
        unsigned tag = class_is_held(slab->class_index) ? slab->holder->tag : 0;
        if (slab_of_slice(slice) != slab || window.views[slice * TAG_COUNT + tag] != slab->class_index)
            interleave_fail("slice %zu does not show slab %u", slice, number);
    }
}

static unsigned waiting;

static void check_waiting(const struct slab *slab) {
    if (++waiting > WORLD_SLICES)
        interleave_fail("the list of descriptors that wait for reuse is broken");
    if (state_of(slab) != SLAB_NONE)
        interleave_fail("a descriptor that waits for reuse is in state %d", state_of(slab));
    for (unsigned i = 0; i < slab_total; i++)
        if (slabs[i] == slab)
            interleave_fail("the descriptor of slab %u waits for reuse", i);
}

// No slice is lost, and none is in two places (R1).
static void check_slices(void) {
    size_t in_slabs = 0;
    uint64_t living = 0;
    for (unsigned i = 0; i < slab_total; i++)
        in_slabs += size_classes[slabs[i]->class_index].slices;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        living += slab_count(i).made - slab_count(i).returned;
    struct runs_totals totals = runs_count();
    bool lost =
        totals.in_use_slices != in_slabs || totals.free_slices != WORLD_SLICES - in_slabs || living != slab_total;
    if (lost)
        interleave_fail("%zu slices are in slabs, %zu in use, %zu free; %u slabs live, %lu are counted", in_slabs,
                        totals.in_use_slices, totals.free_slices, slab_total, (unsigned long)living);
    for (size_t slice = 0; slice < WORLD_SLICES; slice++)
        for (unsigned tag = 0; tag < TAG_COUNT; tag++)
            if (slab_of_slice(slice) == NULL && window.views[slice * TAG_COUNT + tag] != CLASS_NONE)
                interleave_fail("slice %zu shows a class and is free", slice);
}

static void check_locks(void) {
    bool held = registry.statistics_lock.state != 0 || registry.lock.state != 0 || registry.spare_lock.state != 0 ||
                runs_lock.state != 0 || runs_grow_lock.state != 0 || mapping_lock.state != 0 || meta_lock.state != 0 ||
                registry.spare_thread != 0 || registry.spare_entries != 0;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        held = held || depots[i].lock.state != 0 || transfers[i].lock.state != 0;
    if (held)
        interleave_fail("a lock is held");
}

void world_check(void) {
    find_slabs();
    for (unsigned i = 0; i < WORLD_SLICES; i++)
        leases[i] = listings[i] = 0;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        free_listed[i] = 0;
    waiting = 0;
    check_locks();
    each_heap(count_leases);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        check_depot(i);
    for (unsigned i = 0; i < slab_total; i++)
        check_slab(slabs[i]);
    subject_each_waiting(check_waiting);
    check_slices();
}
