// The rows that follow from the table of operations, for those that have no row of their own: functions of
// tensors that broadcast, and reductions. In PyTorch they have the same names.
#include "op_table.h"
#include "rows.h"

namespace random_programs {

Rows rows_of_the_table(const Rows& written) {
    std::set<std::string> known;
    for (const Row& row : written) known.insert(row.declaration);
    Rows rows;
    for (const OpEntry& op : op_table()) {
        if (!known.insert(op.declaration).second) continue;
        const std::string name = op.declaration.substr(0, op.declaration.find('('));
        const unsigned flags = op.gradient == Gradient::none ? rare | constant : 0;
        std::string types = name + "(Tensor", call = name + "($0";
        for (std::size_t n = 1; n < 4; ++n) {
            if (op.declaration == types + ")")
                rows.push_back({op.declaration, call + ")", "named." + call + ")",
                                [n](ProgramBuilder& d, Statement& s) {
                                    if (!one(d, s)) return false;
                                    while (s.in.size() < n) s.in.push_back(d.fits(d.at(s.in[0]).shape()));
                                    return true;
                                },
                                [f = op.function](const Call& c) { return f(c.x)[0]; }, flags});
            types += ", Tensor", call += ", $" + std::to_string(n);
        }
        if (op.declaration == name + "(Tensor, Axes, KeepDim)" && op.over)
            rows.push_back({op.declaration, name + "($0, {#2*}, #0b)",
                            "reduced('" + name + "', $0, [#2*], #0b)", with_axes,
                            [f = op.over](const Call& c) { return f(c.x[0], c.axes(2), c.n[0] != 0); }, flags});
    }
    return rows;
}

}  // namespace random_programs
