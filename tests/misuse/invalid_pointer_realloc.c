// Resizes a block of megabytes that was freed before; seen at once.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    for (int i = 0; i < 3; i++) {
        void *block = malloc(3 << 20);
        dprintf(1, "%p\n", block);
        free(block);
        realloc(block, 100);
    }
    return puts("went on") < 0;
}
