// ModuleList: modules of one type, in order, as children "0", "1", …
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

template <class M>
class ModuleList : public Module {
public:
    ModuleList() : Module("ModuleList") {}
    void add(M module) { items_->push_back(child(std::to_string(size()), std::move(module))); }
    std::size_t size() const { return items_->size(); }
    const M& operator[](std::size_t i) const { return items_->at(i); }
    auto begin() const { return items_->begin(); }
    auto end() const { return items_->end(); }

private:
    std::shared_ptr<std::vector<M>> items_ = std::make_shared<std::vector<M>>();  // copies share it
};

}  // namespace weft::nn
