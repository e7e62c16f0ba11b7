// Coroutines, memory operations, store buffers.
#include "machine.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "races.h"

#define STACK_BYTES ((size_t)64 * 1024)

struct store {
    struct operation operation;
    struct clocks clocks; // of the thread when it stored
};

struct thread {
    struct operation next;
    bool ended;
    bool killed;
    bool sleeps;     // in interleave_wait
    unsigned stores; // in the buffer
    struct store buffer[STORES_MOST];
    jmp_buf place;
    ucontext_t start;
};

static struct thread threads[THREADS_MOST];
static char *stacks;
static jmp_buf scheduler;
static unsigned running = THREADS_MOST; // THREADS_MOST: none
static const struct module *the_module;
static const struct script *the_script;
static bool with_buffers;

#define LOCKS_MOST 64
static uintptr_t lock_words[LOCKS_MOST];
static unsigned lock_count;

unsigned interleave_thread(void) {
    return running;
}

bool machine_is_running(void) {
    return running < THREADS_MOST;
}

// --- Memory --------------------------------------------------------------------------------------

static uint64_t memory_read(const struct operation *operation) {
    const void *place = (const void *)operation->address;
    uint64_t value = 0;
    memcpy(&value, place, operation->bytes); // little endian
    return value;
}

static void memory_write(const struct operation *operation, uint64_t value) {
    memcpy((void *)operation->address, &value, operation->bytes);
}

static uint64_t truncated(uint64_t value, unsigned bytes) {
    return bytes == 8 ? value : value & ((UINT64_C(1) << (bytes * 8)) - 1);
}

static uint64_t changed(const struct operation *operation, uint64_t old) {
    switch (operation->change) {
    case CHANGE_EXCHANGE:
        return operation->value;
    case CHANGE_ADD:
        return old + operation->value;
    case CHANGE_SUBTRACT:
        return old - operation->value;
    case CHANGE_AND:
        return old & operation->value;
    case CHANGE_OR:
        return old | operation->value;
    case CHANGE_XOR:
        return old ^ operation->value;
    case CHANGE_SWAP:
        return old == operation->expected ? operation->value : old;
    }
    abort();
}

static void change(unsigned thread, struct operation *operation) {
    operation->result = memory_read(operation);
    memory_write(operation, changed(operation, operation->result));
    bool swapped = operation->change != CHANGE_SWAP || operation->result == operation->expected;
    races_change(thread, operation, swapped);
}

// The youngest store of the thread's buffer that reaches into the operation's bytes; NULL: none.
static const struct store *buffered(unsigned thread, const struct operation *operation) {
    for (unsigned i = threads[thread].stores; i-- > 0;) {
        const struct store *store = &threads[thread].buffer[i];
        if (store->operation.address < operation->address + operation->bytes &&
            operation->address < store->operation.address + store->operation.bytes)
            return store;
    }
    return NULL;
}

static bool covers(const struct operation *store, const struct operation *load) {
    return store->address == load->address && store->bytes == load->bytes;
}

static void drain(unsigned thread) {
    struct thread *self = &threads[thread];
    const struct store *oldest = &self->buffer[0];
    memory_write(&oldest->operation, oldest->operation.value);
    races_stored(&oldest->operation, &oldest->clocks);
    self->stores--;
    memmove(self->buffer, self->buffer + 1, self->stores * sizeof *self->buffer);
}

// --- Locks ---------------------------------------------------------------------------------------

// The number of the lock; lock_count: none.
static unsigned lock_of(uintptr_t address) {
    unsigned number = 0;
    while (number < lock_count && lock_words[number] != address)
        number++;
    return number;
}

void interleave_is_lock(const uint32_t *word) {
    if (lock_of((uintptr_t)word) < lock_count)
        return;
    if (lock_count == LOCKS_MOST)
        abort();
    lock_words[lock_count++] = (uintptr_t)word;
}

static bool lock_is_open(const struct operation *operation) {
    return memory_read(operation) == 0;
}

// --- Turns ---------------------------------------------------------------------------------------

