// Scripts of visits: one thread takes what another holds and does not use, while that one goes on, ends or forks.
#include "scripts.h"
#include "world.h"

#define HELD 3u

static void *blocks[4];

// Thread 0 has three blocks in a stack, which the last visit has seen: the next one takes them.
static void start(void) {
    world_start(2);
    world_is_confined = false;
    AS_THREAD(0, {
        for (unsigned round = 0; round < 4; round++) { // the stack gets deeper
            for (unsigned i = 0; i < HELD; i++)
                blocks[i] = world_malloc(CLASS_FOUR);
            for (unsigned i = 0; i < HELD; i++)
                world_free(blocks[i]);
        }
    });
    AS_THREAD(1, { world_visit(); });
    if (heap_stack_blocks(world_heap(0), CLASS_FOUR) != HELD)
        interleave_fail("thread 0 has %u blocks in its stack", heap_stack_blocks(world_heap(0), CLASS_FOUR));
}

// The ledger sees a block that the other thread has.
static void visit_and_take(void) {
    world_visit();
    world_take(CLASS_FOUR, blocks, 2);
}

static void end_both(void) {
    AS_THREAD(0, world_empty());
    AS_THREAD(1, world_empty());
    world_check();
}

// --- The other thread uses the stack meanwhile ---------------------------------------------------

static void visit_blocked(unsigned thread) {
    if (thread == 1)
        visit_and_take();
}

static void visit_blocked_check(void) {
    if (heap_stack_blocks(world_heap(0), CLASS_FOUR) != 1)
        interleave_fail("%u blocks were left", heap_stack_blocks(world_heap(0), CLASS_FOUR));
    end_both();
}

static void visit_pops(unsigned thread) {
    if (thread == 1)
        visit_and_take();
    else
        for (unsigned i = 0; i < HELD; i++)
            world_malloc(CLASS_FOUR);
}

static void visit_pops_and_pushes(unsigned thread) {
    if (thread == 1) {
        visit_and_take();
        return;
    }
    void *mine[2] = {world_malloc(CLASS_FOUR), world_malloc(CLASS_FOUR)};
    for (unsigned i = 0; i < 2; i++) // in another order than they lay in
        if (mine[i] != NULL)
            world_free(mine[i]);
    world_malloc(CLASS_FOUR);
}

static void visit_pushes_prepare(void) {
    start();
    AS_THREAD(0, blocks[3] = world_malloc(CLASS_FOUR));
    AS_THREAD(1, world_visit());
}

static void visit_pushes(unsigned thread) {
    if (thread == 1)
        visit_and_take();
    else
        world_free(blocks[3]);
}

// --- What else it may do -------------------------------------------------------------------------

static void visit_end(unsigned thread) {
    if (thread == 1)
        visit_and_take();
    else {
        world_malloc(CLASS_FOUR);
        world_end_thread();
    }
}

static void visit_end_check(void) {
    AS_THREAD(1, world_empty());
    world_check();
}

// The visitor forks, and has the other's stacks in the child.
static void visit_fork_prepare(void) {
    world_may_lose = true;
    start();
}

static void visit_fork(unsigned thread) {
    if (thread == 0) {
        world_malloc(CLASS_FOUR);
        world_malloc(CLASS_FOUR);
        return;
    }
    world_visit();
    world_fork();
    for (unsigned i = 0; i < 16; i++)
        world_take_one(CLASS_FOUR);
    world_empty();
}

// The other one is shut out, or inside when the visitor comes.
static void visit_gate_prepare(void) {
    world_gates_are_words = true;
    start();
}

static void visit_gate(unsigned thread) {
    if (thread == 1)
        visit_and_take();
    else {
        world_take_one(CLASS_FOUR);
        world_malloc(CLASS_FOUR);
    }
}

#define VISIT(function, before, after, says) \
    { .name = #function, .what = says, .threads = 2, .prepare = before, .body = function, .check = after }

const struct script visit_scripts[] = {
    VISIT(visit_blocked, start, visit_blocked_check, "the other one does nothing"),
    VISIT(visit_pops, start, end_both, "the other one pops its whole stack"),
    VISIT(visit_pops_and_pushes, start, end_both, "the other one pops two and pushes them the other way round"),
    VISIT(visit_pushes, visit_pushes_prepare, end_both, "the other one pushes"),
    VISIT(visit_end, start, visit_end_check, "the other one ends"),
    VISIT(visit_fork, visit_fork_prepare, world_check_orphans, "the visitor forks"),
    VISIT(visit_gate, visit_gate_prepare, end_both, "the other one goes in and out"),
    {0},
};
