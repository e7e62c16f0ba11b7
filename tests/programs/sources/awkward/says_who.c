// Prints whether it runs as a setuid program (AT_SECURE), after some work with memory.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

int main(void) {
    char *held[1000];
    for (int i = 0; i < 1000; i++)
        held[i] = memset(malloc(i + 1), i, i + 1);
    for (int i = 0; i < 1000; i++) {
        if (held[i][i] != (char)i)
            return 1;
        free(held[i]);
    }
    puts(getauxval(AT_SECURE) ? "secure" : "plain");
    return 0;
}
