// Something writes into the allocator's records: here into where a slab begins, which is found by its look. Seen when a
// block of that slab goes home.
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *blocks[3];
static void *filler[100]; // so that the slab's number is no small one

// Looks through the mapping [from, to) for records of the slab with that number: at 64 bytes each, state 1 (leased), a
// number of blocks handed out, its class. Moves where they say that it begins.
static void corrupt(char *from, char *to, uint32_t slab) {
    for (char *record = from; record + 64 <= to; record += 64)
        if (record[0] == 1 && *(uint32_t *)(record + 8) == slab && *(uint16_t *)(record + 12) > 0 && record[14] > 0)
            *(uint32_t *)(record + 8) = slab + 1000;
}

int main(void) {
    char line[256], access[8], name[64], *start = NULL, *from, *to;
    for (int i = 0; i < 100; i++)
        filler[i] = malloc(60000);
    for (int i = 0; i < 3; i++)
        dprintf(1, "%p\n", blocks[i] = malloc(3000));
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int pass = 0; pass < 2; pass++, rewind(maps))
        while (fgets(line, sizeof line, maps) != NULL) {
            name[0] = '\0';
            sscanf(line, "%p-%p %7s %*s %*s %*s %63s", &from, &to, access, name);
            if (pass == 0 && from <= (char *)blocks[0] && (char *)blocks[0] < to)
                start = from;
            else if (pass == 1 && strcmp(access, "rw-p") == 0 && from != start && name[0] == '\0')
                corrupt(from, to, (uint32_t)(((char *)blocks[0] - start) >> 16));
        }
    for (int i = 0; i < 3; i++)
        free(blocks[i]);
    malloc_trim(0);
    return puts("went on") < 0;
}
