// Frees a block of many pages twice; seen when the thread's free blocks go home.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    for (int i = 0; i < 3; i++) {
        void *block = malloc(300000);
        dprintf(1, "%p\n", block);
        free(block);
        free(block);
        malloc_trim(0);
    }
    return puts("went on") < 0;
}
