// What the running schedule did so far, and which of its operations depend on which.
#ifndef INTERLEAVE_TRACE_H
#define INTERLEAVE_TRACE_H

#include "machine.h"

#define TRACE_MOST 3000 // operations in a schedule

void trace_start(void);
// Adds an operation that is about to be done; its result follows.
void trace_add(unsigned process, const struct operation *operation);
void trace_result(unsigned at, struct operation done);
unsigned trace_process(unsigned at);

// Does the order of the two matter?
bool trace_conflict(unsigned process, const struct operation *operation, unsigned other_process,
                    const struct operation *other);
// Was `earlier` before `later` in every equivalent schedule?
bool trace_precedes(unsigned earlier, unsigned later);
// The same for an operation that comes behind the trace.
bool trace_would_precede(unsigned earlier, unsigned process, const struct operation *operation);
// The operations of the trace that an operation which comes next could come before, no third one being between them.
unsigned trace_races(unsigned process, const struct operation *operation, unsigned places[TRACE_MOST]);

// The schedule and the operations, on standard output.
void trace_print(void);
// Reads one choice of a schedule as printed, and moves on; PROCESSES_MOST: the schedule is over.
unsigned trace_read_choice(const char **schedule);

#endif
