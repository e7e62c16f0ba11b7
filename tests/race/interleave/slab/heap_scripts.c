// Scripts of threads as a whole: holders and their lists, stacks and outboxes, threads that end and begin.
#include "scripts.h"
#include "world.h"

static void *blocks[8];

// --- Held classes --------------------------------------------------------------------------------

// The holder's thread ends while one frees blocks of its slabs and another leases one of them.
static void holder_ends_prepare(void) {
    world_start(3);
    AS_THREAD(0, {
        world_take(CLASS_HELD, blocks, 4);     // full
        world_take(CLASS_HELD, blocks + 4, 1); // leased
    });
}

static void holder_ends(unsigned thread) {
    if (thread == 0)
        world_end_thread();
    else if (thread == 1)
        world_put(CLASS_HELD, blocks[0]);
    else
        world_take_one(CLASS_HELD);
}

// Its heap gets a new thread while a block of a full slab of the old one comes back.
static void holder_revives_prepare(void) {
    world_start(2);
    AS_THREAD(0, {
        world_take(CLASS_HELD, blocks, 4);
        world_end_thread();
    });
}

static void holder_revives(unsigned thread) {
    if (thread == 0) {
        world_begin_thread();
        world_take_one(CLASS_HELD);
    } else {
        world_put(CLASS_HELD, blocks[0]);
        world_put(CLASS_HELD, blocks[1]);
    }
}

// Two threads list slabs of a third, which leases them.
static void listed_for_holder_prepare(void) {
    world_start(3);
    AS_THREAD(0, {
        world_take(CLASS_HELD, blocks, 4);
        world_take(CLASS_HELD, blocks + 4, 4);
    });
}

static void listed_for_holder(unsigned thread) {
    if (thread == 0)
        world_take_one(CLASS_HELD);
    else
        world_put(CLASS_HELD, blocks[thread == 1 ? 0 : 4]);
}

// --- Stacks and outboxes -------------------------------------------------------------------------

// malloc and free of two threads, each freeing what the other got.
static void exchange_blocks_prepare(void) {
    world_start(2);
    AS_THREAD(0, blocks[0] = world_malloc(CLASS_TWO));
    AS_THREAD(1, blocks[1] = world_malloc(CLASS_TWO));
}

static void exchange_blocks(unsigned thread) {
    world_free(blocks[1 - thread]);
    world_malloc(CLASS_TWO);
    world_end_thread();
}

// Small blocks of another thread go home through the outbox; with the third its slabs are opened.
static void outbox_prepare(void) {
    world_start(2);
    AS_THREAD(0, {
        for (unsigned i = 0; i < 4; i++)
            blocks[i] = world_malloc(CLASS_HELD);
    });
}

static void outbox(unsigned thread) {
    if (thread == 1) {
        for (unsigned i = 0; i < 3; i++)
            world_free(blocks[i]);
        world_end_thread();
    } else {
        world_free(blocks[3]);
        world_malloc(CLASS_HELD);
        world_end_thread();
    }
}

// Both threads end while what each has of the other's comes home.
static void both_end_prepare(void) {
    world_start(2);
    AS_THREAD(0, {
        blocks[0] = world_malloc(CLASS_LARGE);
        blocks[1] = world_malloc(CLASS_FOUR);
    });
    AS_THREAD(1, {
        blocks[2] = world_malloc(CLASS_LARGE);
        blocks[3] = world_malloc(CLASS_FOUR);
    });
}

static void both_end(unsigned thread) {
    world_free(blocks[thread == 0 ? 2 : 0]);
    world_free(blocks[thread == 0 ? 3 : 1]);
    world_end_thread();
}

// --- Transfer caches -----------------------------------------------------------------------------

// What one thread frees goes to the other by the class's transfer cache.
static void pass_on_prepare(void) {
    world_start(2);
    AS_THREAD(0, {
        for (unsigned i = 0; i < 4; i++)
            blocks[i] = world_malloc(CLASS_TWO);
    });
}

static void pass_on(unsigned thread) {
    if (thread == 0) {
        for (unsigned i = 0; i < 4; i++)
            world_free(blocks[i]);
    } else {
        void *got[3];
        for (unsigned i = 0; i < 3; i++)
            got[i] = world_malloc(CLASS_TWO);
        world_free(got[0]);
    }
}

