// Operations with vector clocks: what precedes what, and what could have come the other way round.
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "print.h"

struct clock {
    uint16_t of[PROCESSES_MOST];
};

struct step {
    struct operation operation;
    struct clock clock;
    uint16_t number; // among the operations of its process, from 1
    uint8_t process;
    int previous; // the last one that touched the same eight bytes; -1: none
};

static struct step steps[TRACE_MOST];
static unsigned count;
static int last_of_process[PROCESSES_MOST];

// The steps that filled a thread's buffer, oldest first.
static int filled_by[THREADS_MOST][STORES_MOST];
static unsigned filled[THREADS_MOST];

// The last step that touched eight bytes: a hash table.
struct granule {
    uint32_t run;
    int step;
    uintptr_t number;
};
#define GRANULES 8192 // a power of two, far more than the words that a module uses
static struct granule granules[GRANULES];
static uint32_t run;

void trace_start(void) {
    count = 0;
    run++;
    for (unsigned i = 0; i < PROCESSES_MOST; i++)
        last_of_process[i] = -1;
    memset(filled, 0, sizeof filled);
}

unsigned trace_process(unsigned at) {
    return steps[at].process;
}

static int *last_in_granule(uintptr_t address) {
    uintptr_t number = address / 8;
    unsigned place = (unsigned)(number * UINT64_C(0x9e3779b97f4a7c15) >> 48) % GRANULES;
    while (granules[place].run == run && granules[place].number != number)
        place = (place + 1) % GRANULES;
    if (granules[place].run != run)
        granules[place] = (struct granule){.run = run, .step = -1, .number = number};
    return &granules[place].step;
}

// --- Conflicts and order -------------------------------------------------------------------------

static bool touches_memory(const struct operation *operation) {
    return operation->kind != OPERATION_NONE && operation->kind != OPERATION_BUFFER &&
           operation->kind != OPERATION_KILL && operation->kind != OPERATION_PASS;
}

static bool writes(const struct operation *operation) {
    return operation->kind != OPERATION_LOAD && operation->kind != OPERATION_WOKEN &&
           operation->kind != OPERATION_SETTLE;
}

// Counting: nobody looks at the result.
static bool only_adds(const struct operation *operation) {
    return operation->kind == OPERATION_CHANGE && operation->change == CHANGE_ADD &&
           operation->order == __ATOMIC_RELAXED;
}

// The barrier waits for what the process puts into a buffer or takes out of it.
static bool lets_pass(const struct operation *operation, unsigned other_process, const struct operation *other) {
    return operation->kind == OPERATION_PASS && operation->value == other_process % THREADS_MOST &&
           (other->kind == OPERATION_BUFFER || other->kind == OPERATION_DRAIN);
}

bool trace_conflict(unsigned process, const struct operation *operation, unsigned other_process,
                    const struct operation *other) {
    bool same_thread = process % THREADS_MOST == other_process % THREADS_MOST;
    if (operation->kind == OPERATION_KILL || other->kind == OPERATION_KILL)
        return !same_thread;
    if (operation->kind == OPERATION_PASS || other->kind == OPERATION_PASS)
        return lets_pass(operation, other_process, other) || lets_pass(other, process, operation);
    // A thread reads its own store out of its buffer or, once it was drained, out of memory: the same, unless somebody
    // else wrote in between, who is then in conflict with both.
    if (same_thread && process != other_process && operation->address == other->address &&
        operation->bytes == other->bytes && (operation->kind == OPERATION_LOAD || other->kind == OPERATION_LOAD))
        return false;
    return touches_memory(operation) && touches_memory(other) && operation->address < other->address + other->bytes &&
           other->address < operation->address + operation->bytes && (writes(operation) || writes(other)) &&
           !(only_adds(operation) && only_adds(other));
}

static bool conflicts(const struct step *step, unsigned process, const struct operation *operation) {
    return trace_conflict(step->process, &step->operation, process, operation);
}

static bool empties_buffer(unsigned process, const struct operation *operation) {
    return process < THREADS_MOST && operation->kind != OPERATION_LOAD && operation->kind != OPERATION_BUFFER &&
           operation->kind != OPERATION_SETTLE;
}

static bool is_before(const struct step *step, const struct clock *clock) {
    return clock->of[step->process] >= step->number;
}

static void join(struct clock *into, const struct clock *from) {
    for (unsigned i = 0; i < PROCESSES_MOST; i++)
        if (into->of[i] < from->of[i])
            into->of[i] = from->of[i];
}

static void join_step(struct clock *into, int step) {
    if (step >= 0)
        join(into, &steps[step].clock);
}

