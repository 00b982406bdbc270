// The slope of y = x² at x = 3: the program that chapter 1 of the book begins with.
#include <cstdio>

#include "weft/weft.h"

using namespace weft;

int main() {
    Tensor x = tensor(3.0, float64).requires_grad_();
    Tensor y = x * x;
    y.backward();
    std::printf("y = %.1f\n", y.item());
    std::printf("dy/dx = %.1f\n", x.grad().item());
    return 0;
}
