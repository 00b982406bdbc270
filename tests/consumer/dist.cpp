// A stranger's program that needs several processes and no files.
#include <weft/dist.h>

#include <cstdio>

int main() {
    weft::dist::Group group;
    const double sum = weft::sum(group.all_reduce(weft::ones({2}))).item();
    std::printf("all-reduce %g\n", sum);
    return sum == 2.0 * group.size() ? 0 : 1;
}
