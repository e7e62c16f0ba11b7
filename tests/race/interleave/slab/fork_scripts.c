// Scripts of fork: one thread forks, and goes on alone in the child, wherever the others are.
#include "scripts.h"
#include "world.h"

static void *blocks[8];

// In the child every block that can be had is had once: the ledger sees one that is had twice.
static void take_all(unsigned class_index) {
    unsigned most = 4 * size_classes[class_index].blocks;
    for (unsigned i = 0; i < most; i++)
        world_take_one(class_index);
}

static void fork_and_take_all(unsigned class_index) {
    world_fork();
    take_all(class_index);
    world_empty();
}

// --- One other thread ----------------------------------------------------------------------------

static void fork_during_put_prepare(void) {
    world_start(2);
    AS_THREAD(0, world_take(CLASS_TWO, blocks, 2));
}

static void fork_during_put(unsigned thread) {
    if (thread == 1) {
        fork_and_take_all(CLASS_TWO);
        return;
    }
    world_put(CLASS_TWO, blocks[0]);
    world_put(CLASS_TWO, blocks[1]);
}

static void fork_during_take_prepare(void) {
    world_start(2);
    AS_THREAD(0, world_take(CLASS_FOUR, blocks, 3));
    AS_THREAD(0, world_put(CLASS_FOUR, blocks[0]));
}

static void fork_during_take(unsigned thread) {
    void *got[3];
    if (thread == 1)
        fork_and_take_all(CLASS_FOUR);
    else
        world_take(CLASS_FOUR, got, 3);
}

static void fork_during_give_back_prepare(void) {
    world_start(2);
    AS_THREAD(0, world_take(CLASS_LARGE, blocks, 2));
}

static void fork_during_give_back(unsigned thread) {
    if (thread == 1) {
        fork_and_take_all(CLASS_LARGE);
        return;
    }
    world_put_batch(CLASS_LARGE, blocks, 2);
    world_take_one(CLASS_LARGE);
}

static void fork_during_malloc_prepare(void) {
    world_may_lose = true;
    world_start(2);
}

static void fork_during_malloc(unsigned thread) {
    if (thread == 1) {
        world_fork();
        for (unsigned i = 0; i < 10; i++)
            world_malloc(CLASS_FOUR);
        return;
    }
    void *got[5]; // more than a stack holds
    for (unsigned i = 0; i < 5; i++)
        got[i] = world_malloc(CLASS_FOUR);
    for (unsigned i = 0; i < 5; i++)
        world_free(got[i]);
}

// The child finds what the dead thread passed on.
static void fork_during_pass_on_prepare(void) {
    world_may_lose = true; // what is on its way into free
    world_start(2);
    AS_THREAD(0, {
        for (unsigned i = 0; i < 3; i++)
            blocks[i] = world_malloc(CLASS_FOUR);
    });
}

static void fork_during_pass_on(unsigned thread) {
    if (thread == 1) {
        world_fork();
        for (unsigned i = 0; i < 3; i++)
            world_malloc(CLASS_FOUR);
        return;
    }
    for (unsigned i = 0; i < 3; i++)
        world_free(blocks[i]);
}

static void fork_during_end_prepare(void) {
    world_may_lose = true;
    world_start(2);
    AS_THREAD(0, {
        blocks[0] = world_malloc(CLASS_HELD);
        blocks[1] = world_malloc(CLASS_TWO);
    });
    AS_THREAD(1, blocks[2] = world_malloc(CLASS_HELD));
}

static void fork_during_end(unsigned thread) {
    if (thread == 1) {
        world_fork();
        for (unsigned i = 0; i < 5; i++)
            world_malloc(CLASS_HELD);
        return;
    }
    world_free(blocks[0]);
    world_free(blocks[2]); // to the outbox
    world_free(blocks[1]);
    world_end_thread();
}

// --- Two others ----------------------------------------------------------------------------------

// Both free; the forking thread has the slab's lease itself.
static void fork_with_lease_prepare(void) {
    world_start(3);
    AS_THREAD(2, world_take(CLASS_FOUR, blocks, 2));
}

static void fork_with_lease(unsigned thread) {
    if (thread == 2)
        fork_and_take_all(CLASS_FOUR);
    else
        world_put(CLASS_FOUR, blocks[thread]);
}

static void fork_during_two_puts_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_LARGE, blocks, 2));
}

