// Allocates blocks of one size until there are so many MiB, writes all or the first byte of each, and says what of the
// process is resident, and how much of that lies in huge pages: two numbers, in KiB.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    size_t bytes = strtoul(argv[1], NULL, 10), mebibytes = strtoul(argv[2], NULL, 10);
    size_t written = strcmp(argv[3], "all") == 0 ? bytes : 1;
    for (size_t total = 0; total < mebibytes << 20; total += bytes) {
        char *block = malloc(bytes);
        if (block == NULL)
            return 1;
        memset(block, 1, written);
    }
    return printf("%ld %ld\n", field_kib("Rss:"), field_kib("AnonHugePages:")) < 0;
}
