// A program as C++ that can be pasted into a test, and as Python for PyTorch; and a smaller one that still
// fails.
#include <algorithm>
#include <charconv>
#include <regex>

#include "program.h"

namespace random_programs {

std::string number(double value) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}
std::string r(int i) { return "r" + std::to_string(i); }

namespace {

std::string filled(const std::string& pattern, const Statement& s, int self, bool python) {
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '@') {
            text += std::to_string(self);
        } else if (c == '$' || c == '#') {
            const auto at = static_cast<std::size_t>(pattern[++i] - '0');
            const bool list = i + 1 < pattern.size() && pattern[i + 1] == '*',
                       truth = i + 1 < pattern.size() && pattern[i + 1] == 'b';
            const std::size_t n = c == '$' ? s.in.size() : s.numbers.size(), last = list ? n : at + 1;
            for (std::size_t k = at; k < last; ++k)
                text += (k > at ? ", " : "") +
                        (c == '$' ? r(s.in[k])
                         : truth  ? std::string(s.numbers[k] != 0 ? (python ? "True" : "true")
                                                                  : (python ? "False" : "false"))
                                  : number(s.numbers[k]));
            i += list || truth;
        } else {
            text += c;
        }
    }
    return text;
}

std::string text_of(const Program& program, std::size_t i, bool python) {
    const Statement& s = program.statements[i];
    const Row& row = row_of(s);
    if (row.text && !(python && row.cpp == "made"))
        return std::regex_replace(row.text(s, python), std::regex("@"), std::to_string(i));
    return filled(python && !row.python.empty() ? row.python : row.cpp, s, static_cast<int>(i), python);
}

std::string list_of(const std::vector<int>& registers) {
    std::string text;
    for (const int i : registers) text += (text.empty() ? "" : ", ") + r(i);
    return text;
}

}  // namespace

std::string as_cpp(const Program& program) {
    // What the text calls, as the rows do it. In a test: #include "weft/weft.h" and "core/array/array.h".
    std::string text = "// seed " + std::to_string(program.seed) + "\n" +
                       "const DType type = " + name(program.dtype) + ";\n" +
                       R"(const auto drawn = [](auto seed) { return Rng(static_cast<std::uint64_t>(seed)); };
const auto leaf = [&](const Shape& shape, auto seed, bool wanted) {
    Rng rng = drawn(seed);
    return (rand(shape, rng, float64) * 2 - 1).to(type).requires_grad_(wanted);
};
const auto ids = [&](const Shape& shape, auto seed, auto low, auto high) {
    Rng rng = drawn(seed);
    return randint(low, high, shape, rng);
};
const auto bools = [&](const Shape& shape, auto seed) {
    Rng rng = drawn(seed);
    return rand(shape, rng) < rng.uniform();
};
const auto dropped = [&](const Tensor& x, auto seed) {
    Rng rng = drawn(seed);
    return dropout(x, 0.3, rng);
};
const auto changed = [](Tensor x, auto change) {
    const NoGrad off;
    change(x);
    return x;
};
const auto blob = [&](const Shape& shape, auto seed, bool turned, bool wanted) {
    const Tensor x = leaf(shape, seed, false);
    Strides strides = x.strides();
    if (turned && shape.rank() == 2) strides = {1, shape[0]};
    return from_blob(x.array().storage->data, shape, strides, [x](void*) {}, type).requires_grad_(wanted);
};
const auto random = [&](const Shape& shape, auto seed, bool uniform, bool wanted) {
    manual_seed(static_cast<std::uint64_t>(seed));
    return (uniform ? rand(shape, float64) : tanh(randn(shape, float64))).to(type).requires_grad_(wanted);
};
const auto renewed = [](Tensor x, const Tensor& values) { return x.set_data(values); };
const auto with_grad = [](Tensor x, const Tensor& g) { return x.set_grad(g), x; };
const auto without_grad = [](Tensor x) { return x.zero_grad(), x; };
const auto backward = [](Tensor x, const Tensor& y) { return sum(y).backward({}, true), x; };
const auto requires_grad = [](Tensor x, bool wanted) { return x.requires_grad_(wanted); };
const auto stepped = [](Tensor x, const Tensor& y, int rule) {
    x.set_grad(grad({sum(y)}, {x}, {}, {.retain_graph = true})[0]);
    const auto twice = [](auto optimizer) { optimizer.step(), optimizer.step(); };
    if (rule == 0) twice(optim::SGD(std::vector{x}, {.lr = 0.1}));
    if (rule == 1)
        twice(optim::SGD(std::vector{x}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true}));
    if (rule == 2) twice(optim::Adam(std::vector{x}, {.lr = 0.1, .eps = 0.1}));
    if (rule == 3) twice(optim::AdamW(std::vector{x}, {.lr = 0.1, .eps = 0.1}));
    return x;
};
struct Made {
    std::function<Tensor(const Tensor&, std::uint64_t)> call;
    std::vector<Tensor> parameters;
    Tensor operator()(int, const Tensor& x, std::uint64_t seed) const { return call(x, seed); }
    Tensor parameter(int i) const { return parameters[static_cast<std::size_t>(i)]; }
};
const auto made = [&](auto seed, auto make) {
    Rng rng = drawn(seed);
    auto module = make(rng);
    module.to(type);
    return Made{[module](const Tensor& x, std::uint64_t seed) mutable {
                    module.train(seed != 0);
                    for (const auto& [name, generator] : module.named_generators()) *generator = Rng(seed);
                    return module(x);
                },
                module.parameters()};
};
(void)leaf, (void)ids, (void)bools, (void)dropped, (void)changed, (void)made, (void)blob, (void)random;
(void)renewed, (void)with_grad, (void)without_grad, (void)backward, (void)requires_grad, (void)stepped;
)";
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
        const Statement& s = program.statements[i];
        std::string value = text_of(program, i, false);
        if (s.no_grad || s.island)
            value = std::string("[&] { const NoGrad off; ") + (s.island ? "const EnableGrad on; " : "") +
                    "return Tensor(" + value + "); }()";
        text += (row_of(s).cpp == "made" ? "const Made " : "Tensor ") + r(static_cast<int>(i)) + " = " + value +
                ";\n";
        if (s.hook != 0)
            text += r(static_cast<int>(i)) + ".register_hook([](const Tensor& g) { return " + number(s.hook) +
                    " * g; });\n";
    }
    text += "std::vector<Tensor> outputs{" + list_of(program.outputs) + "}, targets{" +
            list_of(program.targets) + "}, seeds;\n";
    text += "Rng rng(" + std::to_string(program.seed * 8 + 1) +
            ");\nfor (const Tensor& y : outputs) seeds.push_back(randn(y.shape(), rng, float64).to(type));\n";
    return text + "const auto gradients = grad(outputs, targets, seeds, {.allow_unused = true});\n";
}

