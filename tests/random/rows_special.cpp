// What is no operation of the table: leaves, islands outside the graph, changes in place, gradients on the way.
#include "rows.h"

namespace random_programs {
namespace {

bool in_place_number(ProgramBuilder& d, Statement& s) {
    s.numbers = {d.one_of({0.5, 1.5, -0.75})};
    return one(d, s);
}

Tensor changed(Tensor x, const std::function<void(Tensor&)>& change) {
    const NoGrad off;
    change(x);
    return x;
}

// x², whose rule reads the elements: it has a gradient, which is refused where it would be differentiated.
Tensor looped_square(const Tensor& x) {
    const Tensor value = x.detach();
    return record("looped_square", value * value, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        std::vector<double> slopes = saved[0].to(float64).to_vector<double>();
        for (double& slope : slopes) slope *= 2;
        return Grads{from_vector(slopes, dy.shape()).to(dy.dtype()) * dy};
    });
}

// Sum of $0, differentiated with respect to $1.
bool gradient(ProgramBuilder& d, Statement& s) {
    const auto in_graph = [](const Tensor& x) { return is_floating_point(x.dtype()) && x.requires_grad(); };
    s.in = {d.any(in_graph), d.any(in_graph)};
    return s.in[0] > s.in[1] && s.in[1] >= 0;
}

Tensor differentiated(const Call& c, bool create) {
    return grad({sum(c.x[0])}, {c.x[1]}, {}, {.create_graph = create, .retain_graph = true})[0];
}

}  // namespace

Rows special_rows() {
    return {
        // Numbers: whether it requires a gradient, a seed, sizes.
        {"",
         "leaf({#2*}, #1, #0b)",
         "leaf(@, #0b)",
         {},
         [](const Call& c) {
             Rng rng(static_cast<std::uint64_t>(c.n[1]));
             return (rand(c.shape(2), rng, float64) * 2 - 1).to(c.dtype).requires_grad_(c.n[0] != 0);
         },
         stored},
        // Numbers: a seed, the least and the bound, sizes.
        {"",
         "ids({#3*}, #0, #1, #2)",
         "drawn(@)",
         {},
         [](const Call& c) {
             Rng rng(static_cast<std::uint64_t>(c.n[0]));
             return randint(c.integer(1), c.integer(2), c.shape(3), rng);
         },
         stored | constant},
        // Numbers: a seed, sizes.
        {"",
         "bools({#1*}, #0)",
         "drawn(@)",
         {},
         [](const Call& c) {
             Rng rng(static_cast<std::uint64_t>(c.n[0]));
             return rand(c.shape(1), rng) < rng.uniform();
         },
         stored | constant},
        {"",
         "$0.parameter(#0)",
         "leaf(@, True)",
         {},
         [](const Call& c) { return c.module(0).parameters.at(static_cast<std::size_t>(c.n[0])); },
         stored},
        {"", "looped_square($0)", "torch.square($0)", one, [](const Call& c) { return looped_square(c.x[0]); },
         rare},
        {"", "$0.detach()", "", one, [](const Call& c) { return c.x[0].detach(); }, constant | rare},
        {"", "changed($0, [](Tensor x) { x.add_(full({}, #0, x.dtype())); })", "changing($0).add_(#0)",
         in_place_number,
         [](const Call& c) { return changed(c.x[0], [&](Tensor& x) { x.add_(full({}, c.n[0], x.dtype())); }); },
         in_place | rare},
        {"", "changed($0, [](Tensor x) { x.mul_(#0); })", "changing($0).mul_(#0)", in_place_number,
         [](const Call& c) { return changed(c.x[0], [&](Tensor& x) { x.mul_(c.n[0]); }); }, in_place | rare},
        {"", "changed($0, [](Tensor x) { x.fill_(#0); })", "changing($0).fill_(#0)",
         [](ProgramBuilder& d, Statement& s) {
             s.numbers = {double(d.coin(0.5))};
             s.in = {d.any([](const Tensor& x) { return x.dtype() == boolean || x.dtype() == int64; })};
             return s.in[0] >= 0;
         },
         [](const Call& c) { return changed(c.x[0], [&](Tensor& x) { x.fill_(c.n[0]); }); }, in_place},
        {"", "grad({sum($0)}, {$1}, {}, {.create_graph = true})[0]",
         "torch.autograd.grad($0.sum(), $1, create_graph=True)[0]", gradient,
         [](const Call& c) { return differentiated(c, true); }, nested | rare},
        {"", "grad({sum($0)}, {$1}, {}, {.retain_graph = true})[0]",
         "torch.autograd.grad($0.sum(), $1, retain_graph=True)[0]", gradient,
         [](const Call& c) { return differentiated(c, false); }, nested | constant | rare},
    };
}

std::vector<Row>& rows() {
    static std::vector<Row> all = [] {
        std::vector<Row> list;
        for (const auto& family : {elementwise_rows(), shape_rows(), network_rows(), special_rows(),
                                   state_rows(), more_rows(), loss_rows()})
            list.insert(list.end(), family.begin(), family.end());
        const Rows others = rows_of_the_table(list);
        list.insert(list.end(), others.begin(), others.end());
        return list;
    }();
    return all;
}

std::size_t row_called(const std::string& begin) {
    for (std::size_t i = 0; i < rows().size(); ++i)
        if (rows()[i].cpp.starts_with(begin)) return i;
    throw Error("no row of random programs begins with " + begin);
}

}  // namespace random_programs
