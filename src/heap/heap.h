// A thread's heap: its stacks' storage, its leases, its counters. Owned by one thread at a time; never freed, reused by
// later threads (type-stable).
//
// H1. A class with a stack has depth > 0 and a cell; a class without has its top on the constant stack (T2).
// H2. classes[c].slab and classes[c].fresh are LEASED by this heap, or NULL. Blocks that were in use before come from
//     `slab`; only when neither it nor the depot has any, new ones are carved out of `fresh`.
// H3. A heap is in the registry from its first use on; `stacks` is NULL while no thread has it.
// H4. A batch fits its stack: batch <= depth.
// H5. A thread changes more than the tops of its stacks only between heap_enter and heap_leave. A thread that forks
//     waits until no other is in there, and shuts all of them out until the process has doubled: so the child finds
//     every heap, slab and run whole.
//     A visitor shuts out those whose leases and stacks it takes from (V1).
// H6. So does a thread that changes size classes (C3). What a request's class is, is looked up after heap_enter, but
//     for the fast path: that finds a stack of a class that got another size empty, since nobody had blocks of it.
// H7. What a thread needs that uses classes up to 1 KiB lies on the heap's first page; what few need, behind `classes`.
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

#include "big/big.h"
#include "heap/stacks.h"
#include "policy/snapshot.h"
#include "slab/put.h"

struct heap_counters {
#define COUNTER(name, what) uint64_t name;
#include "count/counters.def"
#undef COUNTER
};

struct heap_class {
    struct slab *slab;  // H2
    struct slab *fresh; // H2
    void **cell;        // storage of the stack; NULL: none yet
    void **parked;      // cells kept beside the stack, newest first; see park.c
    struct heap_counters counters;
    uint16_t parked_count;
    uint32_t park_allowance; // most of them, times PARK_UNIT
    uint16_t rise;           // times that the stack was full since it was last refilled
    uint16_t fall;           // refills since it was last full
    uint32_t last_turn;      // heap->turn at the last refill or flush
    uint8_t depth;           // capacity of the stack; 0: no stack (H1)
    uint8_t batch;           // blocks of the next refill
    uint8_t flush_streak;    // flushes since the last refill
    uint8_t idle_blocks;     // blocks in the stack when last looked at
    uint8_t visit_blocks;    // and when last visited
    bool is_cut;             // a visitor took the lower part of the stack; see heap_mend_stack
    bool passes_on;          // of a held class: this thread frees many blocks of others
    bool fresh_drained;      // `fresh` was searched and this thread has put nothing back since
};

enum gate {
    GATE_OUTSIDE,
    GATE_INSIDE,
    GATE_SHUT, // by a thread that forks
};

struct heap {
    struct holder holder;  // first: see heap_of_holder
    uint32_t gate;         // enum gate (H5)
    uint32_t entries;      // of the thread that is inside
    struct stacks *stacks; // H3
    struct list link;      // in the registry
    struct list free_link; // among heaps without a thread
    struct kept kept;
    uint32_t window_calls; // left of a sampling window; 0: there is none. See sampling.h for this and the next ones
    uint32_t tops_shown;   // how often heap_show_tops is in force
    uint64_t window_ns;    // when the last window opened
    uint16_t learn_turns;  // slow calls between two of its looks at the clock; 0: it was told of none yet
    uint16_t learn_left;   // how many of them are to come
    uint32_t learn_clock;  // at the last one, microseconds: differences count
    void **spare_cells;    // each holds the next in its lowest slot
    size_t granted_bytes;  // what all stacks can hold: sum of depth * block size, and what is parked
    const struct snapshot *obeyed; // no stack was deeper than this one allows
    uint32_t turn;                 // refills and flushes so far
    uint32_t refill_turn;          // the last refill's
    uint32_t phase_turns;          // flushes without a refill, after which a phase of frees has begun
    size_t phase_bytes;            // in use when the phase of frees began
    uint32_t visit_turn;           // `turn` at the last visit (visit.h)
    bool is_in_doubt;              // what that took out of its stacks (V5)
    uint32_t trim_turn;            // last request of malloc_trim obeyed
    uint8_t own_cells_used;        // of `cells`, ever
    uint8_t stacks_granted;        // classes that have a cell
    uint8_t look_wait;             // turns since the last look around
    uint8_t stack_look;            // next of them to look at for idleness
    uint8_t transfer_look;         // class whose transfer cache was looked at last
    uint8_t outbox_blocks;
    uint8_t stack_classes[CLASS_END];                                    // those that have a cell
    struct heap_class classes[CLASS_END];                                // H7
    void **shadow[CLASS_END] __attribute__((aligned(PAGE_LEAST_BYTES))); // the stacks' real tops (Y1)
#ifdef HAKMEM_TLS_POINTER
    struct stacks own_stacks; // what the thread's pointer points to
#endif
    void *outbox[OUTBOX_BLOCKS];
    void *cells[CLASS_COUNT][STACK_SLOTS] __attribute__((aligned(STACK_BYTES)));
};

