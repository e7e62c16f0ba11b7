// Runs a script under every schedule that can matter.
//
// Two operations conflict when they touch the same byte and one of them writes; schedules that differ only in the order
// of operations that don't conflict are one. The exploration follows "Optimal dynamic partial order reduction"
// (Abdulla, Aronis, Jonsson, Sagonas; POPL 2014), algorithm 1: source sets and sleep sets. Without reduction (for
// testing it) it runs every schedule up to a number of preemptions.
#ifndef INTERLEAVE_EXPLORE_H
#define INTERLEAVE_EXPLORE_H

#include "machine.h"

struct exploration {
    const struct module *module;
    const struct script *script;
    bool buffers;
    bool every_schedule;  // no reduction
    unsigned preemptions; // with every_schedule: at most so many
    const char *replay;   // run this schedule alone, NULL: explore
    double seconds;       // give up after
    void (*reset)(void);  // puts the module's memory back
};

struct findings {
    uint64_t schedules;  // complete ones
    uint64_t redundant;  // given up because they were equivalent to earlier ones
    unsigned operations; // in the longest
    bool complete;       // all schedules were run
};

struct findings explore(const struct exploration *exploration);
// The schedule so far, and what it did, on standard output.
void explore_print_schedule(void);

#endif
