// Allocates blocks of one size until there are so many MiB, writes all or the first byte of each, replaces them, so
// many at a time that stacks don't hold them, for so many milliseconds, and says what of the process is resident, and
// how much of that lies in huge pages: two numbers, in KiB.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AT_A_TIME 1024u

static long field_kib(const char *name) {
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name), NULL, 10);
    if (file != NULL)
        fclose(file);
    return value;
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    size_t bytes = strtoul(argv[1], NULL, 10), count = (strtoul(argv[2], NULL, 10) << 20) / bytes + 1;
    size_t written = strcmp(argv[3], "all") == 0 ? bytes : 1;
    char **blocks = calloc(count, sizeof *blocks);
    long end_ms = now_ms() + strtol(argv[4], NULL, 10);
    for (size_t i = 0; blocks != NULL && (i < count || now_ms() < end_ms); i++) {
        if (i % AT_A_TIME == 0 && i >= count)
            for (size_t next = i; next < i + AT_A_TIME; next++) {
                free(blocks[next % count]);
                blocks[next % count] = NULL;
            }
        char **block = &blocks[i % count];
        if (*block == NULL && (*block = malloc(bytes)) == NULL)
            return 1;
        memset(*block, 1, written);
    }
    return printf("%ld %ld\n", field_kib("Rss:"), field_kib("AnonHugePages:")) < 0;
}
