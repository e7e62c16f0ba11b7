// Allocates and fills COUNT blocks of SIZE bytes, and prints its peak of resident memory in KiB.
// Arguments: SIZE COUNT, then one of: nothing; children (four of them do it too, and end through exit); elsewhere (it
// goes to the folder of that name); lasting (for more than a second); cancelled (its last thread is cancelled while it
// exits, with 3).
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 4 };

static void ask_for(size_t bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *block = malloc(bytes);
        if (block == NULL)
            exit(1);
        memset(block, 1, bytes);
    }
}

static void fork_children(size_t bytes, size_t count) {
    int status;
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            ask_for(bytes, count);
            exit(0);
        }
    for (int i = 0; i < CHILDREN; i++)
        if (wait(&status) < 0 || status != 0)
            exit(1);
}

static long peak_kib(void) {
    char line[256];
    long peak = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = atol(line + 6);
    return peak;
}

int main(int argc, char **argv) {
    size_t bytes = strtoul(argv[1], NULL, 10), count = strtoul(argv[2], NULL, 10);
    const char *way = argc > 3 ? argv[3] : "";
    ask_for(bytes, count);
    if (strcmp(way, "children") == 0)
        fork_children(bytes, count);
    if (strcmp(way, "elsewhere") == 0 && chdir("elsewhere") != 0)
        return 1;
    if (strcmp(way, "lasting") == 0)
        while (clock() < 12 * CLOCKS_PER_SEC / 10)
            ;
    printf("%ld\n", peak_kib());
    fflush(stdout);
    if (strcmp(way, "cancelled") == 0) {
        pthread_cancel(pthread_self());
        exit(3);
    }
    return 0;
}
