// Threads that take turns, one memory operation at a time, and the memory that they share.
//
// A thread runs until it is about to do an atomic operation, and waits there for its turn. With store buffers (as x86
// has them) a store that is not sequentially consistent goes into its thread's buffer, a process of its own whose turns
// move the oldest store to memory; operations that order memory wait until the buffer is empty.
//
// Processes: 0 … THREADS_MOST-1 are the threads, THREADS_MOST … the buffers of the same threads.
#ifndef INTERLEAVE_MACHINE_H
#define INTERLEAVE_MACHINE_H

#include "script.h"

#define PROCESSES_MOST (2 * THREADS_MOST)
#define BUFFER_OF(thread) ((thread) + THREADS_MOST)
#define STORES_MOST 64 // in a buffer

enum operation_kind {
    OPERATION_NONE,
    OPERATION_LOAD,
    OPERATION_STORE,
    OPERATION_BUFFER, // a store into the thread's own buffer
    OPERATION_DRAIN,  // the oldest store of a buffer reaches memory
    OPERATION_CHANGE, // read-modify-write
    OPERATION_LOCK,   // a compare and swap of a lock word from 0: waits until it is free
    OPERATION_WAIT,   // goes to sleep, if the word has the value still
    OPERATION_WOKEN,  // goes on
    OPERATION_WAKE,
    OPERATION_KILL,
    OPERATION_PASS,   // waits until nothing is in the buffer of thread `value`
    OPERATION_SETTLE, // waits until no store to these bytes is in the thread's buffer
};

enum change { CHANGE_EXCHANGE, CHANGE_ADD, CHANGE_SUBTRACT, CHANGE_AND, CHANGE_OR, CHANGE_XOR, CHANGE_SWAP };

struct operation {
    enum operation_kind kind;
    enum change change;
    int order;      // as the compiler's __ATOMIC_...
    unsigned bytes; // 1, 2, 4 or 8
    uintptr_t address;
    uint64_t value;    // stored, or the operand
    uint64_t expected; // of a compare and swap
    uint64_t result;   // what was read
    bool unlocks;
    const void *caller; // the place in the code
};

// Starts the threads of a script and runs each to its first operation.
void machine_start(const struct module *module, const struct script *script, bool buffers);
// The process's next operation; OPERATION_NONE where it has none.
const struct operation *machine_next(unsigned process);
// The processes that can have a turn now, a bit each.
unsigned machine_enabled(void);
// True when every thread that was not killed has ended and its stores are in memory.
bool machine_ended(void);
// Gives a process its turn; says what it did, its result included.
struct operation machine_turn(unsigned process);
// Does `script->check`, `prepare` or the like run? Then operations take effect at once.
bool machine_is_running(void);
// By a running thread, in hooks.c: waits for its turn and returns the result.
uint64_t machine_operate(struct operation operation);
// By a running thread before a plain access, which knows nothing of its buffer: waits until no store to these bytes is
// in there.
void machine_settle(uintptr_t address, size_t bytes, const void *caller);

#endif
