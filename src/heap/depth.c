// How deep a thread's stacks are: granted, deepened and made shallower at refills and flushes, within a byte budget.
//
// A class that keeps running empty gets larger batches, then a deeper stack; one that only flushes loses half of it now
// and then. What all stacks of a thread could hold together is bounded, above all by large classes.
#include "base/bits.h"
#include "big/routes.h"
#include "heap/registry.h"
#include "policy/snapshot.h"
#include "sys/options.h"

void heap_set_depth(struct heap *heap, unsigned class_index, unsigned depth) {
    struct heap_class *own = &heap->classes[class_index];
    store_relaxed(&heap->stacks->top[class_index], CONSTANT_TOP);
    heap->granted_bytes -= own->depth * class_bytes(class_index);
    heap->granted_bytes += depth * class_bytes(class_index);
    store_relaxed(&own->depth, (uint8_t)depth);
    own->batch = own->batch > depth ? (uint8_t)depth : own->batch; // H4
    if (depth == 0)
        return;
    void **bottom = heap_bottom(heap, class_index);
    bottom[-1] = NULL; // T1
    store_relaxed(&heap->stacks->top[class_index], bottom);
}

static unsigned clamp(size_t value, unsigned least, unsigned most) {
    return value < least ? least : value > most ? most : (unsigned)value;
}

// What the stacks of one thread may hold: an equal part of all threads' share.
static size_t budget_bytes(const struct snapshot *snapshot) {
    size_t threads = load_relaxed(&registry.threads);
    size_t part = load_relaxed(&snapshot->all_threads_bytes) / (threads == 0 ? 1 : threads);
    size_t most = load_relaxed(&snapshot->thread_bytes) * (threads > 1 ? STACK_THREADS_TIMES : 1);
    if (part > most)
        return most;
    return part < STACK_THREAD_LEAST_BYTES ? STACK_THREAD_LEAST_BYTES : part;
}

// Random replacement moves a class's number of blocks in a thread by a root of it: the stack that takes that in.
unsigned heap_usual_depth(unsigned class_index) {
    if (class_is_large(class_index))
        return 0;
    bool is_parked = class_bytes(class_index) <= PARK_MOST_BYTES;
    unsigned most = is_parked ? STACK_MAX_DEPTH : STACK_MAX_DEPTH - 1; // only the deepest are parked
    size_t blocks = slab_in_use_blocks(class_index), threads = load_relaxed(&registry.threads);
    if (threads > 1)
        blocks /= threads;
    return blocks == 0 ? 0 : clamp((size_t)STACK_WANDER_TIMES << bits_highest(blocks) / 2, 0, most);
}

// The depth that the snapshot allows a class (P1). What a thread lets go of large blocks comes back from another
// processor where there are several threads: so they may keep more of those, as far as the budget has room for all.
static unsigned most_depth(const struct snapshot *snapshot, unsigned class_index) {
    unsigned most = load_relaxed(&snapshot->depth[class_index]);
    if (class_is_large(class_index) && load_relaxed(&registry.threads) > 1)
        most *= clamp(budget_bytes(snapshot) / STACK_LARGE_TIMES_BYTES, 1, STACK_LARGE_MOST_TIMES);
    unsigned usual = heap_usual_depth(class_index);
    return clamp(most > usual ? most : usual, 1, STACK_MAX_DEPTH);
}

// The depth with which a class starts: a few blocks, many where they are small.
static unsigned start_depth(const struct snapshot *snapshot, unsigned class_index) {
    unsigned most = most_depth(snapshot, class_index);
    unsigned start = clamp(STACK_START_BYTES / class_bytes(class_index), STACK_START_LEAST, STACK_START_DEPTH);
    return start < most ? start : most;
}

// Takes the stack of the large class that was used longest ago, if that is long enough.
static void revoke_idle_stack(struct heap *heap) {
    unsigned oldest = CLASS_NONE;
    for (unsigned i = CLASS_FIRST_LARGE; i < CLASS_END; i++) {
        if (!class_is_large(i))
            continue;
        uint32_t age = heap->turn - heap->classes[i].last_turn;
        if (heap->classes[i].depth > 0 && age > STACK_LARGE_IDLE_TURNS &&
            (oldest == CLASS_NONE || age > heap->turn - heap->classes[oldest].last_turn))
            oldest = i;
    }
    if (oldest == CLASS_NONE)
        return;
    heap_flush(heap, oldest, 0);
    heap_set_depth(heap, oldest, 0);
}

// Makes stacks that are deeper than is decided by now as deep as that. Once for a decision: another one in the same
// place (P2) is obeyed as late as the next.
static void heap_obey_depths(struct heap *heap, const struct snapshot *snapshot, unsigned busy_class) {
    if (LIKELY(heap->obeyed == snapshot))
        return;
    heap->obeyed = snapshot;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        if (heap->classes[i].depth == 0 || i == busy_class || heap->classes[i].parked != NULL)
            continue;
        unsigned most = most_depth(snapshot, i);
        if (heap->classes[i].depth <= most)
            continue;
        heap_flush(heap, i, 0);
        heap_set_depth(heap, i, most);
    }
}

