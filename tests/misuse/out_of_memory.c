// Asks for more than there is; told by NULL and errno alone.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    void *impossible[] = {malloc(PTRDIFF_MAX), calloc(SIZE_MAX, 2), realloc(NULL, SIZE_MAX / 2)};
    for (int i = 0; i < 3; i++)
        if (impossible[i] != NULL)
            return 1;
    return errno != ENOMEM || puts("went on") < 0;
}
