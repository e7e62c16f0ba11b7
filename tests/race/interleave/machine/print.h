// Says operations and places in the code so that a person can follow a schedule.
#ifndef INTERLEAVE_PRINT_H
#define INTERLEAVE_PRINT_H

#include "machine.h"

// Whose names for addresses are used.
void print_module(const struct module *module);
// A place that will be printed.
void print_prepare(const void *caller);
void print_operation(unsigned number, char process, const struct operation *operation);
void print_choice(char process, unsigned times);
void print_text(const char *text);
// What lies at an address.
void print_name(uintptr_t address, char *text, size_t bytes);
// "slab.c:123" of a place in the code; the text lives until the next call.
const char *print_place(const void *caller);

#endif
