// Asks for big blocks at two places for SECONDS: one frees each block before it asks for the next, the other keeps some
// for a while. Arguments: SECONDS; MIB and MORE_MIB, the smallest of those and how much larger others are, 1 and 4.
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEPT = 32, MIB = 1 << 20 };

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void touch(char *block, size_t bytes) {
    if (block == NULL)
        exit(1);
    for (size_t i = 0; i < bytes; i += 65536)
        block[i] = 1;
}

int main(int argc, char **argv) {
    char *kept[KEPT] = {0};
    size_t least = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * MIB,
           more = (argc > 3 ? strtoul(argv[3], NULL, 10) : 4) * MIB;
    double end = seconds_now() + (argc > 1 ? atof(argv[1]) : 1);
    for (unsigned turn = 0; turn % 64 != 0 || seconds_now() < end; turn++) {
        char *reused = malloc(3 * MIB);
        touch(reused, 3 * MIB);
        free(reused);
        size_t bytes = least + turn * (size_t)7919 % more;
        free(kept[turn % KEPT]);
        kept[turn % KEPT] = malloc(bytes);
        touch(kept[turn % KEPT], bytes);
    }
    return 0;
}
