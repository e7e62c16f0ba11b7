// The contract with the operating system: memory, time to sleep and wake, start-up facts, output. Nothing above this
// layer calls the kernel or reads the environment.
//
// After the start a process may confine itself by filters of system calls, and be killed for one it did not foresee. So
// from then on there are only calls that C libraries make for memory as well, or else os_is_confined is asked first.
// Nor are those, and reading files, points where a thread can be cancelled: our callers hold locks.
// Every call leaves errno as it found it: the interface above decides what its callers see.
#ifndef SYS_OS_H
#define SYS_OS_H

#include "base/compiler.h"

// Facts that don't change while the process runs; read once by os_start.
struct os_facts {
    size_t page_bytes;          // 4, 16 or 64 KiB
    size_t memory_bytes;        // the machine's memory
    size_t address_limit_bytes; // RLIMIT_AS, SIZE_MAX where unlimited
    size_t group_limit_bytes;   // of memory, of the control group; SIZE_MAX where unlimited
    uint64_t random;            // 64 bits that differ between processes
    bool secure;                // AT_SECURE: the environment is not the user's to set
};
SHARED struct os_facts os_facts;

INTERNAL void os_start(void);
// Reads the limits anew, which the process may change.
INTERNAL void os_read_limits(void);

// Readable, writable, zeroed memory at an address of the kernel's choice, or NULL.
INTERNAL void *os_map(size_t bytes);
// The same exactly at `address` where nothing is mapped, or NULL; nothing that exists is ever replaced.
INTERNAL void *os_map_at(uintptr_t address, size_t bytes);
// Addresses alone, no memory: to be committed piece by piece. NULL where there are none.
INTERNAL void *os_reserve(size_t bytes);
// Makes reserved memory usable. Returns 0, or the error number.
INTERNAL int os_commit(void *address, size_t bytes);
// Makes reserved addresses readable (as zero), which costs no memory yet. Returns 0, or the error number.
INTERNAL int os_commit_readable(void *address, size_t bytes);
INTERNAL void os_unmap(void *address, size_t bytes);
// Gives the pages back and keeps the addresses. True: the memory is gone and reads as zero. False: it was kept
// (locked memory), its content unknown.
INTERNAL bool os_purge(void *address, size_t bytes);
// The kernel may take the pages whenever it needs some, and until they are written to. True: their content is unknown
// from now on. False: they were kept.
INTERNAL bool os_purge_lazily(void *address, size_t bytes);
// Grows or shrinks a mapping without moving it. False: nothing has changed.
INTERNAL bool os_remap_in_place(void *address, size_t old_bytes, size_t new_bytes);
// Moves a mapping's pages over another mapping, which is replaced. False: nothing has changed.
INTERNAL bool os_remap_to(void *address, size_t old_bytes, void *place, size_t new_bytes);
// Asks the kernel for huge pages in a range from now on, or for none: a wish.
INTERNAL void os_want_huge_pages(void *address, size_t bytes);
INTERNAL void os_refuse_huge_pages(void *address, size_t bytes);
// Puts whole huge pages in place of small ones at once, with what is in them. False: the kernel can't, or has none.
INTERNAL bool os_collapse(void *address, size_t bytes);
// Brings pages in, as if each had been written to; where the kernel can't, they come at first touch as ever.
INTERNAL void os_populate(void *address, size_t bytes);
// Whether the kernel has huge pages of that size.
enum os_huge {
    OS_HUGE_NONE,
    OS_HUGE_ON_REQUEST,
    OS_HUGE_EVERYWHERE, // for all who do not refuse them
};
INTERNAL enum os_huge os_huge_pages(size_t bytes);
// Which pages of a range are resident: a byte each, whose lowest bit says so. False: the kernel does not say. Not to be
// called where os_is_confined.
INTERNAL bool os_look_resident(const void *address, size_t bytes, unsigned char *resident);
// Names the mapping in /proc/PID/maps where the kernel can, and nothing forbids it.
INTERNAL void os_name(void *address, size_t bytes, const char *name);

// Sleeps while *word == value; may wake for no reason.
INTERNAL void os_wait(uint32_t *word, uint32_t value);
// The same for so long at most; false: the time is over.
INTERNAL bool os_wait_for(uint32_t *word, uint32_t value, unsigned milliseconds);
INTERNAL void os_wake_one(uint32_t *word);
INTERNAL void os_wake_all(uint32_t *word);
// What any thread of the process stored before is seen by the caller, and what the caller stored by all threads' loads
// from now on: as if each thread had passed a full barrier. False: the kernel has none. Not to be called where
// os_is_confined.
INTERNAL bool os_barrier(void);
// Sleeps about so long.
INTERNAL void os_sleep(unsigned microseconds);

