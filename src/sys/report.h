// Text without stdio: numbers and strings into a file descriptor or into the caller's memory.
#ifndef SYS_REPORT_H
#define SYS_REPORT_H

#include "base/compiler.h"

// A stream of text. Its length counts what was said, also what did not fit into memory.
struct report {
    char *memory;    // the caller's, or NULL when the text goes to a descriptor
    size_t capacity; // of memory
    size_t length;   // characters said so far
    int descriptor;
    unsigned used; // of buffer
    char buffer[512];
};

INTERNAL void report_to_descriptor(struct report *report, int descriptor);
INTERNAL void report_to_memory(struct report *report, char *memory, size_t capacity);
// Ends the text: writes what is buffered, or closes the memory with a NUL.
INTERNAL void report_end(struct report *report);

INTERNAL void report_text(struct report *report, const char *text);
INTERNAL void report_number(struct report *report, uint64_t number);
// A number of a JSON object, and what follows it.
INTERNAL void report_member(struct report *report, const char *name, uint64_t number, const char *end);
INTERNAL void report_address(struct report *report, uintptr_t address);
// Right-aligned in a column of `width`.
INTERNAL void report_number_column(struct report *report, uint64_t number, unsigned width);
INTERNAL void report_text_column(struct report *report, const char *text, unsigned width);
// With a binary unit where it is a whole number of them: 64 KiB.
INTERNAL void report_bytes(struct report *report, uint64_t bytes);

#endif
