// Frees a block of megabytes twice: the second time nothing begins there any more; seen at once.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    for (int i = 0; i < 3; i++) {
        void *block = malloc(3 << 20);
        dprintf(1, "%p\n", block);
        free(block);
        free(block);
    }
    return puts("went on") < 0;
}
