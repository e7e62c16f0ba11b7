// Sets the world up, stands in for the operating system, and keeps the ledger.
#include "world.h"

#include "big/cache.h"
#include "big/routes.h"
#include "heap/helper.h"
#include "heap/visit.h"
#include "policy/snapshot.h"
#include "region/meta.h"
#include "slab/sparse.h"
#include "sys/options.h"
#include "sys/os.h"

// --- The operating system ------------------------------------------------------------------------

#define POOL_BYTES ((size_t)64 * 1024)
static char pool[POOL_BYTES] __attribute__((aligned(4096)));
static size_t pool_used;
static uint32_t purge_word; // a purge is a step in which others may run

struct os_facts os_facts = {
    .page_bytes = 4096, .memory_bytes = GIB, .address_limit_bytes = SIZE_MAX, .group_limit_bytes = SIZE_MAX};
struct options options = {.fastlane = OPTION_FASTLANE_ON, .free_policy = OPTION_FREE_POLICY_ADAPTIVE};

void *os_reserve(size_t bytes) {
    if (bytes > POOL_BYTES - pool_used)
        return NULL;
    pool_used += bytes;
    return pool + pool_used - bytes;
}

const char *world_pool(size_t *bytes) {
    *bytes = pool_used;
    return pool;
}

int os_commit(void *address, size_t bytes) {
    (void)address;
    (void)bytes;
    return 0;
}

void os_unmap(void *address, size_t bytes) {
    (void)address;
    (void)bytes;
}

bool os_purge(void *address, size_t bytes) {
    interleave_step(&purge_word);
    world_purges(address, bytes);
    return true;
}

bool os_purge_lazily(void *address, size_t bytes) {
    return os_purge(address, bytes);
}

enum os_huge os_huge_pages(size_t bytes) {
    (void)bytes;
    return OS_HUGE_NONE;
}

bool os_is_confined(void) {
    return world_is_confined;
}

bool os_barrier(void) {
    for (unsigned i = 0; i < THREADS_MOST; i++)
        interleave_pass(i);
    return true;
}

bool os_look_resident(const void *address, size_t bytes, unsigned char *resident) {
    (void)address;
    (void)bytes;
    (void)resident;
    return false;
}

void os_want_huge_pages(void *address, size_t bytes) {
    (void)address;
    (void)bytes;
}

bool os_collapse(void *address, size_t bytes) {
    (void)address;
    (void)bytes;
    return false;
}

void os_refuse_huge_pages(void *address, size_t bytes) {
    (void)address;
    (void)bytes;
}

void os_name(void *address, size_t bytes, const char *name) {
    (void)address;
    (void)bytes;
    (void)name;
}

void os_wait(uint32_t *word, uint32_t value) {
    interleave_wait(word, value);
}

bool os_wait_for(uint32_t *word, uint32_t value, unsigned milliseconds) {
    (void)milliseconds; // time does not pass
    interleave_wait(word, value);
    return true;
}

void os_wake_one(uint32_t *word) {
    interleave_wake(word, false);
}

void os_sleep(unsigned microseconds) {
    (void)microseconds;
    if (!world_gates_are_words)
        interleave_fail("a thread sleeps for what the machine lets it wait for");
}

void os_wake_all(uint32_t *word) {
    interleave_wake(word, true);
}

void os_thread_exit_arm(void *value) {
    (void)value;
}

bool os_is_single_threaded(void) {
    return false; // every path is the one for several threads
}

void fault_report(enum fault fault, const void *address, size_t bytes) {
    interleave_fail("fault %d reported at %p, block of %zu bytes", fault, address, bytes);
}

bool heap_process_start(void) {
    return true;
}

// --- The window ----------------------------------------------------------------------------------

#define GROUPS 1
_Static_assert(WORLD_SLICES == GROUPS * GROUP_SLICES, "the window is one group");

struct window window;
struct size_class size_classes[CLASS_END];
size_t routes_least_bytes = SIZE_MAX;

bool size_class_is_open(unsigned class_index) {
    return class_index < CLASS_COUNT;
}

