#include "viz/ticks.h"

#include <algorithm>
#include <cmath>

#include "viz/shapes.h"

namespace weft::viz {
namespace {

double times_ten_to(double value, int exponent) {  // rounded once, as a literal is
    return exponent < 0 ? value / std::pow(10.0, -exponent) : value * std::pow(10.0, exponent);
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, double most) {
    const double wanted = (high - low) / std::max(most, 1.0);
    int exponent = static_cast<int>(std::floor(std::log10(wanted)));
    int factor = 1;
    for (const int next : {2, 5, 10})
        if (times_ten_to(factor, exponent) < wanted * (1 - 1e-9)) factor = next;
    if (factor == 10) factor = 1, ++exponent;

    const double step = times_ten_to(factor, exponent), slack = 1e-9 * (high - low);
    const double first = std::ceil((low - slack) / step), last = std::floor((high + slack) / step);
    const double largest = std::max(std::abs(low), std::abs(high));
    const int shared = static_cast<int>(std::floor(std::log10(largest)));  // in 2·10⁶, the 6
    const bool plain = largest < 1e6 && exponent >= -4;
    const int decimals = plain ? std::max(0, -exponent) : std::clamp(shared - exponent, 0, 15);

    std::vector<Tick> ticks;
    for (double i = first; i <= last && ticks.size() < 1000; ++i) {
        const double value = times_ten_to(i * factor, exponent);
        std::string label = "0";
        if (plain)
            label = fixed_number(value, decimals);
        else if (i != 0)
            label = fixed_number(times_ten_to(value, -shared), decimals) + "·" + power_of_ten(shared);
        ticks.push_back({value, label});
    }
    return ticks;
}

std::vector<Tick> logarithmic_ticks(double low, double high, double most) {
    const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
    const int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
    const auto within = [&](double value) {
        return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) && std::isfinite(value);
    };
    std::vector<Tick> ticks;
    int decades = 0;
    for (int e = first; e <= last; ++e) decades += within(times_ten_to(1, e));
    if (decades >= 3) {
        const int stride = std::max(1, static_cast<int>(std::ceil(decades / std::max(most, 1.0))));
        for (int e = first; e <= last; ++e) {
            const bool labelled = ((e % stride) + stride) % stride == 0;
            if (within(times_ten_to(1, e)))
                ticks.push_back({times_ten_to(1, e), !labelled ? ""
                                                     : e == 0  ? "1"
                                                     : e == 1  ? "10"
                                                               : power_of_ten(e)});
            for (int factor = 2; factor <= 9 && stride == 1; ++factor)
                if (within(times_ten_to(factor, e))) ticks.push_back({times_ten_to(factor, e), ""});
        }
        return ticks;
    }
    for (int e = first; e <= last; ++e)
        for (const int factor : {1, 2, 5})
            if (const double value = times_ten_to(factor, e); within(value))
                ticks.push_back({value, figure_number(value, 6)});
    return ticks.size() >= 2 ? ticks : linear_ticks(low, high, most);
}

}  // namespace weft::viz
