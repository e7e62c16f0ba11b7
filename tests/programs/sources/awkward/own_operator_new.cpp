// A program with its own operator new, whose blocks the standard library frees and the other way round.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static __thread long live;
static constexpr size_t mark = 16; // the program keeps the size in front of each block

void *operator new(size_t size) {
    char *block = static_cast<char *>(malloc(size + mark));
    if (!block)
        throw std::bad_alloc();
    *reinterpret_cast<size_t *>(block) = size;
    live++;
    return block + mark;
}
void operator delete(void *block) noexcept {
    if (!block)
        return;
    live--;
    free(static_cast<char *>(block) - mark);
}
void operator delete(void *block, size_t size) noexcept {
    if (block && *reinterpret_cast<size_t *>(static_cast<char *>(block) - mark) != size)
        abort();
    operator delete(block);
}

static void work(int number, long *left) {
    {
        std::map<std::string, std::vector<int>> table;
        std::ostringstream text; // its buffer is made inside libstdc++.so
        for (int i = 0; i < 20000; i++) {
            table[std::string(i % 90, 'a' + i % 26)].push_back(i * number);
            text << i << ' ';
        }
        std::string all = text.str();
        for (int i = 0; i < 2000; i++)
            delete[] new int[i];
        if (all.size() != 108890 || table.size() == 0)
            abort();
    }
    *left = live;
}

int main() {
    long left[8];
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back(work, i, &left[i]);
    for (auto &thread : threads)
        thread.join();
    long sum = 0;
    for (long one : left)
        sum += one < 0 ? -one : one;
    printf("left behind: %s\n", sum <= 8 ? "nothing" : "blocks"); // a thread's own state is freed by another
}
