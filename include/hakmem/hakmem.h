// hakmem: a general-purpose memory allocator for Linux. The library's own interface, in C.
//
// A program that preloads or links libhakmem gets the C library's names (malloc, free, operator new, …) from it and
// needs none of this. These names are for what the C library has no name for, and for programs that use both
// allocators.
//
// Threads: every function may be called from any thread at any time.
// Signals: none is async-signal-safe, as malloc is not.
// Errors: functions that return a pointer return NULL and set errno to ENOMEM when there is no memory; others say so.
//         errno is left alone on success. Sizes are in bytes.
#ifndef HAKMEM_HAKMEM_H
#define HAKMEM_HAKMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HAKMEM_VERSION_MAJOR 0
#define HAKMEM_VERSION_MINOR 1
#define HAKMEM_VERSION_PATCH 0

// The version of the library that is running, as "0.1.0". Never NULL.
const char *hakmem_version(void);

// --- Blocks ----------------------------------------------------------------------------------------------------------

// A block of at least `size` bytes, aligned to 16. A size of 0 gives a block of its own that can be freed.
void *hakmem_malloc(size_t size);

// A zeroed block for `count` elements of `size` bytes. NULL with ENOMEM also where the product overflows.
void *hakmem_calloc(size_t count, size_t size);

// Resizes a block, moving it where it must; the content up to the smaller of both sizes stays. block == NULL: as
// hakmem_malloc. size == 0: frees the block and returns NULL. On failure the old block stays as it was.
void *hakmem_realloc(void *block, size_t size);

// A block whose address is a multiple of `alignment`. NULL with EINVAL where that is not a power of two.
void *hakmem_aligned_alloc(size_t alignment, size_t size);

// Frees a block that any of the library's functions returned, in any thread. NULL does nothing. errno stays.
void hakmem_free(void *block);

// Bytes of a block that may be used: its size rounded up to its class. 0 for NULL.
size_t hakmem_usable_size(const void *block);

// --- The heap --------------------------------------------------------------------------------------------------------

// Gives free memory back to the system, all but about `keep` bytes of it. The calling thread's stacks of free blocks
// are emptied at once; other threads empty theirs the next time they need or return a batch of blocks. What another
// thread is giving back just then is waited for. Returns 1 if memory was given back, else 0.
int hakmem_trim(size_t keep);

// What the heap looks like, in bytes where nothing else is said. Exact while no other thread allocates or frees.
struct hakmem_stats {
    size_t size;                    // of this struct: set by the caller, tells the library which fields there are
    size_t allocated_bytes;         // in blocks that the program has, each rounded up to its class
    size_t cached_bytes;            // in free blocks that threads keep for themselves
    size_t mapped_bytes;            // address space in slices and own mappings
    size_t resident_bytes;          // of the process, as the system counts it
    size_t retained_bytes;          // of free slices and cached big blocks that may be resident; see retain_min
    size_t metadata_bytes;          // taken for the allocator's own records
    uint64_t refills;               // batches moved from slabs to threads
    uint64_t refilled_blocks;       // blocks in them
    uint64_t flushes;               // batches moved from threads to slabs
    uint64_t flushed_blocks;        // blocks in them
    uint64_t remote_flushed_blocks; // blocks sent home to the thread that holds their slab
    uint64_t passed_blocks;         // blocks that one thread passed on to another; no slab was touched
    uint64_t slabs_made;
    uint64_t slabs_returned;
    uint64_t purged_bytes;    // given back to the system so far
    uint64_t purges;          // system calls that did it
    uint64_t refaulted_bytes; // of what was given back, used again since
    uint64_t faults;          // misuse seen so far; see docs/faults.md
    uint64_t threads;         // that have a heap now
    uint64_t big_hits;        // requests from big_threshold on that a freed block served
    uint64_t big_misses;      // and those that needed new memory
    uint64_t big_evictions;   // freed blocks of such sizes that were given back
    size_t big_cached_bytes;  // in those that were not: part of retained_bytes
    uint64_t released_bytes;  // of freed blocks of such sizes, given back so far
    uint64_t reused_bytes;    // of what was retained, used again: each page of it a page fault less
    size_t allowance_bytes;   // that may be retained beyond retain_min and retain_share, since they were needed again
    size_t huge_bytes;        // of groups in use, as a whole, for which huge pages are asked
    uint64_t kept_hits;       // requests above 1 MiB that the block served which their thread kept
    // Learning, in this process; all 0 where nothing is learned. See docs/policy.md.
    uint64_t learn_state;       // of learning now: 1 LEARN, 2 CANARY, 3 FROZEN
    uint64_t learn_run_ns;      // since learning began
    uint64_t learn_looks;       // times that a thread looked at what all have counted
    uint64_t learn_look_ns;     // spent in them, changes of classes and the opening of windows included
    uint64_t learn_changes;     // looks that decided something
    uint64_t learn_promoted;    // trials after which what was decided stayed
    uint64_t learn_rolled_back; // trials after which it gave way to what was before
    uint64_t learn_anew;        // times that a change of the program ended FROZEN
    uint64_t learn_windows;     // sampling windows opened
    uint64_t learn_seen_blocks; // requests whose sizes were seen in sampling windows
    uint64_t learn_fault_ns;    // that a page fault takes, with its zeroed page, per 4 KiB
    uint64_t learn_purge_ns;    // and giving 4 KiB back, in a call for 32 pages
    uint64_t learn_trial_ns;    // that trying settings took beyond what the same work takes without: mode research
};

// Fills *out up to out->size. Returns 0; -1 with errno EINVAL where out is NULL or its size too small for one field.
int hakmem_stats(struct hakmem_stats *out);

// Writes the statistics, classes included, as JSON into `buffer`, always with a NUL where size > 0. Returns the length
// without the NUL that the whole text has, which may be more than fitted; so buffer may be NULL with size 0.
int hakmem_stats_json(char *buffer, size_t size);

// Writes what was learned so far to the program's policy file (option policy), merged with what that says by now; as it
// is done at the end of the program, which a program that ends by a signal or _exit does not reach. What was written is
// not counted again. It takes as long as writing a small file, and waits for others who write it for up to a second.
// Not while the caller is in a constructor or destructor of a library, under the dynamic linker's lock. Returns 0, or
// -1 with errno: ENOTSUP where nothing is learned (option mode) or no file is named; EPERM after the process has
// confined itself (seccomp); EAGAIN while nothing was looked at yet; EBUSY while another thread saves; EEXIST where the
// file is another program's; or why it can't be written, as ENOSPC.
int hakmem_policy_save(void);

// Writes an option's value as text. Returns its length as hakmem_stats_json does; -1 with errno ENOENT where there is
// no option of that name (HAKMEM_OPTIONS=help lists them).
int hakmem_option_get(const char *name, char *value, size_t size);

#ifdef __cplusplus
}
#endif

#endif
