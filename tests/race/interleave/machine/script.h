// What a module of scripts and the machine that runs them know of each other.
//
// A module is a shared object: the code under test, compiled with -fsanitize=thread so that each of its memory accesses
// calls the machine (hooks.c), and scripts of a few steps for a few threads. The module's writable memory is put back
// to what it was before each schedule; it must not allocate, and must do the same whenever it is given the same turns.
#ifndef INTERLEAVE_SCRIPT_H
#define INTERLEAVE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREADS_MOST 4

struct outcomes {
    unsigned count;
    uint64_t values[16];
};

struct script {
    const char *name;
    const char *what;
    unsigned threads;
    void (*prepare)(void);             // before the threads start; alone. May be NULL
    void (*body)(unsigned thread);     // what thread 0, 1, … does
    void (*check)(void);               // after all have ended; alone. May be NULL
    bool is_long;                      // takes minutes
    struct outcomes outcomes;          // all that may and must be seen (interleave_outcome); none: not asked
    struct outcomes buffered_outcomes; // the same with store buffers
    uint64_t argument;                 // see interleave_argument
};

struct module {
    const struct script *scripts;   // ends with a row without a name
    void (*enter)(unsigned thread); // before a thread gets its turn, for what is thread-local. May be NULL
    void (*leave)(unsigned thread); // after it
    bool (*name)(uintptr_t address, char *text, size_t bytes); // says what lies at an address. May be NULL
};
extern const struct module interleave_module; // by every module

// --- What a module may call ----------------------------------------------------------------------

// The schedule is a failure: says so with the schedule and its trace, and ends the process.
void interleave_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
// The script's `argument`.
uint64_t interleave_argument(void);
// The thread that runs, from 0; THREADS_MOST when none does (prepare and check).
unsigned interleave_thread(void);
// Says that the word is a lock: 0 is free; a compare and swap from 0 waits until it is; whoever holds it frees it by a
// store of 0, an exchange with 0, or a compare and swap to 0.
void interleave_is_lock(const uint32_t *word);
// A plain write by the program, to be seen by the race detector.
void interleave_touch(const void *address);
// Sleeps while *word == value, until woken; and wakes those who sleep: the first, or all.
void interleave_wait(const uint32_t *word, uint32_t value);
void interleave_wake(const uint32_t *word, bool all);
// A point where others may get their turn, and that has an effect on `word`.
void interleave_step(const uint32_t *word);
// Goes on once nothing is in that thread's store buffer, as if its processor had been interrupted.
void interleave_pass(unsigned thread);
// The other threads stop for ever where they are, as in a fork child.
void interleave_kill_others(void);
// What the schedule led to, of a script that lists its outcomes.
void interleave_outcome(uint64_t outcome);

#endif