// A third sends home what waits, and the two go on.
static void pass_on_and_empty(unsigned thread) {
    if (thread == 0)
        world_empty_transfers();
    else if (thread == 1)
        world_free(blocks[3]);
    else
        world_malloc(CLASS_TWO);
}

static void pass_on_and_empty_prepare(void) {
    world_start(3);
    AS_THREAD(1, {
        for (unsigned i = 0; i < 4; i++)
            blocks[i] = world_malloc(CLASS_TWO);
        for (unsigned i = 0; i < 3; i++)
            world_free(blocks[i]);
    });
}

// --- Threads that begin --------------------------------------------------------------------------

// Two threads begin at once.
static void threads_begin_prepare(void) {
    world_start(0);
}

static void threads_begin(unsigned thread) {
    world_begin_thread();
    world_take_one(thread == 1 ? CLASS_HELD : CLASS_TWO);
}

// The first thread of the process ended. Its heap goes to one thread, its thread-local storage to another.
static void first_thread_followed_prepare(void) {
    world_start(1);
    AS_THREAD(0, {
        blocks[0] = world_take_one(CLASS_TWO);
        world_end_thread();
    });
}

static void first_thread_followed(unsigned thread) {
    world_begin_thread();
    world_take_one(CLASS_TWO);
    if (thread == 0)
        world_put(CLASS_TWO, blocks[0]);
}

// --- Threads without a heap ----------------------------------------------------------------------

// Two such threads share one heap, a third has its own.
static void shared_heap_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_TWO, blocks, 2));
}

static void shared_heap(unsigned thread) {
    if (thread == 2) {
        world_put(CLASS_TWO, blocks[1]);
    } else {
        void *block = world_spare_take(CLASS_TWO);
        world_spare_put(CLASS_TWO, thread == 0 ? blocks[0] : block);
    }
}

// --- Memory runs out -----------------------------------------------------------------------------

// All but one slice are in use; one thread gives a slab back while another wants one, and purges wait for each other.
static void last_slice_prepare(void) {
    bool clean;
    world_start(2);
    AS_THREAD(0, blocks[0] = world_take_one(CLASS_ONE));
    for (unsigned i = 1; i < WORLD_SLICES; i++)
        runs_take(1, 1, &clean);
}

static void last_slice(unsigned thread) {
    if (thread == 0) {
        world_put(CLASS_ONE, blocks[0]);
        runs_purge(0);
    } else {
        void *block = world_take_one(CLASS_ONE);
        if (block != NULL)
            world_put(CLASS_ONE, block);
    }
}

static void last_slice_check(void) {
    struct runs_totals totals = runs_count();
    if (subject_is_purging() || totals.free_slices != 1 || totals.in_use_slices != WORLD_SLICES - 1)
        interleave_fail("%zu slices are free, %zu in use", totals.free_slices, totals.in_use_slices);
}

const struct script heap_scripts[] = {
    SCRIPT(holder_ends, 3, "a holder's thread ends while its slabs are listed and leased"),
    SCRIPT(holder_revives, 2, "a holder gets a new thread while its slabs are listed"),
    SCRIPT(listed_for_holder, 3, "two list slabs of a third"),
    SCRIPT(exchange_blocks, 2, "two threads free each other's blocks by their stacks, and end"),
    SCRIPT(outbox, 2, "small blocks go home through the outbox"),
    SCRIPT(both_end, 2, "two threads end that have each other's blocks"),
    SCRIPT(pass_on, 2, "one thread's blocks go to another by the transfer cache"),
    SCRIPT(pass_on_and_empty, 3, "a transfer cache is emptied while it is used"),
    SCRIPT(threads_begin, 2, "two threads begin"),
    SCRIPT(first_thread_followed, 2, "the first thread's heap and storage go to two others"),
    SCRIPT(shared_heap, 3, "threads without a heap share one"),
    {.name = "last_slice",
     .what = "one gives the last slice back while another wants it",
     .threads = 2,
     .prepare = last_slice_prepare,
     .body = last_slice,
     .check = last_slice_check},
    {.name = NULL},
};
