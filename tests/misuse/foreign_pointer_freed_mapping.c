// Frees a block that was so large that it had a mapping of its own twice; seen at once.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    for (int i = 0; i < 3; i++) {
        void *block = malloc(200 << 20);
        dprintf(1, "%p\n", block);
        free(block);
        free(block);
    }
    return puts("went on") < 0;
}
