// What every tokeniser does with ids.
#pragma once

#include <string>

#include "weft/models/tokenizer.h"

namespace weft::text {

// IndexError, which begins with `what`, unless 0 ≤ id < size.
void check_id(std::int64_t id, std::int64_t size, const std::string& what);

template <class Kind>
std::string decoded(const Kind& kind, const Ids& ids, const char* name) {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        check_id(ids[i], kind.vocab_size(), std::string(name) + ": the id at place " + std::to_string(i));
        text += kind.piece(ids[i]);
    }
    return text;
}

}  // namespace weft::text
