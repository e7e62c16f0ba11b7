// Allocates and frees aligned blocks again and again, after their stacks are filled: of every alignment from 32 to 4096
// bytes one a round. The argument is how many rounds.
#include <stdlib.h>

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 0;
    for (long i = 0; i < rounds; i++)
        for (size_t align = 32; align <= 4096; align *= 2) {
            void *block;
            if (posix_memalign(&block, align, 100) != 0)
                return 1;
            free(block);
        }
    return 0;
}