struct lock mapping_lock = LOCK_INIT(big);
// Nor is the thread that purges what lies idle.
void helper_start(void) {
}
void helper_forget(void) {
}
// Blocks with mappings of their own are not part of it.
void cache_settle(void) {
}
uintptr_t kept_take(struct kept *kept) {
    (void)kept;
    return 0;
}
void kept_end(struct kept *kept) {
    (void)kept;
}
bool kept_is_idle(struct kept *kept) {
    (void)kept;
    return false;
}
void big_let_go(struct kept *kept) {
    (void)kept;
}
void heap_give_all_kept(void) {
}
void cache_forget_changes(void) {
}
static uint8_t views[WORLD_SLICES * TAG_COUNT];
static intptr_t info[WORLD_SLICES];
static char group_table[GROUPS * WINDOW_GROUP_RECORD_BYTES] __attribute__((aligned(8)));
static char group_index_table[WINDOW_INDEX_RECORD_BYTES] __attribute__((aligned(8)));
static bool is_extended;

void *window_group_table(void) {
    return group_table;
}

void *window_group_index(void) {
    return group_index_table;
}

bool window_extend(size_t slices, size_t *first, size_t *count) {
    if (is_extended || slices > WORLD_SLICES)
        return false;
    is_extended = true;
    *first = 0;
    *count = WORLD_SLICES;
    return true;
}

static void class_start(unsigned class_index, size_t bytes, unsigned slices) {
    struct size_class *row = &size_classes[class_index];
    row->bytes = (uint32_t)bytes;
    row->shift = (uint8_t)bits_lowest(bytes);
    row->inverse = bits_inverse((uint32_t)(bytes >> row->shift));
    row->slices = (uint8_t)slices;
    row->blocks = (uint16_t)(slices * SLICE_BYTES / bytes);
    row->words = (uint8_t)((row->blocks + 63) / 64);
}

static void classes_start(void) {
    class_start(CLASS_HELD, 16 * KIB, 1);
    class_start(CLASS_TWO, 32 * KIB, 1);
    class_start(CLASS_FOUR, 16 * KIB, 1);
    class_start(CLASS_WORDS, KIB, 2);
    class_start(CLASS_LARGE, 32 * KIB, 1);
    class_start(CLASS_ONE, 64 * KIB, 1);
}

// --- The ledger ----------------------------------------------------------------------------------

// Who has what lies in each KiB of the window: a thread's number + 1, 0: nobody in the program. The bytes stand for the
// blocks' content too: whoever gets or gives a block writes to them, and the race detector looks on.
#define UNITS (WORLD_SLICES * SLICE_BYTES / KIB)
static uint8_t had_by[UNITS];
static uint8_t content[UNITS];

unsigned world_actor = THREADS_MOST;
bool world_may_lose;
bool world_gates_are_words;
bool world_is_confined = true;

static unsigned actor(void) {
    return interleave_thread() < THREADS_MOST ? interleave_thread() : world_actor;
}

uintptr_t world_thread_pointer(void) {
    return (uintptr_t)actor() + 1;
}

static size_t unit_of(const void *block) {
    return ((uintptr_t)block - window.base) / KIB;
}

// A program writes at the start of a block and at each quarter.
static void touch(size_t unit, size_t units) {
    size_t step = units < 16 ? units : 16;
    for (size_t i = 0; i < units; i += step)
        interleave_touch(&content[unit + i]);
}

void world_got(const void *block, unsigned class_index) {
    size_t units = class_bytes(class_index) / KIB;
    size_t unit = unit_of(block);
    if (unit + units > UNITS || ((uintptr_t)block & (KIB - 1)) != 0)
        interleave_fail("%p is no block", block);
    for (size_t i = unit; i < unit + units; i++) {
        if (had_by[i] != 0)
            interleave_fail("S1: thread %u gets the block at slice %zu + %zu KiB, which thread %u has", actor(),
                            unit / 64, unit % 64, had_by[i] - 1u);
        had_by[i] = (uint8_t)(actor() + 1);
    }
    touch(unit, units);
}

void world_gives(const void *block, unsigned class_index) {
    size_t units = class_bytes(class_index) / KIB;
    size_t unit = unit_of(block);
    touch(unit, units);
    for (size_t i = unit; i < unit + units; i++)
        had_by[i] = 0;
}

void world_purges(const void *start, size_t bytes) {
    size_t unit = unit_of(start), units = bytes / KIB;
    for (size_t i = unit; i < unit + units; i++)
        if (had_by[i] != 0)
            interleave_fail("S2: thread %u purges slice %zu + %zu KiB, which thread %u has", actor(), i / 64, i % 64,
                            had_by[i] - 1u);
    touch(unit, units);
}

bool world_is_out(const void *block) {
    return had_by[unit_of(block)] != 0;
}

// --- Start ---------------------------------------------------------------------------------------

