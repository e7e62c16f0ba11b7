// Frees an address where a block could begin but none ever did; seen when the thread's free blocks go home.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *block = malloc(2000);
    for (int i = 0; i < 3; i++) {
        void *beyond = block + (20 + i) * malloc_usable_size(block);
        dprintf(1, "%p\n", beyond);
        free(beyond);
        malloc_trim(0);
    }
    return puts("went on") < 0;
}
