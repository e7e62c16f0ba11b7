// Runs a program once with a library preloaded, and writes down how long it took and how much memory it had.
//
// Models: nothing; it is the stop watch for real programs. Its own few pages are the least that it can report:
// getrusage counts what a process had before exec, which for a child of a large process is that process.
// Formulae: seconds from fork to the end of wait4; peak_kib is ru_maxrss, of the program or a child it waited for.
// The program's status is this one's: exit status, or 128 + the signal that ended it.
#define _GNU_SOURCE
#include "harness.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 4)
        harness_fail("arguments: REPORT-FILE LIBRARY-OR-EMPTY PROGRAM ARGUMENTS…");
    char **environment = environment_with(argv[2]);
    FILE *report = fopen(argv[1], "we");
    if (report == NULL)
        harness_fail(argv[1]);
    double start = clock_seconds();
    pid_t child = fork();
    if (child == 0) {
        execvpe(argv[3], argv + 3, environment);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        harness_fail("fork");
    fprintf(report, "{\"seconds\":%.6f,\"peak_kib\":%ld}\n", clock_seconds() - start, usage.ru_maxrss);
    if (fclose(report) != 0)
        harness_fail(argv[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
