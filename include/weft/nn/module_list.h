// ModuleList: modules of one type, in order, as children "0", "1", …
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// A list of modules of type M.
//
//     nn::ModuleList<nn::Linear> layers;
//     for (int i = 0; i < 3; ++i) layers.append(nn::Linear(8, 8, rng));  // layers.size() is 3
//     for (const nn::Linear& layer : layers) x = relu(layer(x));  // x is (B, 8)
template <class M>
class ModuleList : public Module {
public:
    ModuleList() : Module("ModuleList") {}  // empty
    // Appends a module as the next child.
    void append(M module) { items_->push_back(register_module(std::to_string(size()), std::move(module))); }
    std::size_t size() const { return items_->size(); }  // number of modules
    // The i-th module; IndexError unless i < size().
    const M& operator[](std::size_t i) const {
        if (i >= size()) throw IndexError("ModuleList: no module ", i, "; it holds ", size());
        return (*items_)[i];
    }
    M& operator[](std::size_t i) { return const_cast<M&>(std::as_const(*this)[i]); }  // likewise
    auto begin() { return items_->begin(); }                                          // for a range-based for
    auto end() { return items_->end(); }                                              // one past the last
    auto begin() const { return items_->cbegin(); }  // likewise, of const modules
    auto end() const { return items_->cend(); }      // likewise

private:
    Shared<std::vector<M>> items_{std::make_shared<std::vector<M>>()};
};

}  // namespace weft::nn
