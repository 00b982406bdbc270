#include <cmath>

#include "rows.h"

namespace random_programs {
namespace {

bool pair_of_bools(ProgramBuilder& d, Statement& s) {
    s.in = {d.any([](const Tensor& x) { return x.dtype() == boolean; })};
    if (s.in[0] < 0) s.in[0] = d.bools({d.size(), d.size()});
    s.in.push_back(d.bools(d.at(s.in[0]).shape()));
    return true;
}

bool comparable(ProgramBuilder& d, Statement& s) {
    if (d.coin(0.8)) return two(d, s);
    s.in = {d.ids({d.size(), d.size()}, 4)};
    s.in.push_back(d.ids(d.at(s.in[0]).shape(), 4));
    return true;
}

bool moderate(ProgramBuilder& d, Statement& s) {  // for exp
    s.in = {d.any([](const Tensor& x) {
        const NoGrad off;
        return is_floating_point(x.dtype()) && x.numel() > 0 && max(abs(x)).item() < 2.5;
    })};
    return s.in[0] >= 0;
}

}  // namespace

Rows elementwise_rows() {
    Rows rows = {
        {"operator+(Tensor, Tensor)", "$0 + $1", "", two, [](const Call& c) { return c.x[0] + c.x[1]; }},
        {"operator-(Tensor, Tensor)", "$0 - $1", "", two, [](const Call& c) { return c.x[0] - c.x[1]; }},
        {"operator*(Tensor, Tensor)", "$0 * $1", "", two, [](const Call& c) { return c.x[0] * c.x[1]; }},
        {"operator/(Tensor, Tensor)", "$0 / ($1 * $1 + 0.5)", "", two,
         [](const Call& c) { return c.x[0] / positive(c.x[1]); }},
        {"operator+(Tensor, double)", "$0 + #0", "", with_number,
         [](const Call& c) { return c.x[0] + c.n[0]; }},
        {"operator-(Tensor, double)", "$0 - (#0)", "", with_number,
         [](const Call& c) { return c.x[0] - c.n[0]; }},
        {"operator*(Tensor, double)", "$0 * #0", "", with_number,
         [](const Call& c) { return c.x[0] * c.n[0]; }},
        {"operator/(Tensor, double)", "$0 / #0", "", with_number,
         [](const Call& c) { return c.x[0] / c.n[0]; }},
        {"operator+(double, Tensor)", "#0 + $0", "", with_number,
         [](const Call& c) { return c.n[0] + c.x[0]; }},
        {"operator-(double, Tensor)", "#0 - $0", "", with_number,
         [](const Call& c) { return c.n[0] - c.x[0]; }},
        {"operator*(double, Tensor)", "#0 * $0", "", with_number,
         [](const Call& c) { return c.n[0] * c.x[0]; }},
        {"operator/(double, Tensor)", "#0 / ($0 * $0 + 0.5)", "", with_number,
         [](const Call& c) { return c.n[0] / positive(c.x[0]); }},
        {"operator-(Tensor)", "-$0", "", one, [](const Call& c) { return -c.x[0]; }},
        {"pow(Tensor, double)", "pow($0, #0)", "torch.pow($0, #0)",
         [](ProgramBuilder& d, Statement& s) {
             s.numbers = {d.one_of({0.0, 1.0, 2.0, 3.0})};
             return one(d, s);
         },
         [](const Call& c) { return pow(c.x[0], c.n[0]); }},
        {"pow(Tensor, double)", "pow($0 * $0 + 0.5, #0)", "torch.pow($0 * $0 + 0.5, #0)", with_number,
         [](const Call& c) { return pow(positive(c.x[0]), c.n[0]); }},
        {"pow(Tensor, Tensor)", "pow($0 * $0 + 0.5, $1)", "torch.exp($1 * torch.log($0 * $0 + 0.5))", two,
         [](const Call& c) { return pow(positive(c.x[0]), c.x[1]); }},
        {"exp(Tensor)", "exp($0)", "torch.exp($0)", moderate, [](const Call& c) { return exp(c.x[0]); }},
        {"log(Tensor)", "log($0 * $0 + 0.5)", "torch.log($0 * $0 + 0.5)", one,
         [](const Call& c) { return log(positive(c.x[0])); }},
        {"sqrt(Tensor)", "sqrt($0 * $0 + 0.5)", "torch.sqrt($0 * $0 + 0.5)", one,
         [](const Call& c) { return sqrt(positive(c.x[0])); }},
        {"gelu(Tensor, Gelu)", "gelu($0)", "F.gelu($0)", one, [](const Call& c) { return gelu(c.x[0]); },
         fused},
        {"gelu(Tensor, Gelu)", "gelu($0, Gelu::tanh)", "F.gelu($0, approximate='tanh')", one,
         [](const Call& c) { return gelu(c.x[0], Gelu::tanh); }, fused},
        {"clamp(Tensor, optional<double>, optional<double>)", "clamp($0, #0, #1)", "torch.clamp($0, #0, #1)",
         [](ProgramBuilder& d, Statement& s) {
             s.numbers = {-d.rng.uniform(), d.rng.uniform()};
             return one(d, s);
         },
         [](const Call& c) { return clamp(c.x[0], c.n[0], c.n[1]); }},
        {"where(Tensor, Tensor, Tensor)", "where($0, $1, $2)", "torch.where($0, $1, $2)",
         [](ProgramBuilder& d, Statement& s) {
             if (!two(d, s)) return false;
             s.in.insert(s.in.begin(), d.bools(d.at(s.in[d.coin(0.5)]).shape()));
             return true;
         },
         [](const Call& c) { return where(c.x[0], c.x[1], c.x[2]); }},
        {"masked_fill(Tensor, Tensor, double)", "masked_fill($0, $1, #0)", "$0.masked_fill($1, #0)",
         [](ProgramBuilder& d, Statement& s) {
             if (!with_number(d, s)) return false;
             s.in.push_back(d.bools(d.at(s.in[0]).shape()));
             return true;
         },
         [](const Call& c) { return masked_fill(c.x[0], c.x[1], c.n[0]); }},
        {"operator||(Tensor, Tensor)", "$0 || $1", "$0 | $1", pair_of_bools,
         [](const Call& c) { return c.x[0] || c.x[1]; }, rare},
        {"operator&&(Tensor, Tensor)", "$0 && $1", "$0 & $1", pair_of_bools,
         [](const Call& c) { return c.x[0] && c.x[1]; }, rare},
        {"operator!(Tensor)", "!$0", "~$0",
         [](ProgramBuilder& d, Statement& s) {
             s.in = {d.bools({d.size(), d.size()})};
             return true;
         },
         [](const Call& c) { return !c.x[0]; }, rare},
        {"all(Tensor)", "full({}, all($0 > 0), boolean)", "torch.all($0 > 0)", one,
         [](const Call& c) { return full({}, all(c.x[0] > 0), boolean); }, rare | constant},
        {"any(Tensor)", "full({}, any($0 > 0), boolean)", "torch.any($0 > 0)", one,
         [](const Call& c) { return full({}, any(c.x[0] > 0), boolean); }, rare | constant},
    };
    const std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)> comparisons[] = {
        {"==", operator== },
         {"!=", operator!= }, {"<", operator<}, {"<=", operator<= }, {">", operator> }, {">=", operator>= } };
    const std::pair<const char*, Tensor (*)(const Tensor&, double)> with_numbers[] = {
        {"==", operator== },
         {"!=", operator!= }, {"<", operator<}, {"<=", operator<= }, {">", operator> }, {">=", operator>= } };
    for (const auto& [sign, f] : comparisons)
        rows.push_back({std::string("operator") + sign + "(Tensor, Tensor)", std::string("$0 ") + sign + " $1",
                        "", comparable, [f = f](const Call& c) { return f(c.x[0], c.x[1]); }, rare | constant});
    for (const auto& [sign, f] : with_numbers)
        rows.push_back({std::string("operator") + sign + "(Tensor, double)", std::string("$0 ") + sign + " #0",
                        "", with_number, [f = f](const Call& c) { return f(c.x[0], c.n[0]); },
                        rare | constant});
    return rows;
}

}  // namespace random_programs
