// Golden files (made by make_golden.py) and how results are compared with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/packed/packed.h"  // same_bits

// The arrays of one golden file, by name.
class Golden {
public:
    explicit Golden(const std::string& file);  // "ops.safetensors", in this folder
    bool has(const std::string& name) const;
    weft::Tensor operator()(const std::string& name) const;  // Error when there is none
    std::vector<std::string> names() const;

private:
    std::map<std::string, weft::Tensor> tensors_;
};

// The largest |found − expected| over max(largest finite |expected|, floor); infinite where the shapes differ
// or where one is NaN or infinite and the other is not the same. Types may differ: both are compared as
// float64.
double distance(const weft::Tensor& found, const weft::Tensor& expected, double floor = 1e-3);

// The same values as x in memory with gaps (that hold NaN, or the opposite), so that no axis has its usual
// stride.
weft::Tensor strided_copy(const weft::Tensor& x);
