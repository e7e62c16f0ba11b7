// Loads libraries that need static thread-local room, and works with their data. Arguments: their paths.
#include "helper.h"

int main(int argc, char **argv) {
    prove_hakmem_serves();
    for (int i = 1; i < argc; i++) {
        void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) {
            SAY("FAIL: %s\n", dlerror());
            return 1;
        }
        char *(*data)(void) = (char *(*)(void))dlsym(handle, "static_tls_data");
        CHECK(data != NULL && data()[0] == 0);
        data()[0] = (char)i;
        use_all_sizes(5);
    }
    return 0;
}