// --- Of the calling thread -------------------------------------------------------------------------------------------

// A block of the class by the cold path, for a thread with or without a heap. NULL: no memory.
INTERNAL void *heap_refill(unsigned class_index);
// The same, one block at a time, so that it is known whether it reads as zero.
INTERNAL void *heap_refill_zeroed(unsigned class_index, bool *zeroed);
// Takes back a block of a slab by the cold path.
INTERNAL void heap_take_back(void *block, const struct slab *slab);

// The thread's heap, made at its first slow call; NULL: the thread has ended, or there is no memory for a heap.
INTERNAL struct heap *heap_mine(void);
// Around every cold path (H5); may be nested. Returns the thread's heap, or NULL where it has none: such threads share
// one, and are inside one at a time.
INTERNAL struct heap *heap_enter(void);
INTERNAL void heap_leave(struct heap *heap);

// --- The process ---------------------------------------------------------------------------------------------------

// Sets the whole library up, once; false: there is no address space for it.
INTERNAL bool heap_process_start(void);
// Shuts all other threads out of their heaps; false: one was inside, and nobody is shut out. Or begins with that alone
// (false: not now), and shuts out the thread of a heap unless it is the caller (false: it was inside). Then lets them
// in again.
INTERNAL bool heap_try_stop_others(void);
INTERNAL bool heap_try_begin_stop(void);
INTERNAL bool heap_try_stop(struct heap *heap);
INTERNAL void heap_let_others(void);
// Makes the classes that serve requests those of the snapshot in force (H6), as far as there are spare ones without
// slabs; false: not now, a thread was inside.
INTERNAL bool heap_change_classes(void);
// The defaults of all decisions, but for what options say.
INTERNAL void heap_default_snapshot(struct snapshot *snapshot);
// Decisions that are options too become what the user said.
INTERNAL void heap_obey_options(struct snapshot *snapshot);
// Gives sizes that shall have classes of their own a place among the spare ones: those that have one keep it, others
// get one whose class has no slab, as far as there are such. Depths with it. By one thread at a time.
INTERNAL void heap_place_spares(struct snapshot *snapshot, const uint32_t *bytes, unsigned count);
// Around fork (H5): the child also takes over what the other threads had.
INTERNAL void heap_fork_prepare(void);
INTERNAL void heap_fork_parent(void);
INTERNAL void heap_fork_child(void);
// Calls back for every heap there is, with the registry's lock held.
INTERNAL void heap_for_each(void (*visit)(struct heap *heap, void *context), void *context);
// Gives back the big blocks that threads keep. Without locks.
INTERNAL void heap_give_all_kept(void);
// Gives back all that can be without what other threads are in the middle of, but for purges: those it waits for. True
// if something was.
INTERNAL bool heap_trim(size_t keep_bytes);

// --- Parts -----------------------------------------------------------------------------------------------------------

