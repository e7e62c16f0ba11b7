// Opens the module argv[1] with RTLD_DEEPBIND; each frees what the other allocated, as PHP and its modules do.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND) : NULL;
    if (!module)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    char *(*copy)(const char *) = (char *(*)(const char *))dlsym(module, "module_copy");
    void (*release)(void *) = (void (*)(void *))dlsym(module, "module_free");
    for (int i = 0; i < 1000; i++) {
        char *mine = malloc(10 + i * 5);
        char *its = copy("a text of the module");
        if (!mine || strcmp(its, "a text of the module"))
            return 1;
        release(mine);
        free(its);
    }
    puts("handed over");
    return 0;
}
