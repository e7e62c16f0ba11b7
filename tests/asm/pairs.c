// Allocates and frees one block again and again, after all stacks are filled: of a shared class, of a held class, and
// by the C++ operators. The argument is how often.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    void *(*operator_new)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
    void (*operator_delete)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdlPv");
    if (argc < 2 || operator_new == NULL || operator_delete == NULL)
        return 1;
    for (long i = 0; i < atol(argv[1]); i++)
        free(malloc(100));
    for (long i = 0; i < atol(argv[1]); i++)
        free(malloc(24));
    for (long i = 0; i < atol(argv[1]); i++)
        operator_delete(operator_new(100));
    return 0;
}
