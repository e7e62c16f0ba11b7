// Loads a library into a namespace of its own (dlmopen), which has its own C library and its own malloc; both
// allocators work side by side in one process. Argument: the path of the library.
#include "helper.h"

int main(int argc, char **argv) {
    prove_hakmem_serves();
    CHECK(argc == 2);
    void *before = call_malloc(1000);
    for (int round = 0; round < 4; round++) {
        void *handle = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) {
            SAY("FAIL: %s\n", dlerror());
            return 1;
        }
        int (*work)(int) = (int (*)(int))dlsym(handle, "library_work");
        CHECK(work != NULL);
        for (int i = 0; i < 20; i++) {
            CHECK(work(i) == 2 * i);
            use_all_sizes(3);
        }
        CHECK(dlclose(handle) == 0);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, use_all_sizes_in_thread, (void *)(uintptr_t)20) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    call_free(before);
    return 0;
}
