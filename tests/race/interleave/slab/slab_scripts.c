// Scripts of the slab protocol: blocks come home, slabs are taken, left, listed, given back and made anew, by two or
// three threads at once.
#include "scripts.h"
#include "sys/options.h"
#include "world.h"

static void *blocks[8]; // given out before the threads start

static void two_blocks_out(unsigned class_index) {
    AS_THREAD(0, world_take(class_index, blocks, 2));
}

// --- The last blocks of a slab that nobody has ---------------------------------------------------

// FULL; each thread frees one of its two blocks.
static void free_last_two_prepare(void) {
    world_start(2);
    two_blocks_out(CLASS_LARGE);
}

static void free_last_two(unsigned thread) {
    world_put(CLASS_LARGE, blocks[thread]);
}

// The same, and a third takes: it leases the slab in between, or makes another.
static void free_two_take_one_prepare(void) {
    world_start(3);
    two_blocks_out(CLASS_LARGE);
}

static void free_two_take_one(unsigned thread) {
    if (thread < 2)
        world_put(CLASS_LARGE, blocks[thread]);
    else
        world_take_one(CLASS_LARGE);
}

// Small blocks: the last slab of a class stays.
static void free_two_take_one_fine_prepare(void) {
    world_start(3);
    two_blocks_out(CLASS_TWO);
}

static void free_two_take_one_fine(unsigned thread) {
    if (thread < 2)
        world_put(CLASS_TWO, blocks[thread]);
    else
        world_take_one(CLASS_TWO);
}

// Two slabs of one class lose their last blocks at once: one of them stays listed.
static void last_blocks_of_two_slabs_prepare(void) {
    world_start(2);
    AS_THREAD(0, {
        world_take(CLASS_TWO, blocks, 2);
        world_take(CLASS_TWO, blocks + 2, 2);
        world_put(CLASS_TWO, blocks[0]);
        world_put(CLASS_TWO, blocks[2]);
    });
}

static void last_blocks_of_two_slabs(unsigned thread) {
    world_put(CLASS_TWO, blocks[thread == 0 ? 1 : 3]);
}

// --- A lessee that runs out while blocks come back -----------------------------------------------

// The first thread has leased a slab of four with three blocks out; it takes two while the others free theirs.
static void exhaust_while_freed_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_FOUR, blocks, 3));
}

static void exhaust_while_freed(unsigned thread) {
    void *got[2];
    if (thread == 0)
        world_take(CLASS_FOUR, got, 2);
    else
        world_put(CLASS_FOUR, blocks[thread - 1]);
}

// All blocks of a leased slab come back while its lessee goes to and fro.
static void take_and_leave_while_freed_prepare(void) {
    world_start(2);
    AS_THREAD(0, world_take(CLASS_TWO, blocks, 1));
}

static void take_and_leave_while_freed(unsigned thread) {
    if (thread == 1) {
        world_put(CLASS_TWO, blocks[0]);
        return;
    }
    void *block = world_take_one(CLASS_TWO); // the second: the slab is exhausted
    world_put(CLASS_TWO, block);
    world_empty();
}

// --- Leaving a slab whose last blocks come back --------------------------------------------------

static void leave_while_freed_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_FOUR, blocks, 2));
}

static void leave_while_freed(unsigned thread) {
    if (thread == 0)
        world_empty();
    else
        world_put(CLASS_FOUR, blocks[thread - 1]);
}

// The same with a large class, which keeps no free slab.
static void leave_large_while_freed_prepare(void) {
    world_start(2);
    AS_THREAD(0, blocks[0] = world_take_one(CLASS_LARGE));
}

static void leave_large_while_freed(unsigned thread) {
    if (thread == 0)
        world_empty();
    else
        world_put(CLASS_LARGE, blocks[0]);
}

