#include "weft/nn/conv2d.h"

#include <cmath>

#include "nn/parts.h"
#include "weft/nn/init.h"

namespace weft::nn {

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Rng& rng,
               const Conv2dOptions& o)
    : Module("Conv2d"), options{o.stride, o.padding, o.dilation, checked_size(o.groups, "Conv2d: groups")} {
    const std::int64_t in = checked_size(in_channels, "Conv2d: in_channels") / o.groups,
                       out = checked_size(out_channels, "Conv2d: out_channels"),
                       k = checked_size(kernel_size, "Conv2d: kernel_size");
    if (in_channels % o.groups != 0 || out % o.groups != 0)
        throw ValueError("Conv2d: ", o.groups, " groups do not divide ", in_channels, " and ", out,
                         " channels; both must be multiples");
    const double bound = 1 / (static_cast<double>(k) * std::sqrt(static_cast<double>(in)));
    weight = register_parameter("weight", uniform({out, in, k, k}, -bound, bound, rng));
    if (o.bias) bias = register_parameter("bias", uniform({out}, -bound, bound, rng));
}

}  // namespace weft::nn