// The start of a file, as text; empty where it can't be read. And the number that a text begins with.
INTERNAL void os_read_file(const char *path, char *text, size_t size);
// The working directory; empty where it is unknown.
INTERNAL void os_working_folder(char *path, size_t size);
INTERNAL size_t os_read_number(const char *digit);
// The process may be in a sandbox that it has put itself into: it may be killed for other calls than those for memory
// that every C library makes. Calls nothing.
INTERNAL bool os_is_confined(void);
// It may be from now on.
INTERNAL void os_note_confined(void);
// prctl with four arguments, as the program calls it: sets errno. Notes when the process confines itself.
INTERNAL int os_control_process(int option, const unsigned long *arguments);
// The executable's name without folders, and the build id that its linker wrote into it, in hexadecimal; empty where
// there is none.
INTERNAL void os_program_name(char *name, size_t size);
// The name as it is now from now on: the kernel says none any more once main's thread has ended, or behind a chroot.
// Before there is a second thread that asks.
INTERNAL void os_keep_program_name(void);
INTERNAL void os_program_build(char *build, size_t size);
// Where the executable, or the library of that file name, is loaded: what its symbols' values are added to. False: it
// is not there. Takes the dynamic linker's lock.
INTERNAL bool os_find_module(const char *name, uintptr_t *base);
// The modules that are loaded now are there to stay: the executable, and what it is linked to. At the start; as above.
INTERNAL void os_note_modules(void);
// The other way round: the file name of what is loaded at an address, since os_note_modules at least or as long as
// anything was: where something was unloaded, another module may lie at its place now. False: nothing is, or its name
// is too long.
INTERNAL bool os_find_module_of(uintptr_t address, char *name, size_t size, uintptr_t *base);
// Nanoseconds of a clock that never goes back, from no particular moment on.
INTERNAL uint64_t os_now_ns(void);
// Processor time that the calling thread has used. Not to be called where os_is_confined.
INTERNAL uint64_t os_thread_ns(void);
// Processor time that all threads of the process have used; a fork child's begins anew. As above.
INTERNAL uint64_t os_process_ns(void);
// Page faults of the process so far that needed no disk. Not to be called where os_is_confined.
INTERNAL uint64_t os_count_faults(void);
// The start of a file that must be a plain one, as text. Waits for nobody, as the other end of a pipe. Returns its
// length, or minus the error number: EINVAL where it is no plain file.
INTERNAL long os_read_plain_file(const char *path, char *text, size_t size);
// Puts the path of what a link leads to in place of the link's. Returns 0, also where it is none, or the error number;
// ELOOP: they lead to nothing or to ever more of them.
INTERNAL int os_follow_links(char *path, size_t size);
// Writes a file anew, as a whole, with the rights that it had: who opens it sees the old or the new one. Under the
// file's lock. Returns 0, or the error number: nothing has changed. EINVAL: it is no plain file, but a link for
// example.
INTERNAL int os_replace_file(const char *path, const char *text, size_t length);
// Has a signal handled that the program leaves to the system, by a handler that may do little. False: the program has
// it, or it can't be caught.
INTERNAL bool os_handle_signal(int number, void (*handler)(int number));
// Gives a file a longer name, in place of one that has it. Returns 0, or the error number.
INTERNAL int os_keep_aside(const char *path, const char *ending);
// Waits until no other process has the file's lock, and takes it: until os_unlock_file. Returns the lock, or minus the
// error number: there can't be one, or another process kept it for FILE_PATIENCE_MS (ETIMEDOUT).
INTERNAL int os_lock_file(const char *path);
// Also where a child of a fork meanwhile has it too.
INTERNAL void os_unlock_file(int lock);
// The memory limit of the process's control group, the least of those around it; SIZE_MAX: none.
INTERNAL size_t os_cgroup_memory_bytes(void);
// Bytes resident in the process right now, from /proc; 0 where that can't be read.
INTERNAL size_t os_resident_bytes(void);
// Returns 0, or the error number: not all of it could be written.
INTERNAL int os_write(int descriptor, const char *text, size_t length);
// Opens a file to append to; -1 where it can't be.
INTERNAL int os_open_append(const char *path);
INTERNAL void os_close(int descriptor);
// Where programs keep no descriptors of their own.
#define OS_KEPT_LOWEST 200
// Keeps standard error for the end of the process: programs close it before the library's turn comes.
INTERNAL void os_keep_standard_error(void);
// The descriptor kept, if it still is what it was; else 2.
INTERNAL int os_standard_error(void);
// The same for those who have little to say. It is not kept, only noted what it is: whoever waits for the end of a pipe
// would wait for a daemon's otherwise, which closes its own.
INTERNAL void os_note_standard_error(void);
// 2 where that still is what was noted; else -1.
INTERNAL int os_noted_standard_error(void);
// The environment as an array that ends with NULL, also before libc has set it up. May be NULL.
INTERNAL char **os_environment(void);
INTERNAL COLD void os_abort(void) __attribute__((noreturn));
INTERNAL uint32_t os_process_id(void);

// Calls back with `value` when the calling thread ends; registered once for the process, armed by each thread.
INTERNAL bool os_thread_exit_register(void (*ended)(void *value));
INTERNAL void os_thread_exit_arm(void *value);
// Starts a thread that nobody waits for, with all signals blocked; false: it can't be. errno is kept.
INTERNAL bool os_start_thread(void *(*main)(void *unused));
// Calls back around fork, in the forking thread.
INTERNAL void os_fork_register(void (*prepare)(void), void (*parent)(void), void (*child)(void));

// False before a static program has set up its thread-local storage. Calls nothing: it may run during relocation.
INTERNAL bool os_has_thread_storage(void);
// A mode of dlopen without RTLD_DEEPBIND; for the one variant of the library that has a dlopen.
INTERNAL __attribute__((unused)) int os_without_deep_binding(int mode);
// True where an address lies in the memory that the program's break has grown over since os_start.
INTERNAL bool os_is_in_break(const void *address);
// The function of that name which would serve if this library did not; NULL: none, or a static program.
INTERNAL void (*os_next_function(const char *name))(void);
// The function of that name anywhere in the program; NULL: none, or a static program.
INTERNAL void (*os_default_function(const char *name))(void);

// A number that no other living thread has.
ALWAYS_INLINE uintptr_t os_thread(void) {
    return (uintptr_t)__builtin_thread_pointer();
}

// True while no second thread was ever started. Read anew each time: pthread_create changes it.
INTERNAL bool os_is_single_threaded(void);

#endif
