// The atomic operations the library uses, each named after its memory order. Where an order is stronger than relaxed
// the caller says why and names the place it pairs with; docs/concurrency.md lists every shared word.
#ifndef BASE_ATOMICS_H
#define BASE_ATOMICS_H

#include "base/compiler.h"

#define load_relaxed(address) __atomic_load_n(address, __ATOMIC_RELAXED)
#define load_acquire(address) __atomic_load_n(address, __ATOMIC_ACQUIRE) // order: named by the caller
#define load_total(address) __atomic_load_n(address, __ATOMIC_SEQ_CST)   // order: named by the caller
#define store_relaxed(address, value) __atomic_store_n(address, value, __ATOMIC_RELAXED)
#define store_release(address, value) __atomic_store_n(address, value, __ATOMIC_RELEASE) // order: named by the caller

// Relaxed accesses of the fast path. GCC folds neither thread-local addresses nor its register choice around __atomic
// accesses, which costs malloc and free three instructions. These are plain accesses of aligned words, compiled to the
// same single loads and stores (tests/asm checks them); under the race detector they are what they mean.
#ifdef HAKMEM_NO_OVERRIDE // sanitized builds
#define load_fast(address) load_relaxed(address)
#define store_fast(address, value) store_relaxed(address, value)
#define store_fast_last(address, value) store_release(address, value)
#else
#define load_fast(address) (*(address))
#define store_fast(address, value) (*(address) = (value))
#define store_fast_last(address, value) (*(address) = (value)) // after all stores before it, as stores are on x86
#endif

// A counter that one thread writes and others read: no read-modify-write is needed.
#define count_add(address, amount) store_relaxed(address, load_relaxed(address) + (amount))
// A counter that several threads write.
#define shared_add(address, amount) __atomic_fetch_add(address, amount, __ATOMIC_RELAXED)

// Total order (sequential consistency) read-modify-writes.
#define or_total(address, mask) __atomic_fetch_or(address, mask, __ATOMIC_SEQ_CST)   // order: named by the caller
#define and_total(address, mask) __atomic_fetch_and(address, mask, __ATOMIC_SEQ_CST) // order: named by the caller
#define exchange_total(address, value) \
    __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST) // order: named by the caller
#define exchange_acquire(address, value) \
    __atomic_exchange_n(address, value, __ATOMIC_ACQUIRE) // order: named by the caller
#define exchange_release(address, value) \
    __atomic_exchange_n(address, value, __ATOMIC_RELEASE) // order: named by the caller

// Compare and swap without spurious failure; `expected` is an lvalue and receives what was found.
#define swap_total(address, expected, desired)                                          \
    __atomic_compare_exchange_n(address, &(expected), desired, false, __ATOMIC_SEQ_CST, \
                                __ATOMIC_SEQ_CST) // order: caller
#define swap_acquire(address, expected, desired)                                        \
    __atomic_compare_exchange_n(address, &(expected), desired, false, __ATOMIC_ACQUIRE, \
                                __ATOMIC_RELAXED) // order: caller

// Relaxed: what else is seen is ordered by something else.
#define swap_relaxed(address, expected, desired)                                        \
    __atomic_compare_exchange_n(address, &(expected), desired, false, __ATOMIC_RELAXED, \
                                __ATOMIC_RELAXED)                                          // order: caller
#define sub_release(address, amount) __atomic_fetch_sub(address, amount, __ATOMIC_RELEASE) // order: named by the caller

ALWAYS_INLINE void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
