// What every tokeniser does with ids.
#pragma once

#include <string>
#include <type_traits>

#include "weft/text/tokenizer.h"

namespace weft::text {

// IndexError, beginning with `what`, unless 0 ≤ id < size.
void check_id(std::int64_t id, std::int64_t size, const std::string& what);

template <class Kind>
std::string decode_ids(const Kind& kind, const Ids& ids, const std::string& name) {
    const std::int64_t size = kind.vocab_size();
    const bool is_padded = std::is_same_v<Kind, PreTrainedTokenizer>;  // a model may have more ids
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || (ids[i] >= size && !is_padded))
            check_id(ids[i], size, name + ": the id at position " + std::to_string(i));
        text += kind.piece(ids[i]);
    }
    return text;
}

}  // namespace weft::text
