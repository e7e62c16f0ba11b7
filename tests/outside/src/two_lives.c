// Lives two lives of so many seconds each, one after the other: small blocks in changing numbers, then larger ones.
// Argument: SECONDS. Then it prints what hakmem_stats_json says, where that is to be had.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 2000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void live(size_t bytes, double seconds) {
    static void *blocks[BLOCKS];
    double end = now() + seconds;
    do {
        for (size_t i = 0; i < BLOCKS; i++)
            blocks[i] = malloc(bytes + i % 100);
        for (size_t i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    } while (now() < end);
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    int (*say)(char *buffer, size_t size) = (int (*)(char *, size_t))dlsym(RTLD_DEFAULT, "hakmem_stats_json");
    live(100, seconds);
    live(20000, seconds);
    if (say == NULL)
        return 1;
    static char text[256 * 1024];
    int length = say(text, sizeof text);
    puts(text);
    return length < (int)sizeof text ? 0 : 1;
}