static struct snapshot snapshot;
static struct heap *heaps[THREADS_MOST];

static void locks_start(void) {
    interleave_is_lock(&registry.statistics_lock.state);
    interleave_is_lock(&registry.lock.state);
    interleave_is_lock(&registry.spare_lock.state);
    interleave_is_lock(&runs_lock.state);
    interleave_is_lock(&runs_grow_lock.state);
    interleave_is_lock(&mapping_lock.state);
    interleave_is_lock(&meta_lock.state);
    for (unsigned i = 0; i < CLASS_END; i++) {
        interleave_is_lock(&depots[i].lock.state);
        interleave_is_lock(&transfers[i].lock.state);
    }
}

static void gate_start(const struct heap *heap) {
    if (!world_gates_are_words)
        interleave_is_lock(&heap->gate);
}

void world_start(unsigned threads) {
    window = (struct window){.base = (uintptr_t)1 << 40, .limit = WORLD_SLICES, .views = views, .info = info};
    classes_start();
    snapshot_default(&snapshot);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        snapshot_default_depth(&snapshot, i, class_bytes(i));
    snapshot_publish(&snapshot);
    depot_start();
    transfer_start();
    runs_start();
    registry_start();
    locks_start();
    for (unsigned i = 0; i < threads; i++) {
        subject_new_thread(i);
        AS_THREAD(i, heaps[i] = heap_mine());
        gate_start(heaps[i]);
    }
    bool clean;
    runs_give(runs_take(1, 1, &clean), 1); // so that there are slices
}

struct heap *world_heap(unsigned thread) {
    return heaps[thread];
}

size_t size_class_bytes_of_entry(unsigned entry) {
    (void)entry; // scripts have no sampling windows
    return 0;
}

size_t size_class_bytes(unsigned class_index) {
    return class_index == CLASS_NONE ? 1 : class_bytes(class_index);
}

// --- What threads do -----------------------------------------------------------------------------

// The ledger is kept inside (H5): a fork child finds each block with somebody.

unsigned world_take(unsigned class_index, void **blocks, unsigned want) {
    struct heap *heap = heap_enter();
    unsigned count = heap_take(heap, class_index, blocks + want, want);
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = blocks[want - count + i];
        world_got(blocks[i], class_index);
    }
    heap_leave(heap);
    return count;
}

void *world_take_one(unsigned class_index) {
    void *block;
    return world_take(class_index, &block, 1) == 1 ? block : NULL;
}

void world_put_batch(unsigned class_index, void *const *blocks, unsigned count) {
    struct heap *heap = heap_enter();
    for (unsigned i = 0; i < count; i++)
        world_gives(blocks[i], class_index);
    put_blocks(blocks, count, class_index);
    heap_leave(heap);
}

void world_put(unsigned class_index, void *block) {
    world_put_batch(class_index, &block, 1);
}

void world_purge_sparse(unsigned class_index) {
    struct heap *heap = heap_enter();
    sparse_look(class_index, SPARSE_SOME_IDLE);
    heap_leave(heap);
}

void world_empty(void) {
    struct heap *heap = heap_enter();
    heap_empty(heap);
    heap_leave(heap);
}

void world_empty_transfers(void) {
    struct heap *heap = heap_enter();
    transfer_empty_all(heap);
    heap_leave(heap);
}

void world_end_thread(void) {
    registry_thread_ended(heap_mine());
}

void world_begin_thread(void) {
    unsigned thread = actor();
    subject_new_thread(thread);
    subject_enter(thread);
    heaps[thread] = heap_mine();
    gate_start(heaps[thread]);
}

void world_visit(void) {
    struct heap *heap = heap_enter();
    visit_idle();
    heap_leave(heap);
}

void *world_spare_take(unsigned class_index) {
    void *block;
    registry_enter_spare();
    if (heap_take(registry.spare, class_index, &block + 1, 1) != 1)
        block = NULL;
    if (block != NULL)
        world_got(block, class_index);
    registry_leave_spare();
    return block;
}

void world_spare_put(unsigned class_index, void *block) {
    registry_enter_spare();
    world_gives(block, class_index);
    put_blocks(&block, 1, class_index);
    registry_leave_spare();
}

void world_fork(void) {
    heap_fork_prepare();
    interleave_kill_others();
    heap_fork_child();
    world_check_orphans();
    struct heap *heap = heap_enter();
    while (load_relaxed(&registry.orphan_count) != 0)
        heap_adopt_orphan();
    heap_leave(heap);
}
