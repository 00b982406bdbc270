// SGD, Adam and AdamW.
#include <cmath>

#include "weft/core/threads.h"
#include "weft/core/visit.h"
#include "weft/optim/norms.h"
#include "weft/optim/optimizer.h"

namespace weft::optim {

void check_rate(double value, const char* what) {
    if (!(value >= 0) || !std::isfinite(value))
        throw ValueError("optimiser: ", what, " must be finite and at least 0, not ", value);
}

void check_beta(double value, const char* what) {
    if (!(value >= 0 && value < 1))
        throw ValueError("optimiser: ", what, " must be at least 0 and below 1, not ", value);
}

namespace {

template <class Options>
void check_adam(const Options& options) {
    check_rate(options.lr, "lr");
    check_rate(options.eps, "eps");
    check_rate(options.weight_decay, "weight_decay");
    check_beta(options.beta1, "beta1");
    check_beta(options.beta2, "beta2");
}

// Calls f(parameter, gradient, begin, end), with pointers to the parameter's type, for blocks of elements in
// parallel.
template <class F>
void on_elements(const Update& u, const F& f) {
    parallel_for(u.parameter.numel(), block, [&](std::int64_t begin, std::int64_t end) {
        visit_floating(u.parameter.dtype(),
                       [&]<class T>(T) { f(u.parameter.data<T>(), u.gradient.data<T>(), begin, end); });
    });
}

// Adam (decoupled = false) adds weight_decay·p to the gradient; AdamW shrinks p first.
template <bool decoupled, class Options>
void update_adam(const Update& u, const Options& options) {
    on_elements(u, [&]<class T>(T* p, const T* g, std::int64_t begin, std::int64_t end) {
        T *m = u.moments[0].data<T>(), *v = u.moments[1].data<T>();
        const double correction1 = 1 - std::pow(options.beta1, static_cast<double>(u.t));
        const double correction2 = 1 - std::pow(options.beta2, static_cast<double>(u.t));
        const T step_size = static_cast<T>(options.lr / correction1);
        const T root_correction2 = static_cast<T>(std::sqrt(correction2));
        const T shrink = static_cast<T>(1 - options.lr * options.weight_decay),
                decay = static_cast<T>(options.weight_decay);
        const T rest1 = static_cast<T>(1 - options.beta1);
        const T beta2 = static_cast<T>(options.beta2), rest2 = static_cast<T>(1 - options.beta2);
        const T eps = static_cast<T>(options.eps);
        for (std::int64_t i = begin; i < end; ++i) {
            const T x = decoupled ? p[i] * shrink : p[i];
            const T gradient = decoupled ? g[i] : g[i] + decay * x;
            m[i] += rest1 * (gradient - m[i]);
            v[i] = beta2 * v[i] + rest2 * gradient * gradient;
            p[i] = x - step_size * m[i] / (std::sqrt(v[i]) / root_correction2 + eps);
        }
    });
}

}  // namespace

std::vector<const char*> moment_names(const SGDOptions& options) {
    if (options.momentum == 0) return {};
    return {"momentum_buffer"};
}
std::vector<const char*> moment_names(const AdamOptions&) { return {"exp_avg", "exp_avg_sq"}; }
std::vector<const char*> moment_names(const AdamWOptions&) { return {"exp_avg", "exp_avg_sq"}; }

void check(const SGDOptions& options) {
    check_rate(options.lr, "lr");
    check_rate(options.momentum, "momentum");
    check_rate(options.weight_decay, "weight_decay");
    if (options.nesterov && options.momentum == 0)
        throw ValueError("SGD: Nesterov's momentum needs a momentum above 0");
}
void check(const AdamOptions& options) { check_adam(options); }
void check(const AdamWOptions& options) { check_adam(options); }

void update(const Update& u, const SGDOptions& options) {
    on_elements(u, [&]<class T>(T* p, const T* g, std::int64_t begin, std::int64_t end) {
        const T lr = static_cast<T>(options.lr), decay = static_cast<T>(options.weight_decay);
        if (u.moments.empty()) {
            for (std::int64_t i = begin; i < end; ++i) p[i] -= lr * (g[i] + decay * p[i]);
            return;
        }
        T* b = u.moments[0].data<T>();
        const T momentum = static_cast<T>(options.momentum);
        for (std::int64_t i = begin; i < end; ++i) {
            const T gradient = g[i] + decay * p[i];
            b[i] = momentum * b[i] + gradient;  // initially b = 0
            p[i] -= lr * (options.nesterov ? gradient + momentum * b[i] : b[i]);
        }
    });
}
void update(const Update& u, const AdamOptions& options) { update_adam<false>(u, options); }
void update(const Update& u, const AdamWOptions& options) { update_adam<true>(u, options); }

}  // namespace weft::optim