bool heap_fits_budget(const struct heap *heap, size_t bytes) {
    return heap->granted_bytes + bytes <= budget_bytes(snapshot_now());
}

void heap_take_grant(struct heap *heap, unsigned class_index) {
    if (heap->classes[class_index].depth == 0)
        return;
    if (class_is_large(class_index))
        heap_set_depth(heap, class_index, 0);
    else
        heap_flatten_stack(heap, class_index);
}

void heap_lend_idle(struct heap *heap, unsigned class_index) {
    if (heap->turn - heap->classes[class_index].last_turn >= STACK_IDLE_TURNS &&
        !heap_fits_budget(heap, budget_bytes(snapshot_now()) / STACK_SPENT_SHARE))
        heap_take_grant(heap, class_index);
}

// Whether a stack may hold so much more. Where the budget is spent, what others hold against the decisions in force
// goes back first.
static bool heap_may_deepen(struct heap *heap, unsigned class_index, size_t bytes) {
    if (heap_fits_budget(heap, bytes))
        return true;
    heap_obey_depths(heap, snapshot_now(), class_index);
    return heap_fits_budget(heap, bytes);
}

bool heap_grant_stack(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    const struct snapshot *snapshot = snapshot_now();
    unsigned depth = start_depth(snapshot, class_index);
    CHECK(own->depth == 0);
    bool is_routed = class_bytes(class_index) >= load_relaxed(&routes_least_bytes); // E2
    if (options.fastlane == OPTION_FASTLANE_OFF || is_routed || class_bytes(class_index) >= DECIDED(big_threshold))
        return false;
    if (class_is_large(class_index) && !heap_may_deepen(heap, class_index, depth * class_bytes(class_index))) {
        revoke_idle_stack(heap);
        if (!heap_fits_budget(heap, depth * class_bytes(class_index))) {
            count_add(&own->counters.denied_stacks, 1);
            return false;
        }
    }
    if (own->cell == NULL) {
        own->cell = heap_take_cell(heap);
        if (own->cell == NULL)
            return false;
        heap->stack_classes[heap->stacks_granted++] = (uint8_t)class_index;
    }
    own->batch = STACK_START_BATCH / 2; // doubled by the first refill
    own->flush_streak = 0;
    heap_set_depth(heap, class_index, depth);
    return true;
}

void heap_mend_stack(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    unsigned depth = start_depth(snapshot_now(), class_index);
    CHECK(heap_stack_blocks(heap, class_index) == 0);
    own->is_cut = false;
    if (own->depth < depth && heap_may_deepen(heap, class_index, (depth - own->depth) * class_bytes(class_index)))
        heap_set_depth(heap, class_index, depth);
}

void heap_deepen_stack(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    const struct snapshot *snapshot = snapshot_now();
    unsigned batch = own->batch * 2u;
    bool wants_more = batch > own->depth / 2u && own->depth < STACK_MAX_DEPTH;
    unsigned most = wants_more ? most_depth(snapshot, class_index) : 0;
    if (own->depth < most) {
        unsigned depth = own->depth * 2u > most ? most : own->depth * 2u;
        if (heap_may_deepen(heap, class_index, (depth - own->depth) * class_bytes(class_index)))
            heap_set_depth(heap, class_index, depth);
    }
    // Half of the stack leaves room for frees; most of a deep one where there are none.
    bool growing = own->flush_streak == 0 && own->batch >= STACK_MAX_BATCH;
    unsigned limit = growing ? own->depth - own->depth / 8u : (own->depth + 1u) / 2;
    own->batch = (uint8_t)clamp(batch, 1, limit); // H4
    unsigned most_batch = load_relaxed(&snapshot->batch[class_index]);
    if (most_batch == 0 || own->batch <= most_batch)
        return;
    unsigned usual = heap_usual_depth(class_index) / 2;
    most_batch = most_batch > usual ? most_batch : usual;
    own->batch = own->batch > most_batch ? (uint8_t)most_batch : own->batch;
}

void heap_flatten_stack(struct heap *heap, unsigned class_index) {
    struct heap_class *own = &heap->classes[class_index];
    CHECK(heap_stack_blocks(heap, class_index) == 0);
    bool lasts = class_is_large(class_index) && own->flush_streak >= STACK_LARGE_SHRINK_FLUSHES;
    unsigned least = lasts ? 1 : start_depth(snapshot_now(), class_index);
    if (own->depth > least)
        heap_set_depth(heap, class_index, own->depth / 2u > least ? own->depth / 2u : least);
}
