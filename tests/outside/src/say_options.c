// Prints AT_SECURE and the value of each option named by an argument, as the library in use says it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/auxv.h>

extern int hakmem_option_get(const char *name, char *value, size_t size) __attribute__((weak));

int main(int argc, char **argv) {
    int (*get)(const char *, char *, size_t) = hakmem_option_get;
    if (get == NULL)
        get = (int (*)(const char *, char *, size_t))dlsym(RTLD_DEFAULT, "hakmem_option_get");
    printf("secure=%lu\n", getauxval(AT_SECURE));
    for (int i = 1; i < argc; i++) {
        char value[8192];
        if (get == NULL || get(argv[i], value, sizeof value) < 0)
            return 1;
        printf("%s=%s\n", argv[i], value);
    }
    return 0;
}
