// Every chosen number of the library, with its unit and the reason for it. What follows from others is computed and
// asserted where it is used.
#ifndef BASE_TUNING_H
#define BASE_TUNING_H

#include "base/compiler.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define PAGE_LEAST_BYTES 4096 // of the machines there are; decisions about sizes reckon with it
#define CACHE_LINE_BYTES 64   // of x86-64 and of most aarch64 machines

// --- Address space -------------------------------------------------------------------------------------------------
// A slice is the unit of the slice table: small enough that a slab of small blocks wastes little, large enough that
// the table is 1/8192 of the window.
#define SLICE_SHIFT 16
#define SLICE_BYTES ((size_t)1 << SLICE_SHIFT)
// A group is a huge page of slices: filled before the next, so that small heaps sit in few huge pages.
#define GROUP_SLICES 32
#define GROUP_BYTES (GROUP_SLICES * SLICE_BYTES)
// From this length on a run may lie across two groups: long ones leave much of a group unused, and short ones would tie
// groups together that drain apart.
#define RUN_ACROSS_SLICES 8
// The window: this multiple of the machine's memory leaves room for fragmentation of address space; the tables that
// cover it cost 1/5000 of it in address space, and memory only where used.
#define WINDOW_MEMORY_MULTIPLE 4
#define WINDOW_MIN_BYTES (64 * GIB)
#define WINDOW_MAX_BYTES (4096 * GIB)
// A window that had to be reserved as a whole (sanitizers, valgrind, exhausted address space) starts here and halves.
#define WINDOW_FALLBACK_BYTES (64 * GIB)
// At most this part of RLIMIT_AS is set aside for the window and its tables.
#define WINDOW_LIMIT_SHARE 4
// Growth of the window: a system call's cost is spread over this much, without mapping far beyond need.
#define GROW_MIN_BYTES (4 * MIB)
#define GROW_MAX_BYTES (64 * MIB)
// Metadata comes in mappings of this size: ten thread heaps or some ten thousand slab descriptors.
#define META_MAPPING_BYTES MIB

// --- Size classes --------------------------------------------------------------------------------------------------
#define BLOCK_ALIGN 16       // what malloc promises on 64-bit machines
#define CLASS_LINEAR_MAX 256 // bytes; 16-byte steps up to here, where 1/8 of a size is less than a step
#define CLASS_LINEAR_COUNT 16
#define CLASS_FINE_MAX (32 * KIB) // bytes; 8 classes per doubling up to here: at most 12.5 % of a block is rounding
#define CLASS_FINE_DOUBLINGS 7
#define CLASS_FINE_STEPS 8
#define CLASS_LARGE_MAX MIB // bytes; 4 classes per doubling up to here: blocks of whole pages
#define CLASS_LARGE_DOUBLINGS 5
#define CLASS_LARGE_STEPS 4
// Class 0 is none: what a slice table that was never written says.
#define CLASS_NONE 0
#define CLASS_FIRST 1
#define CLASS_FIRST_LARGE (CLASS_FIRST + CLASS_LINEAR_COUNT + CLASS_FINE_DOUBLINGS * CLASS_FINE_STEPS)
#define CLASS_COUNT (CLASS_FIRST_LARGE + CLASS_LARGE_DOUBLINGS * CLASS_LARGE_STEPS)
// And so many more whose sizes are decided while the program runs (DYN): a thread has room for the stacks of all. Each
// is worth its memory only where a program has much of one size; few programs have more such sizes.
#define CLASS_SPARE_COUNT 16
#define CLASS_END (CLASS_COUNT + CLASS_SPARE_COUNT)
// Sizes of large classes that can be decided: a power of two and so many steps to the next.
#define CLASS_MAP_LARGE_STEPS 16
// Blocks below a cache line (classes 1 to 3) share lines: their slabs have a holder, and only the holder's thread, or
// one with the same tag, reuses them.
#define CLASS_LAST_HELD 3
// Number of tags. Eight bytes a slice are one aligned store and 1/8192 of memory; above eight threads some share a tag,
// and then reuse each other's small blocks as all threads do with larger ones.
#define TAG_COUNT 8

