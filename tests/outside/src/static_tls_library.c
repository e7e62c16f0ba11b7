// A library that takes 64 bytes of the room the C library keeps for static thread-local data of loaded libraries.
static __thread char data[64] __attribute__((tls_model("initial-exec")));

char *static_tls_data(void);
char *static_tls_data(void) {
    return data;
}
