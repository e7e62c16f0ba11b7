// Makes calls that the test counts. A large block keeps the peak at a place that is known.
#include <stdlib.h>

__attribute__((noinline)) static void many_blocks(void **blocks, int count) {
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(100);
}

int main(void) {
    static void *blocks[1000], *zeroed[10], *aligned[5];
    char *grown = realloc(NULL, 100000);
    many_blocks(blocks, 1000);
    for (int i = 0; i < 10; i++)
        zeroed[i] = calloc(7, 11);
    for (int i = 0; i < 5; i++)
        aligned[i] = aligned_alloc(64, 64);
    for (int i = 0; i < 20; i++)
        grown = realloc(grown, 2000 + 5 * (size_t)(i + 1));
    for (int i = 3; i < 1000; i++)
        free(blocks[i]);
    for (int i = 0; i < 10; i++)
        free(zeroed[i]);
    for (int i = 0; i < 5; i++)
        free(aligned[i]);
    free(grown);
    free(NULL);
    volatile size_t impossible = (size_t)-1 / 2;
    free(malloc(impossible));
    return 0;
}
