// A plain process loads the variant of the allocator for dlopen and uses it by its own names, besides its own malloc.
// Arguments: the allocator's path, and libraries to load before it that use up room for static thread-local data.
#include "helper.h"

enum { THREADS = 4, BLOCKS = 2000 };

static void *(*other_malloc)(size_t);
static void *(*other_realloc)(void *, size_t);
static void (*other_free)(void *);
static void *blocks_of_threads[THREADS][BLOCKS];

static void *allocate(void *argument) {
    void **blocks = argument;
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = other_malloc(i * 17 % 5000);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], (int)i, i * 17 % 5000);
    }
    return NULL;
}

static void *free_blocks(void *argument) {
    void **blocks = argument;
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = i * 17 % 5000;
        CHECK(size == 0 || ((unsigned char *)blocks[i])[size - 1] == (unsigned char)i);
        blocks[i] = other_realloc(blocks[i], size + 100);
        CHECK(blocks[i] != NULL);
        other_free(blocks[i]);
    }
    return NULL;
}

static void run_in_threads(void *(*body)(void *), size_t shift) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, body, blocks_of_threads[(i + shift) % THREADS]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static void *load(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        SAY("FAIL: %s\n", dlerror());
        _exit(1);
    }
    return handle;
}

int main(int argc, char **argv) {
    CHECK(argc >= 2);
    for (int i = 2; i < argc; i++) {
        (void)load(argv[i]);
    }
    void *own_block = call_malloc(1000);
    void *handle = load(argv[1]);
    other_malloc = (void *(*)(size_t))dlsym(handle, "hakmem_malloc");
    other_realloc = (void *(*)(void *, size_t))dlsym(handle, "hakmem_realloc");
    other_free = (void (*)(void *))dlsym(handle, "hakmem_free");
    const char *(*version)(void) = (const char *(*)(void))dlsym(handle, "hakmem_version");
    CHECK(other_malloc != NULL && other_realloc != NULL && other_free != NULL && version != NULL);
    CHECK(strlen(version()) > 0);
    Dl_info of_malloc, of_other;
    CHECK(dladdr((void *)(uintptr_t)call_malloc, &of_malloc) != 0);
    CHECK(dladdr((void *)(uintptr_t)other_malloc, &of_other) != 0);
    CHECK(of_malloc.dli_fbase != of_other.dli_fbase);
    for (size_t round = 0; round < 5; round++) {
        run_in_threads(allocate, 0);
        run_in_threads(free_blocks, round);
        use_all_sizes(20);
    }
    (void)allocate(blocks_of_threads[0]);
    call_free(own_block);
    CHECK(dlclose(handle) == 0); // it stays: threads and blocks of it may live on
    (void)free_blocks(blocks_of_threads[0]);
    run_in_threads(allocate, 0);
    run_in_threads(free_blocks, 1);
    return 0;
}
