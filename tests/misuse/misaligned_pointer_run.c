// Frees an address inside a block of megabytes; seen at once.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *block = malloc(3 << 20);
    for (int i = 1; i <= 3; i++) {
        dprintf(1, "%p\n", block + 500000 * i);
        free(block + 500000 * i);
    }
    return puts("went on") < 0;
}
