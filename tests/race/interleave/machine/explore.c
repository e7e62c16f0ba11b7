// Depth-first search over schedules: run one, find which pairs of its operations could have come the other way round,
// note the other way at the place before the earlier one, go back to the last place that has one left.
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace.h"

// A place in the schedule: what has been tried there and what is to be.
struct node {
    uint8_t enabled;
    uint8_t wanted; // to be tried, those tried included
    uint8_t done;   // tried
    uint8_t asleep; // need not be tried: equivalent to what was tried at an earlier place
    uint8_t chosen;
    uint8_t preemptions; // up to here
};
_Static_assert(PROCESSES_MOST <= 8, "a process must fit the masks");

static struct node nodes[TRACE_MOST + 1];
static unsigned length; // operations of the running schedule
static const struct exploration *task;

#define BIT(process) ((uint8_t)(1u << (process)))

static unsigned lowest(unsigned mask) {
    return (unsigned)__builtin_ctz(mask);
}

// --- What must be tried as well ------------------------------------------------------------------

// Of the operations that could follow place `at` if its operation came later — those of the trace behind it that do not
// depend on it, then `operation` — the processes that could be first.
static unsigned first_ones(unsigned at, unsigned process, const struct operation *operation) {
    unsigned kept[TRACE_MOST];
    unsigned count = 0;
    unsigned seen = 0;
    unsigned first = 0;
    for (unsigned i = at + 1; i < length; i++) {
        if (trace_precedes(at, i))
            continue;
        unsigned own = trace_process(i);
        bool free = (seen & BIT(own)) == 0;
        for (unsigned k = 0; k < count && free; k++)
            free = !trace_precedes(kept[k], i);
        if (free)
            first |= BIT(own);
        seen |= BIT(own);
        kept[count++] = i;
    }
    bool free = (seen & BIT(process)) == 0;
    for (unsigned k = 0; k < count && free; k++)
        free = !trace_would_precede(kept[k], process, operation);
    return free ? first | BIT(process) : first;
}

// `operation` of `process`, which comes behind the trace, could also come before place `at`.
static void note_race(unsigned at, unsigned process, const struct operation *operation) {
    struct node *node = &nodes[at];
    unsigned first = first_ones(at, process, operation);
    if ((first & node->wanted) != 0)
        return;
    first &= node->enabled;
    if (first == 0)
        interleave_fail("the exploration is wrong: nothing can come first");
    node->wanted |= (first & BIT(process)) != 0 ? BIT(process) : BIT(lowest(first));
}

static void note_races(unsigned process, const struct operation *operation) {
    unsigned places[TRACE_MOST];
    unsigned count = trace_races(process, operation, places);
    for (unsigned i = 0; i < count; i++)
        note_race(places[i], process, operation);
}

// After a kill the operations that wait now will never come: each could come first, here where it is enabled, or before
// the lock that it waits for was taken.
static void note_last_chances(struct node *node) {
    node->wanted |= node->enabled;
    for (unsigned process = 0; process < THREADS_MOST; process++)
        if (machine_next(process)->kind == OPERATION_LOCK && (node->enabled & BIT(process)) == 0 &&
            machine_next(BUFFER_OF(process))->kind == OPERATION_NONE) // else the buffer's turn comes first
            note_races(process, machine_next(process));
}

// --- One schedule --------------------------------------------------------------------------------

// Of those that need not be tried here, or have been, the ones that still need not after the chosen one's turn.
static uint8_t still_asleep(const struct node *node) {
    uint8_t asleep = 0;
    unsigned candidates = (node->asleep | node->done) & ~BIT(node->chosen);
    struct operation chosen = *machine_next(node->chosen);
    for (; candidates != 0; candidates &= candidates - 1) {
        unsigned process = lowest(candidates);
        if (!trace_conflict(process, machine_next(process), node->chosen, &chosen))
            asleep |= BIT(process);
    }
    return asleep;
}

static bool is_preempted(const struct node *node, unsigned process) {
    return node > nodes && node[-1].chosen != process && (node->enabled & BIT(node[-1].chosen)) != 0 &&
           node[-1].chosen < THREADS_MOST;
}