static void resume(unsigned thread) {
    running = thread;
    if (the_module->enter != NULL)
        the_module->enter(thread);
    if (_setjmp(scheduler) == 0)
        _longjmp(threads[thread].place, 1);
    if (the_module->leave != NULL)
        the_module->leave(thread);
    running = THREADS_MOST;
}

static void thread_run(void) {
    the_script->body(running);
    threads[running].ended = true;
    threads[running].next = (struct operation){.kind = OPERATION_NONE};
    _longjmp(scheduler, 1);
}

static void start(unsigned thread) {
    struct thread *self = &threads[thread];
    self->ended = self->killed = self->sleeps = false;
    getcontext(&self->start);
    self->start.uc_stack.ss_sp = stacks + thread * STACK_BYTES;
    self->start.uc_stack.ss_size = STACK_BYTES;
    self->start.uc_link = NULL;
    makecontext(&self->start, thread_run, 0);
    running = thread;
    if (the_module->enter != NULL)
        the_module->enter(thread);
    if (_setjmp(scheduler) == 0)
        setcontext(&self->start);
    if (the_module->leave != NULL)
        the_module->leave(thread);
    running = THREADS_MOST;
}

void machine_start(const struct module *module, const struct script *script, bool buffers) {
    if (stacks == NULL)
        stacks = calloc(THREADS_MOST, STACK_BYTES);
    the_module = module;
    the_script = script;
    with_buffers = buffers;
    lock_count = 0;
    races_start();
    if (script->prepare != NULL)
        script->prepare();
    for (unsigned i = 0; i < THREADS_MOST; i++) {
        threads[i].ended = true;
        threads[i].stores = 0;
        threads[i].next.kind = OPERATION_NONE;
    }
    for (unsigned i = 0; i < script->threads; i++)
        start(i);
}

const struct operation *machine_next(unsigned process) {
    static struct operation drain_next = {.kind = OPERATION_NONE};
    if (process < THREADS_MOST)
        return &threads[process].next;
    const struct thread *thread = &threads[process - THREADS_MOST];
    drain_next = thread->stores > 0 ? thread->buffer[0].operation : (struct operation){.kind = OPERATION_NONE};
    if (thread->stores > 0)
        drain_next.kind = OPERATION_DRAIN;
    return &drain_next;
}

static bool thread_is_enabled(unsigned thread) {
    const struct thread *self = &threads[thread];
    if (self->ended || self->killed || self->sleeps)
        return false;
    const struct store *own = buffered(thread, &self->next);
    switch (self->next.kind) {
    case OPERATION_LOAD:
        return own == NULL || covers(&own->operation, &self->next);
    case OPERATION_SETTLE:
        return own == NULL;
    case OPERATION_BUFFER:
        return self->stores < STORES_MOST;
    case OPERATION_PASS:
        return self->stores == 0 && threads[self->next.value].stores == 0;
    case OPERATION_LOCK:
        return self->stores == 0 && lock_is_open(&self->next);
    default:
        return self->stores == 0;
    }
}

unsigned machine_enabled(void) {
    unsigned enabled = 0;
    for (unsigned i = 0; i < THREADS_MOST; i++) {
        if (thread_is_enabled(i))
            enabled |= 1u << i;
        if (!threads[i].ended || threads[i].stores > 0)
            enabled |= threads[i].stores > 0 ? 1u << BUFFER_OF(i) : 0;
    }
    return enabled;
}

bool machine_ended(void) {
    for (unsigned i = 0; i < THREADS_MOST; i++)
        if ((!threads[i].ended && !threads[i].killed) || threads[i].stores > 0)
            return false;
    return true;
}

static void wake(const struct operation *operation) {
    for (unsigned i = 0; i < THREADS_MOST; i++) {
        if (!threads[i].sleeps || threads[i].next.address != operation->address)
            continue;
        threads[i].sleeps = false;
        if (operation->value == 0) // the first alone
            break;
    }
}

// The stores of the others are in memory before a fork child runs: the kernel interrupts their processors.
static void kill_others(unsigned thread) {
    for (unsigned i = 0; i < THREADS_MOST; i++) {
        if (i == thread)
            continue;
        while (threads[i].stores > 0)
            drain(i);
        threads[i].killed = true;
    }
    races_join_all(thread);
}

