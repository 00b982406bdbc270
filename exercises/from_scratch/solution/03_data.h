// Step 3: random numbers, two moons of points to tell apart, and a picture of the plane.
#pragma once

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

inline const double pi = std::acos(-1.0);

// The same numbers with every compiler: the standard fixes std::mt19937, but not its distributions.
struct Random {
    std::mt19937 engine;
    explicit Random(unsigned seed) : engine(seed) {}
    double uniform() { return (engine() + 0.5) / 4294967296.0; }  // between 0 and 1
    double normal() {                                             // mean 0, variance 1 (Box and Muller)
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(2 * pi * uniform());
    }
};

struct Point {
    double x, y;
    int moon;  // 0 or 1
};

// Two half circles, the second upside down and half inside the first.
inline std::vector<Point> two_moons(int n, Random& random) {
    std::vector<Point> points;
    for (int i = 0; i < n; ++i) {
        const double angle = pi * random.uniform(), x = std::cos(angle), y = std::sin(angle);
        points.push_back(i % 2 == 0 ? Point{x, y, 0} : Point{1 - x, 0.5 - y, 1});
        points.back().x += 0.1 * random.normal();
        points.back().y += 0.1 * random.normal();
    }
    return points;
}

// Prints the plane with dots where classify(x, y) > 0, and the points as o (moon 0) and # (moon 1).
template <class F>
void draw(const std::vector<Point>& points, F classify) {
    for (int row = 0; row < 18; ++row) {
        for (int column = 0; column < 64; ++column) {
            const double x = 0.06 * column - 1.4, y = 1.3 - 0.12 * row;
            char c = classify(x, y) > 0 ? '.' : ' ';
            for (const Point& p : points)
                if (std::abs(p.x - x) < 0.03 && std::abs(p.y - y) < 0.06) c = p.moon == 0 ? 'o' : '#';
            std::printf("%c", c);
        }
        std::printf("\n");
    }
}