// --- Slabs ---------------------------------------------------------------------------------------------------------
#define SLAB_MIN_BLOCKS 16 // below this the slab grows, up to SLAB_MAX_SLICES
#define SLAB_MAX_SLICES 16
#define SLAB_WASTE_SHARE 16     // at most this part (1/N) of a slab is lost at its end
#define SLAB_OWN_WASTE_SHARE 64 // or this one, where it can be had, of a class made for a size that is used much
#define SLAB_COLOURED_ALIGN 512 // classes whose blocks all start at multiples of so much are coloured (C4)
#define SLAB_PAGE_BYTES 4096    // but not those of whole pages
#define SLAB_MOST_COLOURS 256   // a power of two; an octet holds one less

// --- Thread stacks -------------------------------------------------------------------------------------------------
// Slots of a stack's cell. 1 KiB cells put stack ends on 4 of the 64 sets of a first-level cache page; tops wander over
// the cell, so 32 hot classes stay within the associativity.
#define STACK_SLOTS 128
#define STACK_BYTES (STACK_SLOTS * sizeof(void *))
#define STACK_MAX_DEPTH (STACK_SLOTS - 1) // the lowest slot holds the NULL below the bottom
#define STACK_MAX_BATCH (STACK_SLOTS / 2)
// Depth of a class's stack, at most: so many bytes, but at least so many blocks. Random replacement over a working set
// moves a class's number of blocks by some ten; a shallower stack flushes and refills all the time, and lets slabs go
// that are made anew elsewhere.
#define STACK_CLASS_BYTES (96 * KIB)
#define STACK_FINE_LEAST_DEPTH 16
#define STACK_LARGE_CLASS_BYTES (512 * KIB)
// And of blocks up to CLASS_FINE_MAX as many roots of what a class has in use in each thread.
#define STACK_WANDER_TIMES 2u
// Where there are several threads, what a thread lets go comes back from another processor. So each may hold so many
// times its budget, and of large classes a multiple of the depth: one for so much of that, up to so many.
#define STACK_THREADS_TIMES 2
#define STACK_LARGE_TIMES_BYTES (4 * MIB)
#define STACK_LARGE_MOST_TIMES 4
// Depth with which a class starts, and below which a stack that only flushes does not shrink: so many bytes, within
// these numbers of blocks. A thread that touches a class once keeps little.
#define STACK_START_BYTES (32 * KIB)
#define STACK_START_LEAST 4
#define STACK_START_DEPTH 32
// What a thread may keep parked of one class beside its stack, once it has earned it: a phase of a program in the
// second-level cache. And what stays of a stack that is parked: enough that few phases cross the boundary twice.
#define STACK_PARK_BYTES (4 * MIB)
// Times in a row that a stack must be full, then empty, to be worth parking; and at most: the cells themselves are
// memory, and more would weigh half of what small blocks they hold. What part of an allowance is forgotten with each
// smaller swing; it counts cells in fractions of a unit, so that small ones fade as slowly.
#define PARK_LEAST_SWING 4
#define PARK_MOST_SWING 256
#define PARK_FADE_SHARE 64
#define PARK_UNIT 256
// All threads together may park this part (1/N) of a class without having earned it, each at most the least swing.
#define PARK_SHARE 32
// Cells flushed at a time when a class lies idle: some ten microseconds.
#define PARK_IDLE_CELLS 8
#define PARK_KEEP 32
#define PARK_MOST_BYTES (STACK_CLASS_BYTES / STACK_MAX_DEPTH) // larger blocks have no stack that deep
#define PARK_BLOCKS (STACK_MAX_DEPTH - PARK_KEEP)
// What all stacks of a thread may hold: this, or its part of what all threads together may, but some in any case.
#define STACK_THREAD_BYTES (8 * MIB)
#define STACK_ALL_THREADS_BYTES (64 * MIB)
#define STACK_THREAD_LEAST_BYTES MIB
// First refill of a class in a thread: few blocks, so that a short-lived thread carves little; doubles each time.
#define STACK_START_BATCH 4
// Blocks on their way between threads: a part (1/N) of what the class has in use; at least a batch or two of small
// blocks, at most a few batches. One that did not move while threads looked at it so many times, which each does once
// in CLASS_END looks around, is emptied: its blocks may each keep a slab.
#define TRANSFER_BLOCKS 512 // slots: a page of them
#define TRANSFER_SHARE 32
#define TRANSFER_LEAST_BYTES (16 * KIB)
#define TRANSFER_MOST_BYTES (256 * KIB)
#define TRANSFER_BLOCK_BYTES (128 * KIB) // larger ones go home
#define TRANSFER_IDLE_LOOKS 2
// Refills and flushes after which a thread looks at another class, whether it lies idle. Where large blocks keep the
// cold path busy, looking each time would empty the stacks of all that is used now and then.
#define LOOK_AROUND_TURNS 16
// Refills in a row after which the slab being carved is searched for blocks that other threads put back.
#define FRESH_SEARCH_REFILLS 8
// Flushes in a row without a refill after which a stack halves: a program in a free-only phase keeps less and less.
#define STACK_SHRINK_FLUSHES 8
// And from how many on one of large blocks goes below the depth it starts with: a few in each stack of each thread are
// much.
#define STACK_LARGE_SHRINK_FLUSHES 16
// A thread that flushed so many times in a row, of all classes, is in a phase of frees: it need not keep anything.
// And once only this part (1/N) is left of what was in use when it began, it seems to be through.
// Each time that it goes on to allocate after all, the next phase begins after twice as many, up to this.
#define FREE_PHASE_TURNS 64
#define FREE_PHASE_MOST_TURNS (64 * 1024)
#define FREE_PHASE_SHARE 4
// How much larger a block may be, in classes (a quarter each at most), that serves where the class's stack is empty.
#define STACK_NEAR_CLASSES 2
// A large class that was not refilled or flushed for so many turns of its thread lends its grant to another.
#define STACK_LARGE_IDLE_TURNS 64
// A stack that is empty and was not used for so many turns gives its grant back once no more than this part (1/N) of
// the thread's budget is left: what a phase that is over was granted must not starve the next.
#define STACK_IDLE_TURNS 4096
#define STACK_SPENT_SHARE 4
#define OUTBOX_BLOCKS 64 // blocks of held classes waiting to go home

