// What code compiled with -fsanitize=thread calls at each of its memory accesses.
#include <string.h>

#include "machine.h"
#include "races.h"

#define CALLER __builtin_return_address(0)

static uint64_t operate(enum operation_kind kind, enum change change, const volatile void *address, unsigned bytes,
                        uint64_t value, uint64_t expected, int order, const void *caller) {
    return machine_operate((struct operation){.kind = kind,
                                              .change = change,
                                              .order = order,
                                              .bytes = bytes,
                                              .address = (uintptr_t)address,
                                              .value = value,
                                              .expected = expected,
                                              .caller = caller});
}

// --- Atomic accesses: alone they take effect at once, in a thread they are a turn ----------------

#define DIRECT_EXCHANGE(address, value) __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST)

#define CHANGE_HOOK(bits, name, kind, direct)                                                                        \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *address, uint##bits##_t value, int order);  \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *address, uint##bits##_t value, int order) { \
        if (!machine_is_running())                                                                                   \
            return direct;                                                                                           \
        return (uint##bits##_t)operate(OPERATION_CHANGE, kind, address, bits / 8, value, 0, order, CALLER);          \
    }

#define ATOMIC_HOOKS(bits)                                                                                             \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *address, int order);                      \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *address, int order) {                     \
        if (!machine_is_running())                                                                                     \
            return *address;                                                                                           \
        return (uint##bits##_t)operate(OPERATION_LOAD, 0, address, bits / 8, 0, 0, order, CALLER);                     \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *address, uint##bits##_t value, int order);               \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *address, uint##bits##_t value, int order) {              \
        if (!machine_is_running())                                                                                     \
            *address = value;                                                                                          \
        else                                                                                                           \
            operate(OPERATION_STORE, 0, address, bits / 8, value, 0, order, CALLER);                                   \
    }                                                                                                                  \
    CHANGE_HOOK(bits, exchange, CHANGE_EXCHANGE, DIRECT_EXCHANGE(address, value))                                      \
    CHANGE_HOOK(bits, fetch_add, CHANGE_ADD, __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST))                     \
    CHANGE_HOOK(bits, fetch_sub, CHANGE_SUBTRACT, __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST))                \
    CHANGE_HOOK(bits, fetch_and, CHANGE_AND, __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST))                     \
    CHANGE_HOOK(bits, fetch_or, CHANGE_OR, __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST))                        \
    CHANGE_HOOK(bits, fetch_xor, CHANGE_XOR, __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST))                     \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *address, uint##bits##_t *expected,      \
                                                      uint##bits##_t desired, int order, int failure_order);           \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *address, uint##bits##_t *expected,      \
                                                      uint##bits##_t desired, int order, int failure_order) {          \
        uint##bits##_t wanted = *expected;                                                                             \
        (void)failure_order;                                                                                           \
        if (!machine_is_running())                                                                                     \
            return __atomic_compare_exchange_n(address, expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
        *expected =                                                                                                    \
            (uint##bits##_t)operate(OPERATION_CHANGE, CHANGE_SWAP, address, bits / 8, desired, wanted, order, CALLER); \
        return *expected == wanted;                                                                                    \
    }

ATOMIC_HOOKS(8)
ATOMIC_HOOKS(16)
ATOMIC_HOOKS(32)
ATOMIC_HOOKS(64)

// --- Plain accesses: no turn, but the race detector sees them ------------------------------------

static void plain(const void *address, size_t bytes, bool writes, const void *caller) {
    if (!machine_is_running())
        return;
    machine_settle((uintptr_t)address, bytes, caller);
    races_plain(interleave_thread(), (uintptr_t)address, bytes, writes, caller);
}

void interleave_touch(const void *address) {
    plain(address, 1, true, CALLER);
}

#define PLAIN_HOOKS(bytes)                                    \
    void __tsan_read##bytes(const void *address);             \
    void __tsan_read##bytes(const void *address) {            \
        plain(address, bytes, false, CALLER);                 \
    }                                                         \
    void __tsan_write##bytes(const void *address);            \
    void __tsan_write##bytes(const void *address) {           \
        plain(address, bytes, true, CALLER);                  \
    }                                                         \
    void __tsan_unaligned_read##bytes(const void *address);   \
    void __tsan_unaligned_read##bytes(const void *address) {  \
        plain(address, bytes, false, CALLER);                 \
    }                                                         \
    void __tsan_unaligned_write##bytes(const void *address);  \
    void __tsan_unaligned_write##bytes(const void *address) { \
        plain(address, bytes, true, CALLER);                  \
    }

PLAIN_HOOKS(1)
PLAIN_HOOKS(2)
PLAIN_HOOKS(4)
PLAIN_HOOKS(8)
PLAIN_HOOKS(16)

void __tsan_read_range(const void *address, size_t bytes);
void __tsan_read_range(const void *address, size_t bytes) {
    plain(address, bytes, false, CALLER);
}

void __tsan_write_range(const void *address, size_t bytes);
void __tsan_write_range(const void *address, size_t bytes) {
    plain(address, bytes, true, CALLER);
}

// clang calls these for what gcc leaves to the C library.
void *__tsan_memset(void *place, int value, size_t bytes);
void *__tsan_memset(void *place, int value, size_t bytes) {
    plain(place, bytes, true, CALLER);
    return memset(place, value, bytes);
}

void *__tsan_memcpy(void *place, const void *from, size_t bytes);
void *__tsan_memcpy(void *place, const void *from, size_t bytes) {
    plain(from, bytes, false, CALLER);
    plain(place, bytes, true, CALLER);
    return memcpy(place, from, bytes);
}

void *__tsan_memmove(void *place, const void *from, size_t bytes);
void *__tsan_memmove(void *place, const void *from, size_t bytes) {
    plain(from, bytes, false, CALLER);
    plain(place, bytes, true, CALLER);
    return memmove(place, from, bytes);
}

// --- What has no meaning here --------------------------------------------------------------------

void __tsan_init(void);
void __tsan_init(void) {
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) {
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void) {
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) {
    (void)order;
}
