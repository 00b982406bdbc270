// Operations whose gradient rules are wrong on purpose. make proofs fails unless it refutes each of them.
#pragma once

#include "op_table.h"

struct WrongRule {
    OpEntry op;
    int order;  // the first order at which the rule is wrong: 1 or 2
};

std::vector<WrongRule> wrong_rules();