// --- Giving memory back --------------------------------------------------------------------------------------------
#define RETAIN_MIN_BYTES (16 * MIB) // free but resident memory that is always allowed
#define RETAIN_SHARE 8              // and this part of what is in use, if that is more
// Whenever so many times the refault allowance went by, it loses this part (1/N) of what was never used meanwhile.
#define REFAULT_FADE_TRAFFIC 32
#define REFAULT_FADE_SHARE 4
// Where this part (1/N) of the allowance came back meanwhile, twice as much traffic must go by the next time, up to
// this; and this part less where it did not.
#define REFAULT_WRONG_SHARE 16
#define REFAULT_FADE_MOST_TRAFFIC 512
#define REFAULT_PATIENCE_SHARE 16
#define LIMIT_SPARE_SHARE 8 // of a control group's limit so much (1/N) is left for what the allocator does not know of
#define PURGE_BATCH_RUNS 32 // runs purged per turn outside the lock
// So long is waited for such a turn of another thread at a time, many times what it takes; and so often by malloc_trim:
// the turns of more threads than purge at once, or a second or two for one that is kept from ending its own.
#define PURGE_PATIENCE_MS 100
#define TRIM_WAITS 16
#define GROWTH_BYTES MIB    // clean memory taken before growth purges as much: a system call costs a part of its faults
#define PURGE_SLACK_SHARE 4 // a purge goes this part below the bound, so that purges come in batches

// Of a class of which so much (1/N), and no less than so many bytes, was freed the slabs are looked at for idle pages:
// a class of which little is there would be looked at with each batch. A slab's are worth a system call
// or two where they are at least this part (1/N) of it; while others free more, only where no more than this part (1/N)
// is still in use, since it may end soon. And what a single free may have to purge: some hundred microseconds' worth.
#define SPARSE_LOOK_SHARE 8
#define SPARSE_LOOK_BYTES (256 * KIB)
#define SPARSE_PURGE_SHARE 8
#define SPARSE_MOSTLY_SHARE 4
#define SPARSE_LOOK_SLABS 32
// Between two visits to what threads hold (heap/visit.h): what was not used for so long is idle. A visit of a few
// threads takes some tens of microseconds. And so long for each thread: Linux lets a thread run for 3 to 6 ms where
// others wait, and they may all wait for the same processor.
#define VISIT_NS (100 * MS_NS / LEARN_HASTE)
#define VISIT_THREAD_NS (8 * MS_NS / LEARN_HASTE)