static void fork_during_two_puts(unsigned thread) {
    if (thread == 2)
        fork_and_take_all(CLASS_LARGE);
    else
        world_put(CLASS_LARGE, blocks[thread]);
}

// A slab goes from FULL by the depot to the heap of threads without one, while a flusher still means the FULL.
static void fork_with_shared_heap_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_FOUR, blocks, 4));
}

static void fork_with_shared_heap(unsigned thread) {
    switch (thread) {
    case 0:
        world_put(CLASS_FOUR, blocks[0]);
        break;
    case 1:
        world_put_batch(CLASS_FOUR, blocks + 1, 2);
        world_spare_take(CLASS_FOUR);
        break;
    default:
        world_fork();
        for (unsigned i = 0; i < 4; i++) {
            world_spare_take(CLASS_FOUR);
            world_take_one(CLASS_FOUR);
        }
        world_empty();
    }
}

// One gives a slab back because another is listed, which the second leases meanwhile: to the child the first looks like
// the only one of its class, and its slices' table entries are half gone.
static void fork_with_spared_slab_prepare(void) {
    world_start(3);
    AS_THREAD(0, blocks[0] = world_take_one(CLASS_FOUR));
    AS_THREAD(1, {
        world_take_one(CLASS_FOUR);
        world_empty();
    });
}

static void fork_with_spared_slab(unsigned thread) {
    switch (thread) {
    case 0:
        world_put(CLASS_FOUR, blocks[0]);
        world_empty();
        break;
    case 1:
        world_take_one(CLASS_FOUR);
        break;
    default:
        fork_and_take_all(CLASS_FOUR);
    }
}

// The other has blocks wherever a heap can have them, and none in its hands: none may be lost.
static void fork_with_full_heap_prepare(void) {
    void *got[5];
    world_start(2);
    AS_THREAD(1, blocks[1] = world_malloc(CLASS_HELD));
    AS_THREAD(0, {
        for (unsigned i = 0; i < 5; i++)
            got[i] = world_malloc(CLASS_FOUR);
        for (unsigned i = 0; i < 5; i++)
            world_free(got[i]); // stack, slab, lease
        world_free(blocks[1]);  // outbox
        blocks[0] = world_take_one(CLASS_TWO);
    });
}

static void fork_with_full_heap(unsigned thread) {
    if (thread == 1)
        fork_and_take_all(CLASS_TWO);
    else
        world_put(CLASS_TWO, blocks[0]);
}

static void fork_during_begin_prepare(void) {
    world_start(2);
    AS_THREAD(0, {
        world_put(CLASS_FOUR, world_take_one(CLASS_FOUR));
        world_end_thread();
    });
}

static void fork_during_begin(unsigned thread) {
    if (thread == 1) {
        fork_and_take_all(CLASS_FOUR);
        return;
    }
    world_begin_thread();
    world_take_one(CLASS_FOUR);
}

// --- A child that has threads of its own ---------------------------------------------------------

// Thread 0 of the parent did not come along; in the child a new thread has its number. Its stacks wait to be adopted.
static void leave_orphan(void) {
    AS_THREAD(1, {
        heap_fork_prepare();
        heap_fork_child();
    });
    subject_new_thread(0);
    AS_THREAD(0, world_begin_thread());
}

// One thread adopts what the dead one had, while the other forks again.
static void fork_during_adoption_prepare(void) {
    world_may_lose = true;
    world_start(2);
    AS_THREAD(0, {
        for (unsigned i = 0; i < 3; i++)
            blocks[i] = world_malloc(CLASS_TWO);
        for (unsigned i = 0; i < 3; i++)
            world_free(blocks[i]);
        blocks[3] = world_malloc(CLASS_FOUR);
        world_free(blocks[3]);
    });
    leave_orphan();
}

static void fork_during_adoption(unsigned thread) {
    if (thread == 1) {
        world_fork();
        take_all(CLASS_TWO);
        world_empty();
    } else {
        world_malloc(CLASS_TWO);
    }
}

// --- In the parent, and deadlocks ----------------------------------------------------------------

// Two threads fork, a third goes on.
static void fork_in_parent_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_TWO, blocks, 2));
}

static void fork_in_parent(unsigned thread) {
    if (thread < 2) {
        heap_fork_prepare();
        void *block = world_take_one(CLASS_ONE); // as fork handlers of others may
        heap_fork_parent();
        world_put(CLASS_ONE, block);
    } else {
        world_put(CLASS_TWO, blocks[0]);
    }
}

