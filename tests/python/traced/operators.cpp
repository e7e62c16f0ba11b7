// Calls of operator new and delete that the test counts.
#include <cstdlib>

struct three {
    long a[3];
};
struct alignas(128) wide {
    char a[128];
};

int main() {
    static three *threes[500];
    static char *arrays[7];
    static wide *wides[3];
    for (auto &one : threes)
        one = new three;
    for (auto &one : arrays)
        one = new char[4000];
    for (auto &one : wides)
        one = new wide;
    for (auto &one : threes)
        delete one;
    for (auto &one : arrays)
        delete[] one;
    for (auto &one : wides)
        delete one;
    return 0;
}