// --- Huge pages -----------------------------------------------------------------------------------------------------
// Of a smaller heap a huge page would be much: this and more in use makes it at most an eighth.
#define HUGE_LEAST_BYTES (16 * MIB)
#define HUGE_MOST_BORDERS 8192 // an eighth of the usual vm.max_map_count
#define HUGE_SPARSE_SHARE 8    // at most this part (1/N) of the pages in use may be untouched
#define HUGE_STAYS_SHARE 6     // or this one, where a group is huge already: one sparse control of four is more
#define HUGE_COMPACT_SHARE 6   // and this one of the groups in use, for the next run to have huge ones from the first
// Looks at how dense the heap is: how many groups, of so many that are remembered, opened so long (groups opened: a
// part 1/N of the heap, within these numbers) ago that what is in them has been touched if it ever will be. And the
// next look comes after this part (1/N) of the heap was opened, within these numbers of groups: it costs some
// microseconds, and a group's page faults a hundred.
#define DENSITY_LOOK_GROUPS 4
#define DENSITY_PLAIN_GROUPS 256
#define DENSITY_AGE 6
#define DENSITY_AGE_SHARE 4
#define DENSITY_AGE_MOST 128
#define DENSITY_LOOK_SHARE 8
#define DENSITY_LOOK_LEAST 2
#define DENSITY_LOOK_MOST 64
// How many groups are passed over for one that may be collapsed, and how much of it (1/N) may be untouched.
#define DENSITY_OLD_LOOKS 16
#define DENSITY_COLLAPSE_SHARE 16
#define DENSITY_LARGE_PARTS 4 // slabs and blocks that share a group of large blocks, at most
// And a control each time that this part (1/N) of the heap got huge pages, within these numbers of groups: its page
// faults take four times as long.
#define DENSITY_CONTROL_SHARE 2
#define DENSITY_CONTROL_LEAST 32
#define DENSITY_CONTROL_MOST 128
// The first one, where huge pages come before anything is known: so much of a heap is worth the question.
#define DENSITY_CONTROL_FIRST 4

// --- realloc --------------------------------------------------------------------------------------------------------
// A block that outgrows its own by at most this part (1/N), or by 16 bytes, gets this part (1/N) more: 16 small steps
// then move it three times.
#define REALLOC_STEP_SHARE 16
#define REALLOC_HEADROOM_SHARE 4
// From this size on a block that can't grow gets a mapping of its own: copying less into memory that is there costs no
// more than faulting in a mapping's pages.
#define REALLOC_MAPPING_BYTES (2 * MIB)

// --- Big blocks ----------------------------------------------------------------------------------------------------
// From this size on a block has a mapping of its own; and between which sizes that may lie.
#define BIG_THRESHOLD_BYTES (32 * MIB)
#define BIG_LEAST_BYTES (512 * KIB)
// Least that a call site's rule may make big: a class with such a rule keeps the constant stack.
#define SITE_LEAST_BYTES (64 * KIB)
#define BIG_THRESHOLD_MAX_BYTES (32 * MIB)
// Mappings at a time from which on smaller blocks are runs after all: a quarter of the kernel's vm.max_map_count.
#define BIG_MAPPINGS_MOST (16 * 1024)

// The block that a thread keeps, at most; and those of all threads.
#define KEPT_BYTES (4 * MIB)
#define KEPT_ALL_BYTES (64 * MIB)

