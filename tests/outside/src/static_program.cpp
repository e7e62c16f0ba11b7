// A statically linked C++ program: operators, containers, exceptions for lack of memory.
#include <hakmem/hakmem.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

static bool throws_bad_alloc() {
    void *(*volatile take)(std::size_t) = ::operator new;
    try {
        ::operator delete(take(SIZE_MAX / 2));
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

int main() {
    std::map<int, std::string> texts;
    std::vector<std::thread> threads;
    for (int i = 0; i < 20000; i++) {
        texts[i * 7919 % 20011] = std::string(static_cast<std::size_t>(i % 200), 'x');
    }
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([] {
            for (int j = 0; j < 20000; j++) {
                delete[] new char[static_cast<std::size_t>(j % 3000 + 1)];
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    struct hakmem_stats stats = {};
    stats.size = sizeof stats;
    if (hakmem_stats(&stats) != 0 || stats.allocated_bytes < 20000 * 100 || !throws_bad_alloc()) {
        return 1;
    }
    std::printf("hakmem %s\n", hakmem_version());
    return 0;
}