// Those who are shut out sleep, and are woken; a thread that is inside when fork looks stays inside (F3), which in the
// parent does no harm.
static void fork_with_gates_prepare(void) {
    world_gates_are_words = true;
    world_start(2);
    AS_THREAD(0, world_take(CLASS_TWO, blocks, 2));
}

static void fork_with_gates(unsigned thread) {
    if (thread == 1) {
        for (unsigned i = 0; i < 2; i++) {
            heap_fork_prepare();
            heap_fork_parent();
        }
        return;
    }
    world_put(CLASS_TWO, blocks[0]);
    world_put(CLASS_TWO, blocks[1]);
}

static void fork_shuts_two_out_prepare(void) {
    world_gates_are_words = true;
    world_start(3);
    AS_THREAD(0, world_take(CLASS_LARGE, blocks, 2));
}

static void fork_shuts_two_out(unsigned thread) {
    if (thread == 2) {
        heap_fork_prepare();
        world_put(CLASS_TWO, world_take_one(CLASS_TWO));
        heap_fork_parent();
    } else {
        world_put(CLASS_LARGE, blocks[thread]);
    }
}

// A thread without a heap needs the window to grow while another forks.
static void fork_while_shared_heap_grows_prepare(void) {
    bool clean;
    world_start(2);
    runs_take(WORLD_SLICES, 1, &clean);
}

static void fork_while_shared_heap_grows(unsigned thread) {
    if (thread == 0) {
        heap_fork_prepare();
        heap_fork_parent();
    } else if (world_spare_take(CLASS_TWO) != NULL) {
        interleave_fail("a block out of nowhere");
    }
}

static void nothing_to_check(void) {
}

// The child wants memory while a purge was under way in a thread that did not come along.
static void fork_during_purge_prepare(void) {
    bool clean;
    world_start(2);
    size_t first = runs_take(WORLD_SLICES, 1, &clean);
    runs_give(first, 2);
}

static void fork_during_purge(unsigned thread) {
    if (thread == 0) {
        struct heap *heap = heap_enter();
        runs_purge(0);
        heap_leave(heap);
        return;
    }
    world_fork();
    for (unsigned i = 0; i < 3; i++)
        world_take_one(CLASS_ONE);
}

const struct script fork_scripts[] = {
    SCRIPT(fork_during_put, 2, "the other lists a full slab"),
    SCRIPT(fork_during_take, 2, "the other takes blocks, carves, leaves, makes"),
    SCRIPT(fork_during_give_back, 2, "the other gives a slab back and makes one"),
    SCRIPT(fork_during_malloc, 2, "the other fills and empties its stacks"),
    SCRIPT(fork_during_pass_on, 2, "the other passes blocks on to a transfer cache"),
    SCRIPT(fork_during_end, 2, "the other ends"),
    SCRIPT(fork_with_full_heap, 2, "the other has blocks in stacks, outbox and leases"),
    SCRIPT(fork_during_begin, 2, "the other begins"),
    SCRIPT(fork_with_lease, 3, "two free blocks of a slab that the forking thread has leased"),
    SCRIPT(fork_during_two_puts, 3, "two free the last blocks of a slab"),
    SCRIPT(fork_with_shared_heap, 3, "a slab that was full has become the shared heap's"),
    SCRIPT(fork_with_spared_slab, 3, "a slab that could be spared is given back, and its depot runs empty"),
    SCRIPT(fork_during_adoption, 2, "a fork child forks while it adopts what a dead thread had"),
    SCRIPT(fork_in_parent, 3, "two fork, the third goes on, all in the parent"),
    SCRIPT(fork_with_gates, 2, "one forks twice, the other is shut out, or inside for too long"),
    SCRIPT(fork_shuts_two_out, 3, "two are shut out while the forking thread uses its heap"),
    {.name = "fork_while_shared_heap_grows",
     .what = "a thread without a heap makes the window grow while another forks",
     .threads = 2,
     .prepare = fork_while_shared_heap_grows_prepare,
     .body = fork_while_shared_heap_grows,
     .check = nothing_to_check},
    {.name = "fork_during_purge",
     .what = "memory that was being purged",
     .threads = 2,
     .prepare = fork_during_purge_prepare,
     .body = fork_during_purge,
     .check = nothing_to_check},
    {.name = NULL},
};