// What is before an operation by the order in its thread and buffer alone.
static struct clock own_past(unsigned process, const struct operation *operation) {
    struct clock clock = {.of = {0}};
    join_step(&clock, last_of_process[process]);
    if (empties_buffer(process, operation))
        join_step(&clock, last_of_process[BUFFER_OF(process)]);
    if (process >= THREADS_MOST)
        join_step(&clock, filled_by[process - THREADS_MOST][0]);
    return clock;
}

// Walks the steps that may conflict with an operation, the last first: those of the same eight bytes; all, where the
// operation kills or passes a barrier.
static bool walks_all(const struct operation *operation) {
    return operation->kind == OPERATION_KILL || operation->kind == OPERATION_PASS;
}

static int walk_start(const struct operation *operation) {
    if (walks_all(operation))
        return (int)count - 1;
    return touches_memory(operation) ? *last_in_granule(operation->address) : -1;
}

static int walk_on(const struct operation *operation, int step) {
    return walks_all(operation) ? step - 1 : steps[step].previous;
}

bool trace_precedes(unsigned earlier, unsigned later) {
    return is_before(&steps[earlier], &steps[later].clock);
}

bool trace_would_precede(unsigned earlier, unsigned process, const struct operation *operation) {
    struct clock past = own_past(process, operation);
    return is_before(&steps[earlier], &past) || conflicts(&steps[earlier], process, operation);
}

// The later one was waiting for the earlier one, or for what its thread did next: they can't change places.
static bool was_enabled_by(const struct operation *later, const struct operation *earlier) {
    return (later->kind == OPERATION_LOCK && earlier->unlocks) ||
           (later->kind == OPERATION_WOKEN && earlier->kind == OPERATION_WAKE) ||
           (later->kind == OPERATION_PASS && earlier->kind == OPERATION_DRAIN) || later->kind == OPERATION_SETTLE;
}

unsigned trace_races(unsigned process, const struct operation *operation, unsigned places[TRACE_MOST]) {
    struct clock past = own_past(process, operation);
    unsigned races = 0;
    for (int i = walk_start(operation); i >= 0; i = walk_on(operation, i)) {
        const struct step *step = &steps[i];
        if (step->process == process || is_before(step, &past) || !conflicts(step, process, operation) ||
            was_enabled_by(operation, &step->operation))
            continue;
        if (!operation->unlocks && operation->kind != OPERATION_WOKEN)
            places[races++] = (unsigned)i;
        join(&past, &step->clock);
    }
    return races;
}

// --- Recording -----------------------------------------------------------------------------------

void trace_add(unsigned process, const struct operation *operation) {
    struct step *step = &steps[count];
    struct clock clock = own_past(process, operation);
    for (int i = walk_start(operation); i >= 0; i = walk_on(operation, i))
        if (conflicts(&steps[i], process, operation))
            join(&clock, &steps[i].clock);
    step->operation = *operation;
    step->process = (uint8_t)process;
    step->number = ++clock.of[process];
    step->clock = clock;
    step->previous = -1;
    if (touches_memory(operation)) {
        int *last = last_in_granule(operation->address);
        step->previous = *last;
        *last = (int)count;
    }
    if (operation->kind == OPERATION_BUFFER)
        filled_by[process][filled[process]++] = (int)count;
    if (process >= THREADS_MOST) {
        unsigned thread = process - THREADS_MOST;
        filled[thread]--;
        memmove(&filled_by[thread][0], &filled_by[thread][1], filled[thread] * sizeof filled_by[thread][0]);
    }
    last_of_process[process] = (int)count;
    count++;
}

void trace_result(unsigned at, struct operation done) {
    steps[at].operation = done;
}

// --- For people ----------------------------------------------------------------------------------

static char letter(unsigned process) {
    return (char)(process < THREADS_MOST ? 'a' + process : 'A' + process - THREADS_MOST);
}

void trace_print(void) {
    for (unsigned i = 0; i < count; i++)
        print_prepare(steps[i].operation.caller);
    for (unsigned i = 0; i < count; i++)
        print_operation(i, letter(steps[i].process), &steps[i].operation);
    print_text("replay: ");
    for (unsigned i = 0, same = 0; i < count; i += same) {
        for (same = 1; i + same < count && steps[i + same].process == steps[i].process;)
            same++;
        print_choice(letter(steps[i].process), same);
    }
    print_text("\n");
}

unsigned trace_read_choice(const char **schedule) {
    static unsigned left;
    static unsigned process;
    if (left == 0) {
        char name = **schedule;
        if (name == '\0')
            return PROCESSES_MOST;
        process = name >= 'a' ? (unsigned)(name - 'a') : (unsigned)(name - 'A') + THREADS_MOST;
        left = (unsigned)strtoul(*schedule + 1, (char **)(uintptr_t)schedule, 10);
        *schedule += **schedule == '.';
        if (process >= PROCESSES_MOST || left == 0)
            return PROCESSES_MOST;
    }
    left--;
    return process;
}
