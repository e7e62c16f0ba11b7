// Allocates, then leaves in the way that the argument says.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "fork") == 0) {
        for (int child = 0; child < 2; child++)
            if (fork() == 0) {
                for (int i = 0; i < 100; i++)
                    free(malloc(33));
                exit(0);
            }
        while (wait(NULL) > 0)
            ;
        return 0;
    }
    for (int i = 0; i < 20000; i++)
        free(malloc(33));
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    raise(SIGKILL);
    return 1;
}
