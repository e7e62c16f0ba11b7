// Loads many libraries with thread-local data, uses them in threads older and younger than they are, and unloads them.
// Arguments: the paths of the libraries.
#include "helper.h"

enum { OLD_THREADS = 3, LIBRARIES_MOST = 64, ROUNDS = 3 };

static int (*work[LIBRARIES_MOST])(int);
static int count;
static pthread_barrier_t loaded, used;

static void use_libraries(void) {
    for (int i = 0; i < count; i++) {
        CHECK(work[i](i % 100) == i % 100 * 2);
    }
}

static void *live_through_all(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        use_all_sizes(10);
        (void)pthread_barrier_wait(&loaded);
        use_libraries();
        (void)pthread_barrier_wait(&used);
    }
    return NULL;
}

static void *live_shortly(void *unused) {
    (void)unused;
    use_libraries();
    return NULL;
}

int main(int argc, char **argv) {
    prove_hakmem_serves();
    void *handles[LIBRARIES_MOST];
    pthread_t old[OLD_THREADS];
    CHECK(argc > 1 && argc <= LIBRARIES_MOST);
    CHECK(pthread_barrier_init(&loaded, NULL, OLD_THREADS + 1) == 0);
    CHECK(pthread_barrier_init(&used, NULL, OLD_THREADS + 1) == 0);
    for (size_t i = 0; i < OLD_THREADS; i++) {
        CHECK(pthread_create(&old[i], NULL, live_through_all, NULL) == 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (count = 0; count < argc - 1; count++) {
            handles[count] = dlopen(argv[count + 1], RTLD_NOW | RTLD_LOCAL);
            if (handles[count] == NULL) {
                SAY("FAIL: %s\n", dlerror());
                return 1;
            }
            work[count] = (int (*)(int))dlsym(handles[count], "library_work");
            CHECK(work[count] != NULL);
        }
        (void)pthread_barrier_wait(&loaded);
        pthread_t young;
        CHECK(pthread_create(&young, NULL, live_shortly, NULL) == 0);
        CHECK(pthread_join(young, NULL) == 0);
        (void)pthread_barrier_wait(&used);
        for (int i = 0; round < ROUNDS - 1 && i < 5; i++) { // a few; old threads hold blocks of all
            CHECK(dlclose(handles[count - 1 - i]) == 0);
        }
    }
    for (size_t i = 0; i < OLD_THREADS; i++) {
        CHECK(pthread_join(old[i], NULL) == 0);
    }
    return 0;
}
