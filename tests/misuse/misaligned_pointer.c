// Frees an address inside a block; seen when the thread's free blocks go home.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *block = malloc(100);
    for (int i = 1; i <= 3; i++) {
        dprintf(1, "%p\n", block + 8 * i);
        free(block + 8 * i);
        malloc_trim(0);
    }
    return puts("went on") < 0;
}
