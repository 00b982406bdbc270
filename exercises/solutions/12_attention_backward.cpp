// Exercises of chapter 12: attention's gradients. In all of them y = p v, p = softmax(s), s = q kᵀ · scale.
//
//     make exercise N=12          tries what you wrote; make hint N=12 helps
//
// Our solutions. The tasks are numbered as on the page. T queries, S keys; true = blocked.
#include <cmath>

#include "exercise.h"

// 1. Predict. Three tokens under a causal mask, and a gradient of 7 at every output. What is the largest
// absolute value in the gradient of the first query? Read the function, write the number down, and only then
// run it.
inline double gradient_of_first_query() {
    Rng rng(1);
    const Tensor q = randn({3, 2}, rng, float64).requires_grad_(), k = randn({3, 2}, rng, float64),
                 v = randn({3, 2}, rng, float64);
    scaled_dot_product_attention(q, k, v, {.mask = Mask::causal()}).backward(full({3, 2}, 7, float64));
    return max(abs(q.grad()[0])).item();
}
double prediction_of_first_query() { return 0; }

// 2. Predict, likewise. Four queries, of which the last may attend to nothing, three keys with values of width
// 1, and a gradient of 1 at every output. What do the gradients of the three values sum to?
inline double gradients_of_values() {
    Rng rng(2);
    const Tensor q = randn({4, 2}, rng, float64), k = randn({3, 2}, rng, float64),
                 v = randn({3, 1}, rng, float64).requires_grad_();
    const Mask mask = Mask::blocked(tensor({{0, 0, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}}, boolean));
    scaled_dot_product_attention(q, k, v, {.mask = mask}).backward(ones({4, 1}, float64));
    return sum(v.grad()).item();
}
double prediction_of_values() { return 3; }

// 3. Mend. The gradient of the scores, from the weights p = softmax(s) and their gradient dp, (T, S) both.
Tensor gradient_of_scores(const Tensor& p, const Tensor& dp) {
    return p * (dp - sum(p * dp, -1, keepdim));  // (T, S)
}

struct Gradients {
    Tensor dq, dk, dv;  // (T, d_k), (S, d_k), (S, d_v)
};

// 4. Write. The three gradients of y, from dy (T, d_v); q (T, d_k), k (S, d_k), v (S, d_v), blocked bool
// (T, S), which may block whole rows. Without backward or grad.
Gradients attention_gradients(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& blocked,
                              double scale, const Tensor& dy) {
    const Tensor p = softmax(masked_fill(matmul(q, k.T()) * scale, blocked, -INFINITY), -1);  // (T, S)
    const Tensor ds = gradient_of_scores(p, matmul(dy, v.T()));                               // (T, S)
    return {matmul(ds, k) * scale, matmul(ds.T(), q) * scale, matmul(p.T(), dy)};
}

struct BlockGradients {
    Tensor dk, dv;  // (n, d_k), (n, d_v)
};

// 5. Write. dk and dv of n of the S keys, without the others: k (n, d_k), v (n, d_v), blocked bool (T, n). From
// forward there are y (T, d_v) and lse (T, 1), the ln Σ eˢ of each row over all S keys, −∞ where it is blocked
// as a whole. q (T, d_k), dy (T, d_v).
BlockGradients gradients_of_block(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& blocked,
                                  const Tensor& y, const Tensor& lse, double scale, const Tensor& dy) {
    const Tensor D = sum(dy * y, -1, keepdim);                                        // (T, 1)
    const Tensor p = masked_fill(exp(matmul(q, k.T()) * scale - lse), blocked, 0.0);  // (T, n)
    const Tensor ds = p * (matmul(dy, v.T()) - D);                                    // (T, n)
    return {matmul(ds.T(), q) * scale, matmul(p.T(), dy)};
}

// 6. Write. The gradient of the scale, as if it were a parameter: one number. No mask. q (T, d_k), k (S, d_k),
// v (S, d_v), dy (T, d_v). Without backward or grad.
double gradient_of_scale(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const Tensor& dy) {
    const Tensor dots = matmul(q, k.T()), p = softmax(dots * scale, -1);  // (T, S) each
    return sum(gradient_of_scores(p, matmul(dy, v.T())) * dots).item();
}

// 7. Paper. One query with the weights 1/2, 1/4 and 1/4 on the keys (2, 0), (0, 4) and (4, 4), which have the
// values 3, 1 and 7. The gradient of its output is 2, the scale is 1. Enter D, the gradients of the three
// scores, and the two numbers of dq.
std::vector<double> row_on_paper() { return {7, -0.5, -1.25, 1.75, 6, 2}; }
