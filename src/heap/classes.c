// Changes which size classes serve requests while the program runs (C3, H6).
#include "heap/registry.h"

static unsigned class_of_spare(unsigned spare) {
    return CLASS_COUNT + spare;
}

static bool has_slabs(unsigned class_index) {
    return slab_in_use_bytes(class_index) > 0;
}

// The spare class that has, or had last, that size; CLASS_SPARE_COUNT: none.
static unsigned spare_of_bytes(size_t bytes) {
    unsigned spare = 0;
    while (spare < CLASS_SPARE_COUNT && class_bytes(class_of_spare(spare)) != bytes)
        spare++;
    return spare;
}

static unsigned spare_without_slabs(const struct snapshot *snapshot) {
    unsigned spare = 0;
    while (spare < CLASS_SPARE_COUNT && (snapshot->spare_bytes[spare] != 0 || has_slabs(class_of_spare(spare))))
        spare++;
    return spare;
}

void heap_place_spares(struct snapshot *snapshot, const uint32_t *bytes, unsigned count) {
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        snapshot->spare_bytes[i] = 0;
    for (unsigned i = 0; i < count; i++)
        if (spare_of_bytes(bytes[i]) < CLASS_SPARE_COUNT)
            snapshot->spare_bytes[spare_of_bytes(bytes[i])] = bytes[i];
    for (unsigned i = 0; i < count; i++) {
        if (spare_of_bytes(bytes[i]) < CLASS_SPARE_COUNT)
            continue;
        unsigned spare = spare_without_slabs(snapshot);
        if (spare == CLASS_SPARE_COUNT)
            break;
        snapshot->spare_bytes[spare] = bytes[i];
    }
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        if (snapshot->spare_bytes[i] != 0)
            snapshot_default_depth(snapshot, class_of_spare(i), snapshot->spare_bytes[i]);
}

// The stacks that threads have of a class are empty, and too deep for larger blocks: they go. Their threads may read
// these tops meanwhile, and find an empty stack as before.
static void take_stacks(unsigned class_index) {
    for (struct list *node = registry.all.next; node != &registry.all; node = node->next) {
        struct heap *heap = LIST_OWNER(node, struct heap, link);
        CHECK(heap->classes[class_index].parked == NULL);
        if (heap->classes[class_index].depth == 0 || heap->stacks == NULL)
            continue;
        heap_set_depth(heap, class_index, 0);
        store_relaxed(&heap->shadow[class_index], CONSTANT_TOP); // Y1
    }
}

static bool may_become(unsigned class_index, size_t bytes) {
    return bytes <= CLASS_LARGE_MAX && size_class_step(bytes) == bytes && !has_slabs(class_index);
}

// P1: what can't be stays as it is.
static void change_spare(unsigned class_index, size_t bytes) {
    size_t old_bytes = class_bytes(class_index);
    bool is_open = size_class_is_open(class_index);
    if (is_open && bytes != old_bytes)
        size_class_close(class_index);
    if (bytes == 0 || (is_open && bytes == old_bytes))
        return;
    if (bytes == old_bytes) {
        size_class_open(class_index);
    } else if (may_become(class_index, bytes)) {
        take_stacks(class_index);
        size_class_make(class_index, bytes);
    }
}

static void change_fixed(unsigned class_index, bool closed) {
    if (closed && size_class_is_open(class_index))
        size_class_close(class_index);
    else if (!closed && !size_class_is_open(class_index))
        size_class_open(class_index);
}

static bool is_as_wanted(const struct snapshot *snapshot) {
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++) {
        unsigned class_index = class_of_spare(i);
        uint32_t bytes = load_relaxed(&snapshot->spare_bytes[i]);
        if (bytes == 0 ? size_class_is_open(class_index)
                       : !size_class_is_open(class_index) || class_bytes(class_index) != bytes)
            return false;
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        if (size_class_is_open(i) == (load_relaxed(&snapshot->closed[i]) != 0) && !bits_is_power_of_two(class_bytes(i)))
            return false;
    return true;
}

static bool is_wholly_free(struct slab *slab, void *unused) {
    (void)unused;
    return slab_is_wholly_free(slab);
}

// Of a closed class nobody will ask again: the last slab, which a depot keeps otherwise, goes too.
static void give_idle_slabs(unsigned class_index) {
    unsigned left = load_relaxed(&depots[class_index].slabs);
    struct slab *slab;
    while ((slab = depot_lease_wanted(class_index, is_wholly_free, NULL, &left)) != NULL)
        slab_give_back(slab);
}

bool heap_change_classes(void) {
    const struct snapshot *snapshot = snapshot_now();
    if (is_as_wanted(snapshot))
        return true;
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        if (!size_class_is_open(class_of_spare(i)))
            give_idle_slabs(class_of_spare(i));
    if (!heap_try_stop_others())
        return false;
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++)
        change_spare(class_of_spare(i), load_relaxed(&snapshot->spare_bytes[i]));
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        change_fixed(i, load_relaxed(&snapshot->closed[i]) != 0);
    heap_let_others();
    return true;
}
