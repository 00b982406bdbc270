// The arithmetic of each rule on raw memory: n elements of one parameter, gradient and moments, all contiguous.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/nn/optim.h"

namespace weft::optim {

// What a rule keeps for each parameter, by PyTorch's names.
std::vector<const char*> moment_names(const SGDOptions& options);
std::vector<const char*> moment_names(const AdamOptions& options);
std::vector<const char*> moment_names(const AdamWOptions& options);

// ValueError unless the options make sense.
void check(const SGDOptions& options);
void check(const AdamOptions& options);
void check(const AdamWOptions& options);

// One update of p by g: the t-th (t ≥ 1) of this parameter, with its own weight decay. T is float or double.
template <class T>
void update(T* p, const T* g, const std::vector<T*>& moments, std::int64_t n, std::int64_t t,
            double weight_decay, const SGDOptions& options);
template <class T>
void update(T* p, const T* g, const std::vector<T*>& moments, std::int64_t n, std::int64_t t,
            double weight_decay, const AdamOptions& options);
template <class T>
void update(T* p, const T* g, const std::vector<T*>& moments, std::int64_t n, std::int64_t t,
            double weight_decay, const AdamWOptions& options);

// ValueError, naming `what`, unless the value is finite and at least 0.
void check_rate(double value, const char* what);

}  // namespace weft::optim