static void perform(unsigned thread, struct operation *operation) {
    struct thread *self = &threads[thread];
    switch (operation->kind) {
    case OPERATION_LOAD: {
        const struct store *own = buffered(thread, operation);
        operation->result = own != NULL ? truncated(own->operation.value, operation->bytes) : memory_read(operation);
        races_load(thread, operation, own != NULL);
        break;
    }
    case OPERATION_BUFFER:
        self->buffer[self->stores].operation = *operation;
        races_store(thread, operation, &self->buffer[self->stores].clocks);
        self->stores++;
        break;
    case OPERATION_STORE: {
        struct clocks clocks;
        races_store(thread, operation, &clocks);
        memory_write(operation, operation->value);
        races_stored(operation, &clocks);
        break;
    }
    case OPERATION_LOCK:
        change(thread, operation);
        break;
    case OPERATION_CHANGE:
        change(thread, operation);
        break;
    case OPERATION_WAIT:
        self->sleeps = memory_read(operation) == operation->value;
        break;
    case OPERATION_WOKEN:
    case OPERATION_PASS:
    case OPERATION_SETTLE:
        break;
    case OPERATION_WAKE:
        wake(operation);
        break;
    case OPERATION_KILL:
        kill_others(thread);
        break;
    default:
        abort();
    }
}

struct operation machine_turn(unsigned process) {
    struct operation done = *machine_next(process);
    if (process >= THREADS_MOST) {
        drain(process - THREADS_MOST);
        return done;
    }
    struct operation *next = &threads[process].next;
    perform(process, next);
    done = *next;
    if (done.kind == OPERATION_WAIT)
        next->kind = OPERATION_WOKEN;
    else
        resume(process);
    return done;
}

uint64_t machine_operate(struct operation operation) {
    unsigned thread = running;
    if (operation.bytes == 4 && lock_of(operation.address) < lock_count) {
        bool writes = operation.change == CHANGE_EXCHANGE || operation.change == CHANGE_SWAP;
        if (operation.kind == OPERATION_CHANGE && operation.change == CHANGE_SWAP && operation.expected == 0)
            operation.kind = OPERATION_LOCK;
        operation.unlocks = operation.value == 0 &&
                            (operation.kind == OPERATION_STORE || (operation.kind == OPERATION_CHANGE && writes));
    }
    if (operation.kind == OPERATION_STORE && with_buffers && operation.order != __ATOMIC_SEQ_CST)
        operation.kind = OPERATION_BUFFER;
    threads[thread].next = operation;
    if (_setjmp(threads[thread].place) == 0)
        _longjmp(scheduler, 1);
    return threads[thread].next.result;
}

void machine_settle(uintptr_t address, size_t bytes, const void *caller) {
    const struct operation access = {.address = address, .bytes = (unsigned)bytes};
    if (threads[running].stores > 0 && buffered(running, &access) != NULL)
        machine_operate(
            (struct operation){.kind = OPERATION_SETTLE, .bytes = access.bytes, .address = address, .caller = caller});
}

// --- For scripts ---------------------------------------------------------------------------------

static void operate_on_word(enum operation_kind kind, const uint32_t *word, uint64_t value) {
    if (machine_is_running())
        machine_operate((struct operation){.kind = kind,
                                           .change = CHANGE_OR,
                                           .order = __ATOMIC_RELAXED,
                                           .bytes = 4,
                                           .address = (uintptr_t)word,
                                           .value = value,
                                           .caller = __builtin_return_address(0)});
}

void interleave_wait(const uint32_t *word, uint32_t value) {
    operate_on_word(OPERATION_WAIT, word, value);
}

void interleave_wake(const uint32_t *word, bool all) {
    operate_on_word(OPERATION_WAKE, word, all);
}

void interleave_step(const uint32_t *word) {
    operate_on_word(OPERATION_CHANGE, word, 0);
}

void interleave_pass(unsigned thread) {
    operate_on_word(OPERATION_PASS, NULL, thread);
}

void interleave_kill_others(void) {
    operate_on_word(OPERATION_KILL, NULL, 0);
}
