// Becomes a daemon: closes every file, forks twice, works, and writes its result to the file named by the argument.
// That file gets one of the numbers 0 to 2: nothing but the result may be written there.
#include "helper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void close_all_files(void) {
    for (int file = 0; file < 1024; file++) {
        (void)close(file);
    }
}

static void become_daemon(void) {
    pid_t child = fork();
    if (child != 0) {
        _exit(child < 0);
    }
    (void)setsid();
    child = fork();
    if (child != 0) {
        _exit(child < 0);
    }
    (void)umask(022);
}

int main(int argc, char **argv) {
    prove_hakmem_serves();
    if (argc != 2) {
        return 2;
    }
    void *block = call_malloc(5000);
    memset(block, 0x66, 5000);
    use_all_sizes(10);
    close_all_files();
    become_daemon();
    int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    pthread_t thread;
    if (file < 0 || file > 2 || pthread_create(&thread, NULL, use_all_sizes_in_thread, (void *)(uintptr_t)100) != 0) {
        return 1;
    }
    use_all_sizes(100);
    (void)pthread_join(thread, NULL);
    (void)malloc_trim(0);
    if (((unsigned char *)block)[4999] != 0x66) {
        return 1;
    }
    free(block);
    return write(file, "done\n", 5) != 5;
}