// --- BigCache -------------------------------------------------------------------------------------------------------
#define CACHE_CLASS_COUNT 121 // eight to a doubling: up to 16 GiB
#define CACHE_FIFO_BYTES (2 * MIB)
// By how many classes a block that is handed out may be too large: an eighth, or as much again if its site was used so
// often lately; and from how much smaller it may grow.
#define CACHE_NEAR_CLASSES 1
#define CACHE_FAR_CLASSES 8
#define CACHE_BUSY_USES 8
#define CACHE_LOOKS 8           // blocks among which the one to go is chosen
#define CACHE_OWED_PARTS 2      // one goes for growth of this part (1/N) of it
#define CACHE_RELEASE_BLOCKS 16 // that go per turn outside the lock
#define CACHE_CLEAN_BLOCKS 16   // kept for their addresses
#define RELEASE_BATCH_BYTES (8 * MIB)
// Call sites: the table, and among how many neighbours one is replaced where it may not grow any more.
#define SITES_START_SLOTS 64
#define SITES_MOST_SLOTS (16 * 1024)
#define SITES_LOOKS 8
#define SITES_HALVING_TURNS 16
#define PREFAULT_MOST_BYTES (16 * MIB) // of a block, where it was learned that prefaulting pays
#define ROUTES_MOST 64                 // site rules
#define STATISTICS_SITES 16            // call sites that the statistics list