// Those that may be chosen without reduction.
static uint8_t within_bound(const struct node *node) {
    uint8_t wanted = 0;
    for (unsigned mask = node->enabled; mask != 0; mask &= mask - 1)
        if (node->preemptions + (is_preempted(node, lowest(mask)) ? 1u : 0u) <= task->preemptions)
            wanted |= BIT(lowest(mask));
    return wanted;
}

// A place that was not met before. False: nothing new can come from here.
static bool node_make(struct node *node, uint8_t asleep) {
    *node = (struct node){.enabled = (uint8_t)machine_enabled(), .asleep = asleep};
    node->preemptions = node > nodes ? node[-1].preemptions : 0;
    unsigned awake = node->enabled & ~node->asleep;
    if (awake == 0)
        return false;
    unsigned before = node > nodes ? node[-1].chosen : 0;
    node->chosen = (uint8_t)((awake & BIT(before)) != 0 ? before : lowest(awake));
    node->wanted = task->every_schedule ? within_bound(node) : BIT(node->chosen);
    return true;
}

static void take_turn(struct node *node, bool is_new) {
    struct operation next = *machine_next(node->chosen);
    if (is_new && !task->every_schedule) {
        note_races(node->chosen, &next);
        if (next.kind == OPERATION_KILL)
            note_last_chances(node);
    }
    node->done |= BIT(node->chosen);
    trace_add(node->chosen, &next);
    length++;
    trace_result(length - 1, machine_turn(node->chosen));
}

// Runs a schedule whose first `known` choices are made. True: to its end; false: it is equivalent to an earlier one.
static bool run_schedule(unsigned known) {
    uint8_t asleep = 0;
    length = 0;
    trace_start();
    task->reset();
    machine_start(task->module, task->script, task->buffers);
    while (machine_enabled() != 0) {
        struct node *node = &nodes[length];
        if (length == TRACE_MOST)
            interleave_fail("a schedule that does not end");
        if (length >= known && !node_make(node, asleep))
            return false;
        if (length < known && node->enabled != machine_enabled())
            interleave_fail("the script did something else than before under the same schedule");
        if (is_preempted(node, node->chosen))
            node->preemptions = (uint8_t)(node[-1].preemptions + 1);
        asleep = task->every_schedule ? 0 : still_asleep(node);
        take_turn(node, length + 1 >= known);
    }
    if (!machine_ended())
        interleave_fail("deadlock: every thread waits");
    if (task->script->check != NULL)
        task->script->check();
    return true;
}

// Goes back to the last place where something is left to try. Returns the number of choices made; 0: all is done.
static unsigned go_back(void) {
    for (unsigned at = length; at-- > 0;) {
        struct node *node = &nodes[at];
        unsigned left = node->wanted & ~(node->done | node->asleep);
        if (left != 0) {
            node->chosen = (uint8_t)lowest(left);
            node->preemptions = at > 0 ? node[-1].preemptions : 0;
            return at + 1;
        }
    }
    return 0;
}

// --- Everything ----------------------------------------------------------------------------------

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void replay(const char *schedule) {
    trace_start();
    task->reset();
    machine_start(task->module, task->script, task->buffers);
    for (length = 0; machine_enabled() != 0; length++) {
        unsigned process = trace_read_choice(&schedule);
        if (process == PROCESSES_MOST || (machine_enabled() & BIT(process)) == 0)
            break;
        trace_add(process, machine_next(process));
        trace_result(length, machine_turn(process));
    }
    explore_print_schedule();
    if (machine_enabled() != 0)
        printf("the schedule ends before the script does\n");
    else if (!machine_ended())
        interleave_fail("deadlock: every thread waits");
    else if (task->script->check != NULL)
        task->script->check();
}

struct findings explore(const struct exploration *exploration) {
    struct findings findings = {.schedules = 0};
    double end = now() + exploration->seconds;
    unsigned known = 0;
    task = exploration;
    if (task->replay != NULL) {
        replay(task->replay);
        return findings;
    }
    do {
        bool complete = run_schedule(known);
        findings.schedules += complete;
        findings.redundant += !complete;
        findings.operations = findings.operations < length ? length : findings.operations;
        known = go_back();
    } while (known > 0 && ((findings.schedules + findings.redundant) % 256 != 0 || now() < end));
    findings.complete = known == 0;
    return findings;
}

void explore_print_schedule(void) {
    trace_print();
}