// The same with a slab of two bitmap words, one block out in each.
static void leave_words_while_freed_prepare(void) {
    static void *all[128];
    world_start(3);
    AS_THREAD(0, {
        unsigned count = world_take(CLASS_WORDS, all, 127);
        for (unsigned i = 0; i < count; i++)
            if (i != 3 && i != 100)
                world_put(CLASS_WORDS, all[i]);
        blocks[0] = all[3];
        blocks[1] = all[100];
    });
}

static void leave_words_while_freed(unsigned thread) {
    if (thread == 0)
        world_empty();
    else
        world_put(CLASS_WORDS, blocks[thread - 1]);
}

// --- The last block of a listed slab, against a lease of it --------------------------------------

static void last_block_against_lease_prepare(void) {
    world_start(2);
    AS_THREAD(0, {
        world_take(CLASS_FOUR, blocks, 2);
        world_put(CLASS_FOUR, blocks[1]);
        world_empty();
        world_take(CLASS_FOUR, blocks + 2, 1); // the listed one
        world_take(CLASS_FOUR, blocks + 3, 1);
        world_take(CLASS_FOUR, blocks + 4, 1);
        world_put(CLASS_FOUR, blocks[2]);
        world_put(CLASS_FOUR, blocks[3]);
        world_put(CLASS_FOUR, blocks[4]);
        world_empty();
    });
}

static void last_block_against_lease(unsigned thread) {
    if (thread == 0) {
        world_put(CLASS_FOUR, blocks[0]);
        return;
    }
    void *block = world_take_one(CLASS_FOUR);
    world_put(CLASS_FOUR, block);
    world_empty();
}

// Three threads meet at one listed slab: one frees its last block, two lease.
static void two_lease_one_frees_prepare(void) {
    world_start(3);
    AS_THREAD(0, {
        world_take(CLASS_LARGE, blocks, 2);
        world_put(CLASS_LARGE, blocks[1]);
    });
}

static void two_lease_one_frees(unsigned thread) {
    if (thread == 0)
        world_put(CLASS_LARGE, blocks[0]);
    else
        world_take_one(CLASS_LARGE);
}

// --- A descriptor given back and made anew for another class, while a flusher still looks at it --

// The second thread frees the last block of a slab that the first leaves; the first then makes, lists and empties a
// slab of a large class with the same descriptor.
static void reuse_descriptor_prepare(void) {
    world_start(2);
    AS_THREAD(0, blocks[0] = world_take_one(CLASS_FOUR));
    AS_THREAD(1, {
        world_take_one(CLASS_FOUR); // of a second slab, which is listed: the first can be spared
        world_empty();
    });
}

static void reuse_descriptor(unsigned thread) {
    if (thread == 1) {
        world_put(CLASS_FOUR, blocks[0]);
        return;
    }
    world_empty();
    void *block = world_take_one(CLASS_LARGE);
    world_empty();
    world_put(CLASS_LARGE, block);
}

// The same from FULL: the flusher's block was the last of a slab of large blocks; two others free, give back, make
// anew.
static void reuse_full_descriptor_prepare(void) {
    world_start(2);
    AS_THREAD(0, world_take(CLASS_LARGE, blocks, 2));
}

static void reuse_full_descriptor(unsigned thread) {
    if (thread == 1) {
        world_put(CLASS_LARGE, blocks[0]);
        return;
    }
    world_put(CLASS_LARGE, blocks[1]);
    void *block = world_take_one(CLASS_FOUR);
    world_empty();
    world_put(CLASS_FOUR, block);
}

// FULL, listed, leased, FULL again with the same generation, while a flusher still means the first FULL.
static void full_again_prepare(void) {
    world_start(3);
    two_blocks_out(CLASS_TWO);
}

static void full_again(unsigned thread) {
    if (thread == 2)
        world_take_one(CLASS_TWO);
    else
        world_put(CLASS_TWO, blocks[thread]);
}

// --- Slabs of one block --------------------------------------------------------------------------

static void one_block_slabs_prepare(void) {
    world_start(2);
}

static void one_block_slabs(unsigned thread) {
    (void)thread;
    void *block = world_take_one(CLASS_ONE);
    world_put(CLASS_ONE, block);
}

