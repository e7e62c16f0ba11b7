// A library with thread-local data, blocks made in its constructor, in each thread, and freed by destructors.
#include "helper.h"

static __thread unsigned char large[3000];
static __thread void *of_thread;
static void *of_library;
static pthread_key_t key;

static void end_of_thread(void *block) {
    call_free(block);
    call_free(of_thread);
    of_thread = NULL;
}

__attribute__((constructor)) static void begin(void) {
    of_library = call_malloc(100000);
    CHECK(of_library != NULL && pthread_key_create(&key, end_of_thread) == 0);
}

__attribute__((destructor)) static void end(void) {
    call_free(of_library);
    (void)pthread_key_delete(key);
}

// Works with blocks and thread-local data; returns a number that shows that both were there.
int library_work(int number);
int library_work(int number) {
    if (of_thread == NULL) {
        of_thread = call_malloc(500);
        CHECK(of_thread != NULL && pthread_setspecific(key, call_malloc(64)) == 0);
    }
    memset(large, number, sizeof large);
    use_all_sizes(2);
    return large[0] + large[sizeof large - 1];
}
