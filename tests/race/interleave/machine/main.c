// Runs the scripts of a module under every schedule.
//
// usage: interleave MODULE.so [--script NAME] [--buffers] [--long] [--seconds N] [--every-schedule PREEMPTIONS]
//                   [--seed N] [--partial] [--until-failure] [--replay SCHEDULE] [--list]
// --seed: other random scripts. --partial: a script that is not through when its time is over is no failure.
// --until-failure: scripts behind the first one that fails are not run.
// Exit status 0: every script ran under all its schedules and kept what it must; 1: it did not, and why, with the
// schedule (to be run again by --script NAME --replay SCHEDULE); 2: usage.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "explore.h"
#include "print.h"
#include "races.h"

struct arguments {
    const char *module;
    const char *script;
    const char *replay;
    double seconds;
    unsigned preemptions;
    uint64_t seed;
    bool buffers;
    bool every_schedule;
    bool partial;
    bool until_failure;
    bool is_long;
    bool list;
};

static struct arguments arguments = {.seconds = 3600};
static const struct script *running_script;

// --- The module's memory -------------------------------------------------------------------------

static char *memory_start;
static size_t memory_bytes;
static char *memory_copy;

// Finds the module's writable memory: its data segment, but for the part that is read-only once it was relocated.
static int find_memory(struct dl_phdr_info *info, size_t size, void *base) {
    uintptr_t read_only_end = 0;
    (void)size;
    if (info->dlpi_addr != *(const uintptr_t *)base)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            read_only_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) == 0)
            continue;
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        uintptr_t end = start + part->p_memsz;
        if (start < read_only_end)
            start = (read_only_end + (uintptr_t)sysconf(_SC_PAGESIZE) - 1) & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
        memory_start = (char *)start;
        memory_bytes = end - start;
    }
    return 1;
}

static void reset_memory(void) {
    memcpy(memory_start, memory_copy, memory_bytes);
}

static const struct module *load(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map;
    if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        fprintf(stderr, "interleave: %s\n", dlerror());
        exit(2);
    }
    uintptr_t base = map->l_addr;
    dl_iterate_phdr(find_memory, &base);
    memory_copy = malloc(memory_bytes);
    memcpy(memory_copy, memory_start, memory_bytes);
    races_watch((uintptr_t)memory_start, memory_bytes);
    return dlsym(handle, "interleave_module");
}

// --- Outcomes ------------------------------------------------------------------------------------

#define OUTCOMES_MOST 4096
static uint64_t outcomes[OUTCOMES_MOST];
static unsigned outcome_count;
static uint64_t outcome_sum;

void interleave_outcome(uint64_t outcome) {
    for (unsigned i = 0; i < outcome_count; i++)
        if (outcomes[i] == outcome)
            return;
    if (outcome_count == OUTCOMES_MOST)
        interleave_fail("more outcomes than can be counted");
    outcomes[outcome_count++] = outcome;
    outcome_sum += outcome;
}

uint64_t interleave_argument(void) {
    return running_script->argument + arguments.seed * 999; // a multiple of three: see random_scripts.c
}

static bool has(const uint64_t *values, unsigned count, uint64_t value) {
    for (unsigned i = 0; i < count; i++)
        if (values[i] == value)
            return true;
    return false;
}

// All that were seen are allowed, and all that are allowed were seen.
static bool outcomes_are_right(const struct outcomes *right) {
    bool good = right->count == 0 || right->count == outcome_count;
    for (unsigned i = 0; i < right->count; i++)
        good = good && has(outcomes, outcome_count, right->values[i]);
    if (good)
        return true;
    printf("hakmem interleave: FAILED: %s: outcomes", running_script->name);
    for (unsigned i = 0; i < outcome_count; i++)
        printf(" %#lx", (unsigned long)outcomes[i]);
    printf(", not");
    for (unsigned i = 0; i < right->count; i++)
        printf(" %#lx", (unsigned long)right->values[i]);
    printf("\n");
    return false;
}

// --- Failures ------------------------------------------------------------------------------------

static void say_failure(const char *what) {
    explore_print_schedule();
    printf("hakmem interleave: FAILED: %s%s: %s\n", running_script->name,
           arguments.buffers ? " with store buffers" : "", what);
    fflush(stdout);
    _exit(1);
}

