// Faults: misuse that a cold path saw. Reported once each, with what, where and a paragraph to read; then the program
// ends or the call is ignored, as the option on_fault says.
#ifndef SYS_FAULT_H
#define SYS_FAULT_H

#include "base/compiler.h"

enum fault {
#define FAULT(name, title, hint) FAULT_##name,
#include "sys/faults.def"
#undef FAULT
    FAULT_COUNT
};

// Reports a fault at `address`; `bytes` is the size of its block class, 0 where unknown. Returns only when the option
// says continue. Never called with a lock held.
INTERNAL COLD void fault_report(enum fault fault, const void *address, size_t bytes);
// Counts without a message or an end: what callers learn from a NULL.
INTERNAL void fault_count(enum fault fault);
INTERNAL uint64_t fault_times(enum fault fault);
INTERNAL const char *fault_name(enum fault fault);

#endif