// A block goes from one thread to another, which frees it, while the first goes on taking.
static void hand_over_prepare(void) {
    world_start(2);
}

static void hand_over(unsigned thread) {
    if (thread == 0) {
        world_send(world_take_one(CLASS_LARGE));
        world_take_one(CLASS_LARGE);
        return;
    }
    void *block = world_receive();
    if (block != NULL)
        world_put(CLASS_LARGE, block);
}

// --- Batches -------------------------------------------------------------------------------------

// Neighbours and strays of several slabs in one batch, against a thread that frees and one that leases.
static void batch_prepare(void) {
    world_start(3);
    AS_THREAD(0, {
        world_take(CLASS_FOUR, blocks, 4);
        world_take(CLASS_FOUR, blocks + 4, 3);
    });
}

static void batch(unsigned thread) {
    static void *mixed[4];
    switch (thread) {
    case 0: // two neighbours of the first slab, one of the second, one of the first
        mixed[0] = blocks[0];
        mixed[1] = blocks[1];
        mixed[2] = blocks[4];
        mixed[3] = blocks[3];
        world_put_batch(CLASS_FOUR, mixed, 4);
        break;
    case 1:
        world_put(CLASS_FOUR, blocks[2]);
        break;
    default:
        world_take_one(CLASS_FOUR);
    }
}

// A row of neighbours across two bitmap words.
static void row_across_words_prepare(void) {
    static void *all[128];
    world_start(2);
    AS_THREAD(0, {
        world_take(CLASS_WORDS, all, 128);
        for (unsigned i = 0; i < 128; i++)
            if (i < 62 || i > 66)
                world_put(CLASS_WORDS, all[i]);
        for (unsigned i = 0; i < 5; i++)
            blocks[i] = all[62 + i];
        world_empty();
        world_take(CLASS_FOUR, blocks + 5, 1);
    });
}

static void row_across_words(unsigned thread) {
    if (thread == 0)
        world_put_batch(CLASS_WORDS, blocks, 4);
    else
        world_put(CLASS_WORDS, blocks[4]);
}

// --- Everything at once --------------------------------------------------------------------------

static void churn_two_prepare(void) {
    world_start(2);
}

static void churn_two(unsigned thread) {
    (void)thread;
    void *got[2];
    unsigned count = world_take(CLASS_TWO, got, 2);
    for (unsigned i = 0; i < count; i++)
        world_put(CLASS_TWO, got[i]);
    world_empty();
}

// Three threads free one block each and take one, of slabs that were full.
static void churn_full_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_TWO, blocks, 2));
    AS_THREAD(0, world_take(CLASS_TWO, blocks + 2, 2));
}

static void churn_full(unsigned thread) {
    world_put(CLASS_TWO, blocks[thread]);
    if (thread < 2)
        world_take_one(CLASS_TWO);
}

static void churn_three_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_FOUR, blocks, 3));
}

static void churn_three(unsigned thread) {
    world_put(CLASS_FOUR, blocks[thread]);
    world_take_one(CLASS_FOUR);
    world_empty();
}

static void churn_large_prepare(void) {
    world_start(3);
    AS_THREAD(0, world_take(CLASS_LARGE, blocks, 2));
    AS_THREAD(0, world_take(CLASS_LARGE, blocks + 2, 1));
}

static void churn_large(unsigned thread) {
    world_put(CLASS_LARGE, blocks[thread]);
    if (thread < 2)
        world_take_one(CLASS_LARGE);
}

static void churn_large_three_prepare(void) {
    churn_large_prepare();
}

static void churn_large_three(unsigned thread) {
    world_put(CLASS_LARGE, blocks[thread]);
    world_take_one(CLASS_LARGE);
}

static void churn_large_again_prepare(void) {
    churn_large_prepare();
}

static void churn_large_again(unsigned thread) {
    world_put(CLASS_LARGE, blocks[thread]);
    void *block = world_take_one(CLASS_LARGE);
    if (thread == 0)
        world_put(CLASS_LARGE, block);
}

