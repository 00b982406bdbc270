#include "op_table.h"

const std::vector<Op>& op_table() {
    static const std::vector<Op> table = [] {
        std::vector<Op> rows;
        for (const auto& family : {arithmetic_ops(), elementwise_ops(), reduction_ops(), shape_ops(),
                                   member_ops(), function_ops(), more_ops()})
            rows.insert(rows.end(), family.begin(), family.end());
        return rows;
    }();
    return table;
}