// Makes the batch at the bottom of a stack go home; `keep` newest blocks stay.
INTERNAL void heap_flush(struct heap *heap, unsigned class_index, unsigned keep);
INTERNAL void heap_flush_outbox(struct heap *heap);
// Takes up to `want` blocks of the class from slabs, and writes them from end[-1] downwards.
INTERNAL unsigned heap_take(struct heap *heap, unsigned class_index, void **end, unsigned want);
// Every stack and the outbox; leases are given up.
INTERNAL void heap_empty(struct heap *heap);
// Gives a lease up; the slab goes to its depot or back.
INTERNAL void heap_unlease(struct slab **lease);
// At a refill or flush of a class, or a request above the classes (CLASS_NONE), now and then looks at one other stack:
// one that did not move since the last look is flushed by half. Obeys malloc_trim.
INTERNAL void heap_look_around(struct heap *heap, unsigned busy_class);
// N3. The thread took memory anew for a block above the classes: what its stacks hold of large blocks goes home, if
// that is more than the stacks of a program with one thread may hold by default (STACK_THREAD_BYTES). A program in a
// new phase does not stand beside what deep stacks have kept of the last one.
INTERNAL void heap_pay_for_growth(struct heap *heap);
// Other threads may have this class's blocks: not the largest, a few of which are much memory, nor small ones of a
// thread that keeps them to itself (class_is_held).
INTERNAL bool heap_passes_on(const struct heap *heap, unsigned class_index);
// The thread has only freed for a while, and nobody allocates what it frees of the class.
INTERNAL bool heap_only_frees(const struct heap *heap, unsigned class_index);
// The thread allocates again: phases of frees that lead to that are seen later from now on.
INTERNAL void heap_end_phase(struct heap *heap);
// Of a class of which only blocks come back: leases of slabs that could end, or be purged, are given up.
INTERNAL void heap_let_idle_go(struct heap *heap, unsigned class_index, unsigned freed_blocks);
// How deep the stacks of a class that there is may be whatever the snapshot says: by what the class has in use.
INTERNAL unsigned heap_usual_depth(unsigned class_index);
// True where the thread's budget has room for so many bytes more.
INTERNAL bool heap_fits_budget(const struct heap *heap, size_t bytes);
// A cell for a stack, its lowest slot NULL, or NULL: no memory; and back.
INTERNAL void **heap_take_cell(struct heap *heap);
INTERNAL void heap_spare_cell(struct heap *heap, void **cell);
// Parks a full, deep stack but for its newest blocks; false where the class has earned no (more) room for it.
INTERNAL bool heap_park(struct heap *heap, unsigned class_index);
// Makes the cell parked last the stack, which is empty, and returns one block. There must be one.
INTERNAL void *heap_unpark(struct heap *heap, unsigned class_index);
// The stack is full: counts, and at the end of a row of refills says anew how much may be parked.
INTERNAL void heap_note_full(struct heap *heap, unsigned class_index);
// Flushes the cell parked last. There must be one.
INTERNAL void heap_flush_parked(struct heap *heap, unsigned class_index);
// In a fork child: brings home the blocks of one thread that did not come along, if one is left.
INTERNAL void heap_adopt_orphan(void);
// Sets the capacity of an empty stack; 0 takes the stack away.
INTERNAL void heap_set_depth(struct heap *heap, unsigned class_index, unsigned depth);
// After a refill, while the stack is empty: larger batches, then a deeper stack, where the budget has room.
INTERNAL void heap_deepen_stack(struct heap *heap, unsigned class_index);
// A stack that is empty, and in use again since it was cut: as deep as one begins, if the budget allows. Refills would
// deepen it by and by, frees alone never.
INTERNAL void heap_mend_stack(struct heap *heap, unsigned class_index);
// In a phase of flushes, while the stack is empty: half the depth, down to that with which a stack begins.
INTERNAL void heap_flatten_stack(struct heap *heap, unsigned class_index);
// Takes what a stack may hold that is empty: wholly from a large class, half of it from a small one.
INTERNAL void heap_take_grant(struct heap *heap, unsigned class_index);
// The same, of one that was not used for long, where the thread's budget is nearly spent.
INTERNAL void heap_lend_idle(struct heap *heap, unsigned class_index);
// Gives the class a stack, if it may have one.
INTERNAL bool heap_grant_stack(struct heap *heap, unsigned class_index);
// Blocks in a stack, its outbox share aside, as another thread may see them: a hint. With the registry's lock held.
INTERNAL unsigned heap_cached_blocks(const struct heap *heap, unsigned class_index);
// Number of blocks in a stack. By the heap's thread.
INTERNAL unsigned heap_stack_blocks(const struct heap *heap, unsigned class_index);

ALWAYS_INLINE void **heap_cell_end(struct heap *heap, unsigned class_index) {
    return heap->classes[class_index].cell + STACK_SLOTS;
}

ALWAYS_INLINE void **heap_bottom(struct heap *heap, unsigned class_index) {
    return heap_cell_end(heap, class_index) - heap->classes[class_index].depth;
}

// Request of malloc_trim to all threads: grows by each.
SHARED uint32_t heap_trim_turn;

#endif
