#include "growth.h"

namespace {

using namespace growth;

// An operation with its gradient, over n elements.
Case elements(const char* name, Tensor (*f)(const Tensor&), std::int64_t n = 4000) {
    return {
        name, n, [f](auto size) {
            const Tensor x =
                (linspace(1, 2, size, float64) * 1e4 - floor(linspace(1, 2, size, float64) * 1e4)).detach() +
                0.5;
            return [f, x] {
                const Tensor leaf = x.detach().requires_grad_();
                const Tensor y = f(leaf);
                if (y.requires_grad()) sum(y).backward();
            };
        }};
}

// A list of n tensors.
Case list(const char* name, void (*f)(const std::vector<Tensor>&), std::int64_t n = 500) {
    return {name, n, [f](auto size) {
                std::vector<Tensor> all;
                for (std::int64_t i = 0; i < size; ++i) all.push_back(ones({2}));
                return [f, all] { f(all); };
            }};
}

Tensor ids_of(const Tensor& x) { return (x.detach() * 1e4).to(int64); }

}  // namespace

std::vector<growth::Case> growth::tensors() {
    std::vector<Case> cases = {
        elements("cumsum", [](const Tensor& x) { return cumsum(x, 0); }),
        // Factors near 1: an element of a product that has left the range of the type costs more.
        elements("cumprod", [](const Tensor& x) { return cumprod(1 + 1e-4 * x, 0); }),
        elements("prod", [](const Tensor& x) { return prod(1 + 1e-4 * x); }),
        elements("sort", [](const Tensor& x) { return sort(x).values; }),
        elements("topk", [](const Tensor& x) { return topk(x, x.numel() / 2).values; }),
        elements("max", [](const Tensor& x) { return max(x); }),
        elements("softmax", [](const Tensor& x) { return softmax(x, 0); }),
        elements("logsumexp", [](const Tensor& x) { return logsumexp(x); }),
        elements("var", [](const Tensor& x) { return var(x); }),
        elements("norm", [](const Tensor& x) { return norm(x, 3); }),
        elements("flip, roll and pad",
                 [](const Tensor& x) {
                     return pad(roll(flip(x, 0), 3, 0), {2, 3});
                 }),
        elements("repeat", [](const Tensor& x) { return repeat(x, {3}); }),
        elements("index_select", [](const Tensor& x) { return index_select(x, 0, argsort(x)); }),
        elements("gather", [](const Tensor& x) { return gather(x, 0, argsort(x)); }),
        elements("scatter_add", [](const Tensor& x) { return scatter_add(x.shape(), 0, argsort(x), x); }),
        elements("scatter", [](const Tensor& x) { return scatter(x, 0, argsort(x), x); }),
        elements("unique", [](const Tensor& x) { return unique(x).values; }),
        elements("repeat_interleave", [](const Tensor& x) { return repeat_interleave(x, argsort(x) * 0 + 1); }),
        elements("embedding of ids",
                 [](const Tensor& x) {
                     return embedding(x.reshape({-1, 1}), argsort(x));
                 }),
        elements("masked_select", [](const Tensor& x) { return masked_select(x, x > 1); }),
        elements("nonzero", [](const Tensor& x) { return nonzero(x > 1); }),
        elements("one_hot", [](const Tensor& x) { return one_hot(ids_of(x) * 0 + 1, 3); }),
        elements("where", [](const Tensor& x) { return where(x > 1, x, -x); }),
        elements("dot by einsum",
                 [](const Tensor& x) {
                     return einsum("i,i->", {x, x});
                 }),
        elements("cross_entropy",
                 [](const Tensor& x) {
                     return cross_entropy(x.reshape({-1, 5}),
                                          ids_of(x.reshape({-1, 5})[0][0]).expand({x.numel() / 5}) * 0);
                 }),
        elements("layer_norm",
                 [](const Tensor& x) {
                     return layer_norm(x.reshape({-1, 4}), ones({4}, float64));
                 }),
        elements("dropout",
                 [](const Tensor& x) {
                     Rng rng(1);
                     return dropout(x, 0.5, rng);
                 }),
        elements("from_vector and to_vector",
                 [](const Tensor& x) { return from_vector(x.to_vector<double>()); }),
        elements("x[ids]", [](const Tensor& x) { return x[argsort(x)]; }),
        elements("masked_fill", [](const Tensor& x) { return masked_fill(x, x > 1, 0); }),
        elements("unfold",
                 [](const Tensor& x) {
                     return unfold(x.reshape({1, 1, 1, -1}), {.kernel_width = 3});
                 }),
        elements("max_pool2d",
                 [](const Tensor& x) {
                     return max_pool2d(x.reshape({1, 1, 1, -1}), {.kernel_width = 2, .stride = 1});
                 }),
        list("stack", [](const std::vector<Tensor>& all) { (void)stack(all); }),
        list("vstack and hstack", [](const std::vector<Tensor>& all) { (void)vstack(all), (void)hstack(all); }),
        list("cat", [](const std::vector<Tensor>& all) { (void)cat(all); }),
        list("numbered", [](const std::vector<Tensor>& all) { (void)optim::numbered(all); }),
    };
    const std::vector<Case> others = {
        {"multinomial", 1000, [](auto n) { return [n, x = ones({n})] { (void)multinomial(x, n); }; }},
        {"multinomial: with replacement", 1000,
         [](auto n) { return [n, x = ones({n})] { (void)multinomial(x, n, default_rng(), true); }; }},
        {"categorical", 20000,
         [](auto n) {
             return [weights = std::vector<double>(static_cast<std::size_t>(n), 1)] {
                 (void)Rng(1).categorical(weights);
             };
         }},
        {"randperm", 10000, [](auto n) { return [n] { (void)randperm(n); }; }},
        {"rand, randn", 10000, [](auto n) { return [n] { (void)(rand({n}) + randn({n})); }; }},
        {"str", 250, [](auto n) { return [x = ones({n})] { (void)x.str(); }; }},
        {"tensor of nested lists", 5000,
         [](auto n) {
             Nested rows = {{1.0, 2}};
             rows.items.resize(static_cast<std::size_t>(n), rows.items[0]);
             return [rows] { (void)tensor(rows); };
         }},
        {"Mask: padding", 500,
         [](auto n) {
             return [n] {
                 (void)Mask::padding(std::vector<std::int64_t>(static_cast<std::size_t>(n), 2))
                     .materialize(n, 1, 2, 3);
             };
         }},
        {"Mask: parts", 100,
         [](auto n) {
             Mask mask;
             for (std::int64_t i = 0; i < n; ++i) mask = mask | Mask::blocked(ones({2, 2}) > 1);
             return [mask] { (void)(mask | mask).materialize(1, 1, 2, 2); };
         }},
        {"KeyValueCache: tokens", 200,
         [](auto n) {
             return [n, x = ones({1, 1, 1, 2})] {
                 nn::KeyValueCache cache;
                 for (std::int64_t i = 0; i < n; ++i) (void)cache.append(x, x);
             };
         }},
    };
    cases.insert(cases.end(), others.begin(), others.end());
    return cases;
}