// --- Pages of a part-used slab are purged ---------------------------------------------------------

// A slab of four, two of them back: its idle pages go while another thread frees a block and a third takes one.
static void purge_sparse_prepare(void) {
    world_start(3);
    static struct snapshot nothing_stays;
    nothing_stays = *snapshot_now();
    nothing_stays.retain_min = 0;
    snapshot_publish(&nothing_stays);
    AS_THREAD(0, {
        world_take(CLASS_FOUR, blocks, 4);
        world_put(CLASS_FOUR, blocks[1]);
        world_put(CLASS_FOUR, blocks[2]);
    });
}

static void purge_sparse(unsigned thread) {
    if (thread == 0)
        world_purge_sparse(CLASS_FOUR);
    else if (thread == 1)
        world_put(CLASS_FOUR, blocks[0]);
    else
        world_take_one(CLASS_FOUR);
}

// The slab ends meanwhile.
static void purge_sparse_while_last_freed_prepare(void) {
    purge_sparse_prepare();
}

static void purge_sparse_while_last_freed(unsigned thread) {
    if (thread == 0)
        world_purge_sparse(CLASS_FOUR);
    else
        world_put(CLASS_FOUR, blocks[thread == 1 ? 0 : 3]);
}

// Two purge at once, one takes.
static void two_purge_sparse_prepare(void) {
    purge_sparse_prepare();
}

static void two_purge_sparse(unsigned thread) {
    if (thread < 2)
        world_purge_sparse(CLASS_FOUR);
    else
        world_take_one(CLASS_FOUR);
}

const struct script slab_scripts[] = {
    SCRIPT(free_last_two, 2, "two threads free the last two blocks of a slab"),
    SCRIPT(free_two_take_one, 3, "the same, a third takes; large class"),
    SCRIPT(free_two_take_one_fine, 3, "the same with a class that keeps its last slab"),
    SCRIPT(last_blocks_of_two_slabs, 2, "two slabs become free at once"),
    SCRIPT(exhaust_while_freed, 3, "a lessee runs out while others free"),
    SCRIPT(take_and_leave_while_freed, 2, "a lessee takes, frees and leaves while another frees"),
    SCRIPT(leave_while_freed, 3, "a lessee leaves while others free the last blocks"),
    SCRIPT(leave_large_while_freed, 2, "the same with a class that keeps no free slab"),
    SCRIPT(leave_words_while_freed, 3, "the same with two bitmap words"),
    SCRIPT(last_block_against_lease, 2, "a listed slab becomes free while another leases it"),
    SCRIPT(two_lease_one_frees, 3, "two want the slab that becomes free"),
    SCRIPT(reuse_descriptor, 2, "a descriptor becomes another class's under a flusher's eyes"),
    SCRIPT(reuse_full_descriptor, 2, "the same from FULL"),
    SCRIPT(full_again, 3, "FULL, listed and FULL again while a flusher means the first"),
    SCRIPT(one_block_slabs, 2, "slabs of one block come and go"),
    SCRIPT(hand_over, 2, "a block is freed by another thread"),
    SCRIPT(batch, 3, "batches of neighbours and strays"),
    SCRIPT(row_across_words, 2, "a row of neighbours across two bitmap words"),
    SCRIPT(purge_sparse, 3, "idle pages of a slab are purged while others free and take"),
    SCRIPT(purge_sparse_while_last_freed, 3, "the same while its last blocks come back"),
    SCRIPT(two_purge_sparse, 3, "two purge the same slab, a third takes"),
    SCRIPT(churn_two, 2, "two threads take, free and leave"),
    SCRIPT(churn_full, 3, "three threads free blocks of full slabs, two take"),
    SCRIPT(churn_three, 3, "three threads free, take and leave"),
    SCRIPT(churn_large, 3, "three threads free large blocks, two take"),
    SCRIPT(churn_large_three, 3, "all three take"),
    LONG_SCRIPT(churn_large_again, 3, "and one frees again"),
    {.name = NULL},
};