std::vector<std::string> as_python(const Program& program) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
        const Statement& s = program.statements[i];
        const std::string self = r(static_cast<int>(i)), line = self + " = " + text_of(program, i, true);
        const bool off = s.no_grad || (row_of(s).flags & in_place);
        lines.push_back(off        ? "with torch.no_grad(): " + line
                        : s.island ? "with torch.no_grad(), torch.enable_grad(): " + line
                                   : line);
        if (s.hook != 0)
            lines.push_back("if " + self + ".requires_grad: " + self + ".register_hook(lambda g: g * " +
                            number(s.hook) + ")");
    }
    return lines;
}

namespace {

// Without statement i, on which nothing depends; the others move up.
Program without(const Program& program, int i) {
    Program smaller = program;
    smaller.statements.erase(smaller.statements.begin() + i);
    const auto move = [i](std::vector<int>& list) {
        std::erase(list, i);
        for (int& k : list) k -= k > i;
    };
    for (Statement& s : smaller.statements) move(s.in);
    move(smaller.outputs), move(smaller.targets);
    return smaller;
}

bool is_used(const Program& program, int i) {
    return std::any_of(program.statements.begin(), program.statements.end(), [&](const Statement& s) {
        return std::find(s.in.begin(), s.in.end(), i) != s.in.end();
    });
}

// A leaf of the same shape and kind in place of a statement.
Statement stand_in(const Tensor& x, double seed) {
    Statement s;
    Numbers sizes(x.shape().begin(), x.shape().end());
    if (x.dtype() == boolean) {
        s = {row_called("bools"), {}, {seed}};
    } else if (x.dtype() == int64) {
        const double low = x.numel() == 0 ? 0 : min(x).item(), high = x.numel() == 0 ? 0 : max(x).item();
        s = {row_called("ids"), {}, {seed, low, high + 1}};
    } else {
        s = {row_called("leaf"), {}, {double(x.requires_grad()), seed}};
    }
    s.numbers.insert(s.numbers.end(), sizes.begin(), sizes.end());
    return s;
}

}  // namespace

Program minimised(const Program& program, const std::string& route) {
    Program best = program;
    Counts ignored;
    const auto fails = [&](const Program& p) { return compare(p, ignored).route == route; };
    const auto better = [&](const Program& p) {
        if (p.outputs.empty() || p.targets.empty() || !fails(p)) return false;
        best = p;
        return true;
    };
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (int i = 0; i < best.outputs[0]; ++i) {  // an earlier output may do
            Program p = best;
            p.outputs = {i};
            if (better(p)) {
                smaller = true;
                break;
            }
        }
        for (std::size_t k = 0; best.outputs.size() > 1 && k < best.outputs.size(); ++k) {
            Program p = best;
            p.outputs.erase(p.outputs.begin() + static_cast<std::ptrdiff_t>(k));
            smaller = better(p) || smaller;
        }
        for (std::size_t k = 0; best.targets.size() > 1 && k < best.targets.size(); ++k) {
            Program p = best;
            p.targets.erase(p.targets.begin() + static_cast<std::ptrdiff_t>(k));
            smaller = better(p) || smaller;
        }
        for (int i = static_cast<int>(best.statements.size()) - 1; i >= 0; --i) {
            const Statement& s = best.statements[static_cast<std::size_t>(i)];
            const auto named = [&](const std::vector<int>& list) {
                return std::find(list.begin(), list.end(), i) != list.end();
            };
            if (!is_used(best, i) && !named(best.outputs) && !named(best.targets) && better(without(best, i))) {
                smaller = true;
                continue;
            }
            if (s.hook != 0 || s.no_grad || s.island) {
                Program p = best;
                Statement& plain = p.statements[static_cast<std::size_t>(i)];
                plain.hook = 0, plain.no_grad = plain.island = false;
                smaller = better(p) || smaller;
            }
            if (s.in.empty() || row_of(s).cpp.starts_with("$0.parameter")) continue;
            Program p = best;
            try {
                const Run values = run(best, {.dtype = best.dtype});
                p.statements[static_cast<std::size_t>(i)] =
                    stand_in(values.tensors[static_cast<std::size_t>(i)], i + 1.0);
            } catch (const Error&) {  // it is the run that fails
                continue;
            }
            smaller = better(p) || smaller;
        }
    }
    return best;
}

}  // namespace random_programs
