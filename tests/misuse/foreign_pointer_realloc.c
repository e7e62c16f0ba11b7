// Resizes a variable; seen at once.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static int variables[3];
    for (int i = 0; i < 3; i++) {
        dprintf(1, "%p\n", &variables[i]);
        if (realloc(&variables[i], 100) != NULL)
            return 1;
    }
    return puts("went on") < 0;
}
