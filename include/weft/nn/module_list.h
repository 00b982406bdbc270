// ModuleList: modules of one type, in order, as children "0", "1", …
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// Modules of one kind, in their order.
template <class M>
class ModuleList : public Module {
public:
    ModuleList() : Module("ModuleList") {}  // empty
    // As the child "0", "1", …
    void append(M module) { items_->push_back(register_module(std::to_string(size()), std::move(module))); }
    std::size_t size() const { return items_->size(); }                 // how many
    const M& operator[](std::size_t i) const { return items_->at(i); }  // std::out_of_range unless i < size()
    auto begin() const { return items_->begin(); }                      // for a range-based for
    auto end() const { return items_->end(); }                          // behind the last

private:
    std::shared_ptr<std::vector<M>> items_ = std::make_shared<std::vector<M>>();  // copies share it
};

}  // namespace weft::nn
