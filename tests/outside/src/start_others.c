// Starts other processes in every way there is, from several threads at once: vfork, posix_spawn, fork and exec, popen,
// system. Each child is this program again, proves that hakmem serves it too, and works.
#include "helper.h"

#include <spawn.h>

extern char **environ;

enum { THREADS = 3, ROUNDS = 12, CHILD_STATUS = 7 };

static char self[4096];

static void by_vfork(void) {
    char *arguments[] = {self, (char[]){"child"}, NULL};
    unsigned char *block = call_malloc(5000);
    CHECK(block != NULL);
    memset(block, 0x11, 5000);
    pid_t child = vfork();
    if (child == 0) {
        (void)execve(self, arguments, environ);
        _exit(126);
    }
    CHECK(block[0] == 0x11 && block[4999] == 0x11);
    call_free(block);
    expect_exit(child, CHILD_STATUS);
}

static void by_vfork_that_fails(void) {
    pid_t child = vfork();
    if (child == 0) {
        (void)execl("/no/such/program", "none", (char *)NULL);
        _exit(3);
    }
    expect_exit(child, 3);
}

static void by_spawn(void) {
    char *arguments[] = {self, (char[]){"child"}, NULL};
    pid_t child = -1;
    CHECK(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
    expect_exit(child, CHILD_STATUS);
}

static void by_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        use_all_sizes(3);
        (void)execl(self, self, "child", (char *)NULL);
        _exit(126);
    }
    expect_exit(child, CHILD_STATUS);
}

static void by_popen(void) {
    char command[5000], line[64] = "";
    (void)snprintf(command, sizeof command, "'%s' child; echo ended with $?", self);
    FILE *pipe = popen(command, "re");
    CHECK(pipe != NULL);
    CHECK(fgets(line, sizeof line, pipe) != NULL);
    CHECK(pclose(pipe) == 0);
    CHECK(strcmp(line, "ended with 7\n") == 0);
}

static void *start_all_ways(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        by_vfork();
        by_vfork_that_fails();
        by_spawn();
        by_fork();
        use_all_sizes(20);
    }
    by_popen();
    return NULL;
}

int main(int argc, char **argv) {
    (void)argv;
    prove_hakmem_serves();
    if (argc == 2) {
        use_all_sizes(5);
        return CHILD_STATUS;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, start_all_ways, NULL) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    char command[5000];
    (void)snprintf(command, sizeof command, "'%s' child", self);
    int status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS);
    return 0;
}
