// Frees an address on the stack; seen at once.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int local[3];
    for (int i = 0; i < 3; i++) {
        dprintf(1, "%p\n", &local[i]);
        free(&local[i]);
    }
    return puts("went on") < 0;
}
