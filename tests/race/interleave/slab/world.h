// A small world for the subject: a few slices, a heap for each thread, and a ledger of who has which block.
#ifndef INTERLEAVE_WORLD_H
#define INTERLEAVE_WORLD_H

#include "script.h"
#include "subject.h"

#define WORLD_SLICES GROUP_SLICES

// Sets everything up for so many threads, each with a heap. Alone.
void world_start(unsigned threads);
// Said before: the heaps' gates are words like others, and fork loses patience after one look (F3). Else they are
// locks, which the machine waits for.
extern bool world_gates_are_words;
// Else visits may take from stacks.
extern bool world_is_confined;
struct heap *world_heap(unsigned thread);
// Lets `act` be done as a thread, before the threads run. Alone.
#define AS_THREAD(thread, act)      \
    do {                            \
        world_actor = thread;       \
        subject_enter(thread);      \
        act;                        \
        subject_leave(thread);      \
        world_actor = THREADS_MOST; \
    } while (0)
extern unsigned world_actor; // who acts where no thread runs

// --- What threads do -----------------------------------------------------------------------------

// Up to `want` blocks straight from slabs, as a refill takes them, and back to them, as a flush does.
unsigned world_take(unsigned class_index, void **blocks, unsigned want);
void *world_take_one(unsigned class_index);
void world_put(unsigned class_index, void *block);
void world_put_batch(unsigned class_index, void *const *blocks, unsigned count);
// The leases, stacks and outbox of the calling thread's heap go.
void world_empty(void);
// What waits in transfer caches goes home.
void world_empty_transfers(void);
// Idle pages of the class's listed slabs are purged, all of them.
void world_purge_sparse(unsigned class_index);
// malloc and free, by the stacks.
void *world_malloc(unsigned class_index);
void world_free(void *block);
// The calling thread ends; and one begins, with a heap that is there.
void world_end_thread(void);
void world_begin_thread(void);
// The calling thread visits all others.
void world_visit(void);
// One block by the heap that threads without one share, and back.
void *world_spare_take(unsigned class_index);
void world_spare_put(unsigned class_index, void *block);
// A block is handed from one thread to another, as a program would: with release and acquire. NULL: not there yet.
void world_send(void *block);
void *world_receive(void);
// The calling thread forks; what follows happens in the child, without the other threads.
void world_fork(void);

// --- The ledger ----------------------------------------------------------------------------------

void world_got(const void *block, unsigned class_index);
void world_gives(const void *block, unsigned class_index);
// The pages read as zero from now on: nobody may have a block there.
void world_purges(const void *start, size_t bytes);
// Does anybody in the program have the block that starts there?
bool world_is_out(const void *block);

// --- What must hold when all is quiet (checks.c) -------------------------------------------------

void world_check(void);
void world_check_orphans(void);
// How many slabs there are, of one class.
unsigned world_slabs(unsigned class_index);
// Said by scripts of fork that use stacks: a block may be lost that a dead thread had between its stack and the ledger.
extern bool world_may_lose;

// --- For traces (names.c) ------------------------------------------------------------------------

bool world_name(uintptr_t address, char *text, size_t bytes);
// Where metadata lies.
const char *world_pool(size_t *bytes);

#endif
