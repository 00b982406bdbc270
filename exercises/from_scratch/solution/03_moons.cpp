// Step 3: a net of 17 neurons learns to tell two moons apart.
#include "03_neuron.h"

int main() {
    Random random(1);
    const std::vector<Point> points = two_moons(60, random);
    const Net net({2, 8, 8, 1}, random);
    std::printf("%zu parameters\n", net.parameters.size());

    for (int step = 0; step <= 200; ++step) {
        Value loss = 0;
        for (const Point& p : points) {
            const Value error = net({p.x, p.y}) - (p.moon == 0 ? 1 : -1);
            loss = loss + error * error * (1.0 / 60);
        }
        backward(loss);
        for (const Value& p : net.parameters) {
            p.node->data -= 0.2 * p.grad();
            p.node->grad = 0;
        }
        if (step % 50 == 0) std::printf("step %3d  loss %.3f\n", step, loss.data());
    }
    draw(points, [&](double x, double y) { return net({x, y}).data(); });
}
