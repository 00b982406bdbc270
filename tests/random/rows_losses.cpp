// Losses, but for cross_entropy's kernel, which is among the networks.
#include "rows.h"

namespace random_programs {
namespace {

// Operands: predictions (…, V), targets of their other axes, class weights.
bool classes(ProgramBuilder& d, Statement& s) {
    if (!ranked(d, s, 1)) return false;
    Shape shape = d.at(s.in[0]).shape();
    if (shape.numel() == 0) return false;
    const std::int64_t V = shape.back();
    shape.erase(shape.rank() - 1);
    s.in.push_back(d.ids(shape, V));
    s.in.push_back(d.shaped({V}));
    return true;
}

}  // namespace

Rows loss_rows() {
    using enum Reduction;
    Rows rows;
    const std::pair<const char*, Reduction> reductions[] = {{"mean", mean}, {"sum", sum}, {"none", none}};
    for (const auto& [name, reduction] : reductions) {
        const std::string cpp = std::string("Reduction::") + name, in_torch = std::string("'") + name + "'";
        const Rows more = {
            {"nll_loss(Tensor, Tensor, Tensor, int64_t, Reduction)",
             "nll_loss(log_softmax($0, -1), $1, $2 * $2 + 0.5, -100, " + cpp + ")",
             "weighted_nll(torch.log_softmax($0, -1), $1, $2 * $2 + 0.5, 0, " + in_torch + ")", classes,
             [r = reduction](const Call& c) {
                 return nll_loss(log_softmax(c.x[0], -1), c.x[1], positive(c.x[2]), -100, r);
             }},
            {"cross_entropy(Tensor, Tensor, CrossEntropyOptions)",
             "cross_entropy($0, $1, {.weight = $2 * $2 + 0.5, .label_smoothing = 0.25, .reduction = " + cpp +
                 "})",
             "weighted_nll(torch.log_softmax($0, -1), $1, $2 * $2 + 0.5, 0.25, " + in_torch + ")", classes,
             [r = reduction](const Call& c) {
                 return cross_entropy(c.x[0], c.x[1],
                                      {.weight = positive(c.x[2]), .label_smoothing = 0.25, .reduction = r});
             }},
            {"binary_cross_entropy_with_logits(Tensor, Tensor, Reduction)",
             "binary_cross_entropy_with_logits($0, sigmoid($1), " + cpp + ")",
             "F.binary_cross_entropy_with_logits($0, torch.sigmoid($1), reduction=" + in_torch + ")",
             two_of_one_shape,
             [r = reduction](const Call& c) {
                 return binary_cross_entropy_with_logits(c.x[0], sigmoid(c.x[1]), r);
             }},
            {"binary_cross_entropy(Tensor, Tensor, Reduction)",
             "binary_cross_entropy(sigmoid(tanh($0)), sigmoid($1), " + cpp + ")",
             "binary_cross_entropy(torch.sigmoid(torch.tanh($0)), torch.sigmoid($1), " + in_torch + ")",
             two_of_one_shape,
             [r = reduction](const Call& c) {
                 return binary_cross_entropy(sigmoid(tanh(c.x[0])), sigmoid(c.x[1]), r);
             }},
            {"kl_div(Tensor, Tensor, Reduction, bool)", "kl_div($0, sigmoid($1), " + cpp + ")",
             "kl_div($0, torch.sigmoid($1), " + in_torch + ")", two_of_one_shape,
             [r = reduction](const Call& c) { return kl_div(c.x[0], sigmoid(c.x[1]), r); }},
            {"kl_div(Tensor, Tensor, Reduction, bool)", "kl_div($0, tanh($1), " + cpp + ", true)",
             "kl_div($0, torch.tanh($1), " + in_torch + ", True)", two_of_one_shape,
             [r = reduction](const Call& c) { return kl_div(c.x[0], tanh(c.x[1]), r, true); }},
            {"mse_loss(Tensor, Tensor, Reduction)", "mse_loss($0, $1, " + cpp + ")",
             "F.mse_loss($0, $1, reduction=" + in_torch + ")", two_of_one_shape,
             [r = reduction](const Call& c) { return mse_loss(c.x[0], c.x[1], r); }},
            {"l1_loss(Tensor, Tensor, Reduction)", "l1_loss($0, $1, " + cpp + ")",
             "F.l1_loss($0, $1, reduction=" + in_torch + ")", two_of_one_shape,
             [r = reduction](const Call& c) { return l1_loss(c.x[0], c.x[1], r); }},
            {"huber_loss(Tensor, Tensor, double, Reduction)", "huber_loss($0, $1, 0.7, " + cpp + ")",
             "F.huber_loss($0, $1, delta=0.7, reduction=" + in_torch + ")", two_of_one_shape,
             [r = reduction](const Call& c) { return huber_loss(c.x[0], c.x[1], 0.7, r); }},
            {"smooth_l1_loss(Tensor, Tensor, double, Reduction)", "smooth_l1_loss($0, $1, 0.7, " + cpp + ")",
             "F.smooth_l1_loss($0, $1, beta=0.7, reduction=" + in_torch + ")", two_of_one_shape,
             [r = reduction](const Call& c) { return smooth_l1_loss(c.x[0], c.x[1], 0.7, r); }},
        };
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

}  // namespace random_programs
