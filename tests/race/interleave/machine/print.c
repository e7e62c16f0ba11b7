// Names of operations, addresses and source lines; the latter by addr2line, where there is one.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "print.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct module *the_module;

void print_module(const struct module *module) {
    the_module = module;
}

// --- Places in the code --------------------------------------------------------------------------

struct place {
    const void *caller;
    char text[48];
};
#define PLACES_MOST 512
static struct place places[PLACES_MOST];
static unsigned place_count;

static void find_line(struct place *place) {
    Dl_info info;
    char command[600];
    if (dladdr(place->caller, &info) == 0) {
        snprintf(place->text, sizeof place->text, "%p", place->caller);
        return;
    }
    unsigned long offset = (unsigned long)((const char *)place->caller - (const char *)info.dli_fbase);
    snprintf(place->text, sizeof place->text, "+0x%lx", offset);
    // The call lies before the address that it returns to.
    snprintf(command, sizeof command, "addr2line -s -e '%.500s' 0x%lx 2>/dev/null", info.dli_fname, offset - 1);
    FILE *lines = popen(command, "r");
    char line[sizeof place->text];
    if (lines == NULL)
        return;
    if (fgets(line, sizeof line, lines) != NULL && line[0] != '?') {
        line[strcspn(line, " \n")] = '\0';
        memcpy(place->text, line, sizeof line);
    }
    pclose(lines);
}

static struct place *place_of(const void *caller) {
    for (unsigned i = 0; i < place_count; i++)
        if (places[i].caller == caller)
            return &places[i];
    struct place *place = &places[place_count < PLACES_MOST - 1 ? place_count++ : place_count];
    *place = (struct place){.caller = caller};
    find_line(place);
    return place;
}

void print_prepare(const void *caller) {
    if (caller != NULL)
        place_of(caller);
}

const char *print_place(const void *caller) {
    return caller == NULL ? "" : place_of(caller)->text;
}

// --- Operations ----------------------------------------------------------------------------------

void print_name(uintptr_t address, char *text, size_t bytes) {
    Dl_info info;
    if (the_module != NULL && the_module->name != NULL && the_module->name(address, text, bytes))
        return;
    if (dladdr((const void *)address, &info) != 0 && info.dli_sname != NULL)
        snprintf(text, bytes, "%s+%lu", info.dli_sname,
                 (unsigned long)((const char *)address - (const char *)info.dli_saddr));
    else
        snprintf(text, bytes, "%#lx", (unsigned long)address);
}

static const char *verb(const struct operation *operation) {
    static const char *const changes[] = {"exchange", "add", "subtract", "and", "or", "xor", "swap"};
    switch (operation->kind) {
    case OPERATION_LOAD:
        return "load";
    case OPERATION_STORE:
        return "store";
    case OPERATION_BUFFER:
        return "store into buffer";
    case OPERATION_DRAIN:
        return "buffer to memory";
    case OPERATION_CHANGE:
        return operation->unlocks ? "unlock" : changes[operation->change];
    case OPERATION_LOCK:
        return "lock";
    case OPERATION_WAIT:
        return "sleep";
    case OPERATION_WOKEN:
        return "wake up";
    case OPERATION_WAKE:
        return "wake";
    case OPERATION_KILL:
        return "kill the others";
    case OPERATION_PASS:
        return "pass the barrier";
    case OPERATION_SETTLE:
        return "settle";
    default:
        return "nothing";
    }
}

void print_operation(unsigned number, char process, const struct operation *operation) {
    char name[64] = "";
    char values[96] = "";
    if (operation->address != 0)
        print_name(operation->address, name, sizeof name);
    if (operation->kind == OPERATION_LOAD)
        snprintf(values, sizeof values, "-> %#" PRIx64, operation->result);
    else if (operation->kind == OPERATION_CHANGE && operation->change == CHANGE_SWAP)
        snprintf(values, sizeof values, "%#" PRIx64 " -> %#" PRIx64 "%s", operation->expected, operation->value,
                 operation->result == operation->expected ? "" : " fails");
    else if (operation->kind == OPERATION_CHANGE && !operation->unlocks)
        snprintf(values, sizeof values, "%#" PRIx64 ", was %#" PRIx64, operation->value, operation->result);
    else if (operation->kind == OPERATION_STORE || operation->kind == OPERATION_BUFFER ||
             operation->kind == OPERATION_DRAIN)
        snprintf(values, sizeof values, "%#" PRIx64, operation->value);
    printf("%4u  %*s%c  %-17s %-28s %-26s %s\n", number, process >= 'a' ? (process - 'a') * 2 : (process - 'A') * 2, "",
           process, verb(operation), name, values, print_place(operation->caller));
}

void print_choice(char process, unsigned times) {
    printf("%c%u.", process, times);
}

void print_text(const char *text) {
    fputs(text, stdout);
}
