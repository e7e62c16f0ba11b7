// Works so that something is learned, and ends in the way that its argument names: nothing (it returns from main),
// logging (a thread writes to standard error still, which is closed), main first (another thread goes on alone), daemon
// (that lasts for 20 seconds), data (a file of that name has standard error's number), saved (asks for it twice, and by
// _exit), signalled (sends itself SIGUSR2 and by _exit), own signal (has a handler of SIGUSR2's, and goes on to the
// end).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 1000 };

// Of work: a process that others keep from the processor learns as much.
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Bursts that the default's stacks don't hold: that deeper ones pay is told in a few looks, on any machine.
static void work(double seconds) {
    static char *blocks[BLOCKS];
    for (double end = now() + seconds; now() < end;) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(i % 8 == 0 ? 700 : 1030);
            if (blocks[i] == NULL)
                exit(1);
            blocks[i][0] = 1;
        }
        for (unsigned i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
}

static void *log_on(void *unused) {
    (void)unused;
    for (;;) // whoever has the number
        if (write(2, "log line\n", 9) > 0)
            usleep(10);
}

static int begin_to_log(void) {
    pthread_t thread;
    close(1);
    close(2);
    return pthread_create(&thread, NULL, log_on, NULL);
}

// Its only content is what is written here.
static int begin_data(void) {
    close(2);
    return open("data", O_RDWR | O_CREAT | O_TRUNC, 0644) == 2 && write(2, "DATA", 4) == 4 ? 0 : 1;
}

static void *go_on(void *unused) {
    (void)unused;
    work(0.3);
    return NULL;
}

static int end_main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, go_on, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

// Prints what each call says.
static void save(void) {
    int (*policy_save)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "hakmem_policy_save");
    if (policy_save == NULL)
        exit(1);
    errno = 0;
    int result = policy_save();
    printf("%d %s\n", result, strerror(errno));
    fflush(stdout);
}

static int save_twice(void) {
    save();
    work(0.3);
    save();
    _exit(0);
}

static int send_signal(void) {
    raise(SIGUSR2);
    work(0.3);
    _exit(0);
}

static void note_signal(int number) {
    (void)number;
    if (write(1, "mine\n", 5) != 5)
        abort();
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "own signal") == 0)
        signal(SIGUSR2, note_signal);
    work(0.3);
    if (strcmp(way, "own signal") == 0)
        return raise(SIGUSR2);
    if (strcmp(way, "saved") == 0)
        return save_twice();
    if (strcmp(way, "signalled") == 0)
        return send_signal();
    if (strcmp(way, "logging") == 0)
        return begin_to_log();
    if (strcmp(way, "data") == 0)
        return begin_data();
    if (strcmp(way, "daemon") == 0)
        return daemon(0, 0) != 0 || sleep(20) != 0;
    if (strcmp(way, "main first") == 0)
        return end_main();
    return 0;
}
