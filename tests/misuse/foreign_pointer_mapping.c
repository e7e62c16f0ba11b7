// Frees pages that mmap returned; seen at once.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(void) {
    for (int i = 0; i < 3; i++) {
        void *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        dprintf(1, "%p\n", pages);
        free(pages);
    }
    return puts("went on") < 0;
}