void interleave_fail(const char *format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    say_failure(text);
    abort();
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    say_failure(number == SIGSEGV || number == SIGBUS
                    ? "a wild access, behind the last operation of the trace"
                    : "an assertion (CHECK) does not hold, behind the last operation");
}

static void catch_signals(void) {
    static char stack[64 * 1024];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_NODEFER};
    sigaltstack(&alternate, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

// --- Scripts -------------------------------------------------------------------------------------

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool run(const struct module *module, const struct script *script) {
    const struct exploration exploration = {.module = module,
                                            .script = script,
                                            .buffers = arguments.buffers,
                                            .every_schedule = arguments.every_schedule,
                                            .preemptions = arguments.preemptions,
                                            .replay = arguments.replay,
                                            .seconds = arguments.seconds,
                                            .reset = reset_memory};
    double start = now();
    running_script = script;
    outcome_count = 0;
    outcome_sum = 0;
    struct findings findings = explore(&exploration);
    if (arguments.replay != NULL)
        return true;
    printf("%-26s %9lu schedules, %8lu redundant, to %4u operations, %6.2f s", script->name,
           (unsigned long)findings.schedules, (unsigned long)findings.redundant, findings.operations, now() - start);
    if (outcome_count > 0)
        printf(", %u outcomes with sum %lx", outcome_count, (unsigned long)outcome_sum);
    printf(findings.complete ? "\n" : ": NOT COMPLETE\n");
    return (findings.complete || arguments.partial) &&
           outcomes_are_right(arguments.buffers ? &script->buffered_outcomes : &script->outcomes);
}

// Each script in a process of its own, so that one that fails does not keep the others from running.
static bool run_apart(const struct module *module, const struct script *script) {
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool good = run(module, script);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool take_argument(char **words, int *at) {
    const char *word = words[*at];
    const char *value = words[*at + 1];
    if (strcmp(word, "--buffers") == 0)
        arguments.buffers = true;
    else if (strcmp(word, "--long") == 0)
        arguments.is_long = true;
    else if (strcmp(word, "--list") == 0)
        arguments.list = true;
    else if (strcmp(word, "--partial") == 0)
        arguments.partial = true;
    else if (strcmp(word, "--until-failure") == 0)
        arguments.until_failure = true;
    else if (word[0] != '-')
        arguments.module = word;
    else if (value == NULL)
        return false;
    else if (strcmp(word, "--script") == 0)
        arguments.script = words[++*at];
    else if (strcmp(word, "--replay") == 0)
        arguments.replay = words[++*at];
    else if (strcmp(word, "--seed") == 0)
        arguments.seed = strtoull(words[++*at], NULL, 10);
    else if (strcmp(word, "--seconds") == 0)
        arguments.seconds = strtod(words[++*at], NULL);
    else if (strcmp(word, "--every-schedule") == 0) {
        arguments.every_schedule = true;
        arguments.preemptions = (unsigned)strtoul(words[++*at], NULL, 10);
    } else
        return false;
    return true;
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++)
        if (!take_argument(words, &i))
            return fprintf(stderr, "interleave: unknown argument %s\n", words[i]), 2;
    if (arguments.module == NULL)
        return fprintf(stderr, "usage: interleave MODULE.so [--script NAME] [--buffers] [--long] [--list] …\n"), 2;
    const struct module *module = load(arguments.module);
    bool good = true;
    unsigned ran = 0;
    print_module(module);
    catch_signals();
    for (const struct script *script = module->scripts; script->name != NULL && (good || !arguments.until_failure);
         script++) {
        bool chosen = arguments.script != NULL ? strcmp(arguments.script, script->name) == 0
                                               : arguments.list || script->is_long == arguments.is_long;
        if (!chosen)
            continue;
        ran++;
        if (arguments.list)
            printf("%-26s %s%s\n", script->name, script->what, script->is_long ? " (long)" : "");
        else
            good = run_apart(module, script) && good;
    }
    if (ran == 0)
        printf("hakmem interleave: FAILED: there is no such script\n");
    return good && ran > 0 ? 0 : 1;
}
