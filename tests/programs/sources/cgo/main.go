// Goroutines on many threads that take, hand over and give back C memory, C threads, fork and exec.
package main

/*
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *fill(size_t size, int byte) {
	void *p = malloc(size);
	if (p) memset(p, byte, size);
	return p;
}

static uint64_t take(void *p, size_t size) {
	uint64_t sum = 0;
	for (size_t i = 0; i < size; i++) sum += ((unsigned char *)p)[i];
	free(p);
	return sum;
}

static void *c_thread(void *arg) {
	uint64_t sum = 0;
	for (int i = 1; i < 2000; i++) sum += take(fill(i, i & 7), i);
	*(uint64_t *)arg = sum;
	return NULL;
}

static uint64_t c_threads(int count) {
	pthread_t threads[64];
	uint64_t *sums = calloc(64, sizeof *sums), total = 0;
	for (int i = 0; i < count; i++) if (pthread_create(&threads[i], NULL, c_thread, &sums[i])) abort();
	for (int i = 0; i < count; i++) { pthread_join(threads[i], NULL); total += sums[i]; }
	free(sums);
	return total;
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"unsafe"
)

type block struct {
	at   unsafe.Pointer
	size int
}

func produce(number int, out chan<- block, done *sync.WaitGroup) {
	defer done.Done()
	runtime.LockOSThread()
	for i := 0; i < 20000; i++ {
		size := 1 + (i*7919+number*104729)%3000
		if i%500 == 0 {
			size *= 100
		}
		out <- block{C.fill(C.size_t(size), C.int((i+number)&255)), size}
	}
}

func main() {
	blocks := make(chan block, 1000)
	var producers, consumers sync.WaitGroup
	for i := 0; i < 6; i++ {
		producers.Add(1)
		go produce(i, blocks, &producers)
	}
	sums := make([]uint64, 6)
	for i := range sums {
		consumers.Add(1)
		go func(i int) {
			defer consumers.Done()
			runtime.LockOSThread()
			for b := range blocks {
				sums[i] += uint64(C.take(b.at, C.size_t(b.size)))
			}
		}(i)
	}
	text := ""
	for i := 0; i < 40; i++ {
		out, err := exec.Command("echo", fmt.Sprint(i)).Output()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		text += string(out[:len(out)-1])
	}
	producers.Wait()
	close(blocks)
	consumers.Wait()
	total := uint64(0)
	for _, sum := range sums {
		total += sum
	}
	s := C.CString("a string of C")
	again := C.GoString(s)
	C.free(unsafe.Pointer(s))
	fmt.Println(total, C.c_threads(16), text, again)
}