// --- Learning -------------------------------------------------------------------------------------------------------
// To the learner of a checked build time goes so many times as fast, and so many times less is worth a class: a test of
// a second goes through all that learning does in minutes.
#define LEARN_HASTE (CHECKED ? 100 : 1)
// Snapshots that are kept behind the one in force: none is replaced more often than once in LEARN_LEAST_NS.
#define SNAPSHOT_RING 8
// Between looks at what the program does: short at first, so that a program of a second learns too; longer with time.
#define LEARN_LEAST_NS (10 * MS_NS)
#define LEARN_MOST_NS (500 * MS_NS)
#define LEARN_GROWTH_SHARE 16 // each look comes later than the one before by this part (1/N) of the time in this state
#define LEARN_FALL_SHARE 8    // one is due before that where only this part (1/N) is left in use; or twice as much
// Slow calls of a thread between looks at the clock: from so many on, and more, up to so many, while they take less
// than so long: a look at it costs about as much as a slow call, and the clock is wanted in milliseconds.
#define LEARN_TURNS 32
#define LEARN_MOST_TURNS 128
#define LEARN_MOVED_TURNS 8 // and so many between looks at how much is in use, which cost next to nothing
#define LEARN_CLOCK_NS (LEARN_LEAST_NS / 32)
#define LEARN_COST_NS 50000 // of a look, before one was timed
// And no more than this part (1/N) of the time, whatever a look costs.
#define LEARN_COST_SHARE (200 / LEARN_HASTE)
// Nor of the processor time that the program took, which is less where it sleeps, than this part (1/N), beyond so much
// with which a short program begins.
#define LEARN_BUSY_SHARE (200 / LEARN_HASTE)
#define LEARN_FREE_NS (2 * MS_NS * LEARN_HASTE)
#define MS_NS ((uint64_t)1000000)
#define SECOND_NS (1000 * MS_NS)
// What is kept of the past for the statistics: some 26 KiB of rows, enough for a picture; and changes of state.
#define HISTORY_ROWS 256
#define HISTORY_CHANGES 32
// A sampling window of a thread, in calls, and how often: some 50 microseconds every 20 milliseconds are 1/400.
#define SAMPLE_CALLS 512
#define SAMPLE_NS (20 * MS_NS)
// Of a window, the calls for which its blocks are followed: what is asked for before the other half ends, so that as
// many as can be have as long as can be.
#define LIVES_CALLS (SAMPLE_CALLS / 2)
#define LIVES_MOST (SAMPLE_CALLS - LIVES_CALLS)
// One currency for all decisions: nanoseconds of processor time. A page fault with its zeroed page, a purged page (its
// share of a system call), until both are measured, a batch moved by the cold path, and holding one MiB for a second: a
// GiB held costs half a processor, about what those pay who rent both together by memory (docs/decisions/0023).
#define COST_FAULT_NS 700
#define COST_PURGE_NS 200
#define COST_BATCH_NS 1500
#define COST_PAGE_NS 10 // of a block that comes from another processor
#define COST_MIB_SECOND_NS 500000
// Classes of their own (DYN): requests seen of a class before its sizes are known; what a class must save at least, and
// of what is in use (1/N); what it costs in each thread that uses it: part-used pages, blocks in the stack. For the
// next run so many are enough that the standard error of a share is at most a tenth: there no class stands beside it.
#define DYN_LEAST_SEEN 128
#define DYN_LATER_LEAST_SEEN 25
#define DYN_LEAST_BYTES (256 * KIB / LEARN_HASTE)
#define DYN_LEAST_SHARE (64 * LEARN_HASTE)
#define DYN_THREAD_BYTES (64 * KIB / LEARN_HASTE)
// A running program gets a class while no more of its blocks than this are in another one; one that came too late for
// that once no more than this are left.
#define DYN_GROWING_BYTES (8 * MIB)
#define DYN_WAITING_BYTES (2 * MIB)
// Collapsing groups: of a heap from this size on (what the translation caches reach), so many at once at most, and
// after such a pause again, in this part (1/N) of the time; that takes so long before it was timed.
#define COLLAPSE_LEAST_BYTES (8 * MIB)
#define COLLAPSE_MOST_GROUPS 4
#define COLLAPSE_MOST_SPAN 32 // with those between them that are huge already
#define COLLAPSE_CANDIDATES 8 // of which one has to be touched; looking at one takes half a microsecond
#define COLLAPSE_PAUSE_NS (10 * MS_NS)
// It is left to the next run by one that collapsed so many; which tries it so often, for so many times as long.
#define COLLAPSE_LOOK_NS (50 * MS_NS)
#define COLLAPSE_KNOWN_TIMES 4
#define COLLAPSE_PAYS_GROUPS 4
#define COLLAPSE_SHARE (200 / LEARN_HASTE)
#define COLLAPSE_COST_NS 1200000
// Counts are halved once so many requests were seen since.
#define SIZES_FADE_SEEN 65536
// Arms are tried for windows of this length: some hundred blocks of a program that is busy with big ones. A window
// counts in which a few were asked for, and that was at most so many times as long as wanted. An arm that comes into
// force has settled when a window costs this part of the one before, or after so many windows.
#define TRYOUT_NS (20 * MS_NS)
#define TRYOUT_LEAST_BYTES (4 * MIB / LEARN_HASTE)
#define TRYOUT_LONG_WINDOWS 3
#define TRYOUT_SETTLED_PERCENT 80
#define TRYOUT_SETTLING_WINDOWS 8
// All that trying has cost is at most this part (1/N) of the processor time, but for the turn under way; the next one
// is taken to cost what the last one did, and a window at least. Nothing is tried before the program was busy for so
// long: until then it hardly has what it will hold. Memory in use and free together may be this part (1/N) more
// meanwhile than ever before, and no more until so many windows after.
#define TRYOUT_BUSY_SHARE 100
#define TRYOUT_FIRST_NS (2 * SECOND_NS / LEARN_HASTE)
#define TRYOUT_MEMORY_SHARE 32
#define TRYOUT_COOLING_WINDOWS 4
// Site rules by UCB1: by how much an arm must be better, and how surely: noise alone is that rarely. After how many
// plays it is over, some ten seconds of windows; and the rest then, for what was found out to pay for the search.
#define UCB_GAIN_PERCENT 3
#define UCB_SURE_ERRORS 4
#define UCB_MOST_PLAYS 128
#define UCB_REST_NS (180 * SECOND_NS)
// The busiest call sites play, so many at most, that have asked for so much of late. A site that so many windows in a
// row did not count for gives its turn up.
#define RULES_SITES 8
#define RULES_LEAST_BYTES (64 * MIB / LEARN_HASTE)
#define RULES_IDLE_WINDOWS 16
// What a rule must save in a second to be worth it: half a percent of a processor. Below that the formula's prices,
// which are those of no particular machine, decide more than what the program does.
#define RULES_WORTH_NS (5 * MS_NS)

// --- Locks ---------------------------------------------------------------------------------------------------------
#define LOCK_SPINS 64 // tries before sleeping: about a critical section's length
// How long fork waits for a thread that is inside, asleep between looks: a purge of much memory takes seconds.
#define FORK_PATIENCE_MS 5000
#define FORK_SLEEP_US 100
// And how long a thread lets itself be shut out: far longer than any fork takes that waits for nobody.
#define GATE_PATIENCE_MS 2000
// How long the end of a program waits for a file that another process writes, which takes less than one.
#define FILE_PATIENCE_MS 1000
#define FILE_SLEEP_US 500

#endif
