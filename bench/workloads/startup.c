// Starts a short program again and again with a library preloaded: what an allocator costs before main and after it.
//
// Models: shell scripts, compilers, build tools: processes that live for a millisecond.
// Does not model: the first use of each size class, threads.
// Formulae: a run is posix_spawn to the end of wait4, the program's output thrown away; the time is the sum over the
// runs, "median_seconds" the median of one. Memory is read in one more run, traced, when the program is about to
// exit: VmHWM and VmRSS of that process (getrusage would count what this process had before exec). The same stop reads
// which files are mapped there: the proof that the library was in use.
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static double spawn_once(char **command, char **environment, posix_spawn_file_actions_t *actions) {
    double start = clock_seconds();
    pid_t child;
    int status;
    errno = posix_spawnp(&child, command[0], actions, NULL, command, environment);
    if (errno != 0)
        harness_fail(command[0]);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        harness_fail("the program failed");
    return clock_seconds() - start;
}

static _Noreturn void traced_child(char **command, char **environment) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    execvpe(command[0], command, environment);
    _exit(127);
}

// Starts the command and stops it when it is about to exit.
static pid_t stopped_at_exit(char **command, char **environment) {
    pid_t child = fork();
    if (child == 0)
        traced_child(command, environment);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        harness_fail("fork");
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) != 0)
        harness_fail("ptrace");
    for (;;) {
        if (ptrace(PTRACE_CONT, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child || WIFEXITED(status))
            harness_fail("the traced program ended too soon");
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
            return child;
    }
}

static int compare_seconds(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds, size_t count) {
    qsort(seconds, count, sizeof *seconds, compare_seconds);
    return count % 2 == 1 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
}

int main(int argc, char **argv) {
    size_t runs = harness_number(argc, argv, 1, "runs", 1, 1 << 20);
    if (argc < 4)
        harness_fail("arguments: RUNS LIBRARY-OR-EMPTY PROGRAM ARGUMENTS…");
    char **command = argv + 3, **environment = environment_with(argv[2]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double *seconds = harness_array(runs, sizeof *seconds), total = 0;
    for (size_t i = 0; i < runs; i++)
        total += seconds[i] = spawn_once(command, environment, &actions);
    printf("{\"workload\":\"startup\",\"parameters\":{\"program\":\"%s\",\"threads\":1},\"operation\":\"run\"",
           command[0]);
    printf(",\"operations\":%zu,\"seconds\":%.6f,\"operations_per_second\":%.0f,\"median_seconds\":%.9f", runs, total,
           (double)runs / total, median(seconds, runs));
    pid_t child = stopped_at_exit(command, environment);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    printf(",\"peak_kib\":%ld,\"final_kib\":%ld,\"mapped\":[", status_kib(path, "VmHWM:"), status_kib(path, "VmRSS:"));
    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    print_mapped(path);
    printf("]}\n");
    kill(child, SIGKILL);
    return 0;
}
