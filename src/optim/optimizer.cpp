// ParameterSlots: the parameters of an optimiser and their state. All checks come before any change.
#include "weft/optim/optimizer.h"

#include <map>
#include <set>

#include "nn/registry.h"
#include "weft/base/text.h"
#include "weft/core/creation.h"
#include "weft/core/modes.h"
#include "weft/core/op.h"
#include "weft/optim/clipping.h"

namespace weft::optim {

nn::NamedTensors numbered(const std::vector<Tensor>& parameters) {
    nn::NamedTensors named;
    for (const Tensor& parameter : parameters) named.emplace_back(std::to_string(named.size()), parameter);
    return named;
}

std::vector<double> in_ratio(const std::vector<double>& rates, double lr) {
    check_rate(lr, "lr");
    std::vector<double> scaled;
    for (const double rate : rates) {
        if (rates[0] == 0 && rate != 0)
            throw ValueError("optimiser: the learning rate of group 0 is 0, so group ", scaled.size(),
                             " has no ratio to it; set each: set_lr(group, lr)");
        scaled.push_back(rate == rates[0] ? lr : lr * (rate / rates[0]));
    }
    return scaled;
}

ParameterSlots::ParameterSlots(const std::vector<nn::NamedTensors>& groups,
                               const std::vector<Names>& moment_names) {
    std::map<const TensorImpl*, std::size_t> owner;  // the group of each parameter
    std::map<std::string, std::size_t> names;        // and of each name
    for (std::size_t group = 0; group < groups.size(); ++group) {
        moment_names_.emplace_back(moment_names[group].begin(), moment_names[group].end());
        for (const auto& [given, parameter] : groups[group]) {
            const auto taken = names.find(given);
            const std::string name =
                taken == names.end() || taken->second == group ? given : std::to_string(group) + "." + given;
            const auto [met, is_new] = owner.emplace(&parameter.impl(), group);
            if (!is_new && met->second != group)
                throw ValueError("optimiser: parameter '", given, "' is in two groups; keep it in one");
            if (!is_new || is_quantized(parameter.dtype())) continue;  // blocks never change
            if (!names.emplace(name, group).second)
                throw ValueError("optimiser: two parameters are named '", name, "'; give each its own name");
            if (!parameter.is_leaf())
                throw GraphError("optimiser: '", name,
                                 "' was made by an operation; only leaves can be optimised");
            if (!takes_gradient(parameter.dtype()))
                throw DTypeError("optimiser: '", name, "' is ", weft::name(parameter.dtype()),
                                 "; parameters are float32 or float64");
            if (nn::is_expanded(parameter))
                throw ValueError("optimiser: the elements of '", name, "' ", parameter.shape(),
                                 " share memory, because it is an expanded tensor; clone() it first");
            slots_.push_back({name, parameter, group});
        }
    }
    if (slots_.empty())
        throw ValueError(
            "optimiser: there are no parameters; a module registers its own with register_parameter() and "
            "register_module()");
}

const ParameterSlots& ParameterSlots::checked() const {
    if (slots_.empty())
        throw ValueError("optimiser: it was moved from and has no parameters; use the one it was moved to");
    return *this;
}

std::size_t ParameterSlots::index(std::int64_t group) const {
    checked();
    if (group < 0 || group >= static_cast<std::int64_t>(moment_names_.size()))
        throw IndexError("optimiser: there is no group ", group, "; the last is ", moment_names_.size() - 1);
    return static_cast<std::size_t>(group);
}

void ParameterSlots::set_moments(std::size_t group, const Names& names) {
    std::vector<std::string> renamed(names.begin(), names.end());
    if (renamed == moment_names_[group]) return;
    moment_names_[group] = std::move(renamed);
    for (Slot& slot : slots_)
        if (slot.group == group) slot.moments.clear();
}

void ParameterSlots::step(const std::function<void(const Update&, std::size_t)>& update) {
    const Op here("optimizer.step");
    checked();
    if (std::ranges::none_of(slots_, [](const Slot& slot) { return slot.parameter.grad().defined(); }))
        throw GraphError(
            "optimiser: no parameter has a gradient; before step() call backward() on a loss that depends on "
            "them");
    for (const Slot& slot : slots_) {
        const Tensor gradient = slot.parameter.grad();
        if (!gradient.defined()) continue;
        if (!all_finite(gradient))
            throw ValueError("optimiser: the gradient of '", slot.name, "' ", slot.parameter.shape(),
                             " is not finite; the step was refused and nothing has changed");
        for (const Tensor& moment : slot.moments)
            if (moment.dtype() != slot.parameter.dtype() || !(moment.shape() == slot.parameter.shape()))
                throw DTypeError("optimiser: '", slot.name, "' was ", moment.shape(), " ",
                                 weft::name(moment.dtype()), " when it was first updated and is ",
                                 slot.parameter.shape(), " ", weft::name(slot.parameter.dtype()),
                                 " now; make a new optimiser after Module::to");
    }

    NoGrad off;
    for (Slot& slot : slots_)  // all of them before the first update, because memory may run out
        while (slot.parameter.grad().defined() && slot.moments.size() < moment_names_[slot.group].size())
            slot.moments.push_back(zeros(slot.parameter.shape(), slot.parameter.dtype()));
    for (Slot& slot : slots_) {
        if (!slot.parameter.grad().defined()) continue;
        ++slot.updates;
        const Tensor gradient = slot.parameter.grad().detach().contiguous();
        Tensor values = slot.parameter.detach().contiguous();  // shares storage if already contiguous
        update({values, gradient, slot.moments, slot.updates}, slot.group);
        if (slot.parameter.shares_storage(values))
            slot.parameter.bump_version();
        else
            slot.parameter.copy_(values);
    }
    ++steps_;
}

void ParameterSlots::zero_grad() {
    checked();
    for (Slot& slot : slots_) slot.parameter.zero_grad();
}

nn::NamedTensors ParameterSlots::state_dict() const {
    const auto scalar = [](std::int64_t value) { return from_vector(std::vector<std::int64_t>{value}, {}); };
    nn::NamedTensors state{{"step", scalar(steps())}};
    for (const Slot& slot : slots_) {
        if (slot.updates == 0) continue;
        state.emplace_back(slot.name + ".step", scalar(slot.updates));
        for (std::size_t i = 0; i < moment_names_[slot.group].size(); ++i)
            // set_options may have just added it
            state.emplace_back(slot.name + "." + moment_names_[slot.group][i],
                               i < slot.moments.size() ? slot.moments[i].clone()
                                                       : zeros(slot.parameter.shape(), slot.parameter.dtype()));
    }
    return state;
}

void ParameterSlots::load_state_dict(const nn::NamedTensors& state) {
    checked();
    std::map<std::string, Tensor> left;
    for (const auto& [name, value] : state)
        if (!left.emplace(name, value).second)
            throw ValueError("optimiser: the state holds '", excerpt(name), "' twice");

    const auto take = [&](const std::string& name, const Shape& shape, DType dtype) {
        const auto found = left.extract(name);
        if (found.empty()) throw ValueError("optimiser: the state has no '", name, "'");
        const Tensor value = found.mapped();
        if (!(value.shape() == shape))
            throw ShapeError("optimiser: '", name, "' in the state is ", value.shape(), ", but must be ",
                             shape);
        if (value.dtype() != dtype)
            throw DTypeError("optimiser: '", name, "' in the state is ", weft::name(value.dtype()),
                             ", but must be ", weft::name(dtype));
        return value.detach().clone();
    };
    const auto count = [&](const std::string& name) {
        const auto value = take(name, {}, int64).to_vector<std::int64_t>().front();
        if (value < 0) throw ValueError("optimiser: '", name, "' in the state is ", value);
        return value;
    };

    const std::int64_t steps = count("step");
    std::vector<Slot> slots = slots_;
    for (Slot& slot : slots) {
        slot.moments.clear();
        slot.updates = 0;
        if (!left.contains(slot.name + ".step")) continue;  // not updated before the state was saved
        slot.updates = count(slot.name + ".step");
        for (const std::string& name : moment_names_[slot.group])
            slot.moments.push_back(
                take(slot.name + "." + name, slot.parameter.shape(), slot.parameter.dtype()));
    }
    if (!left.empty())
        throw ValueError("optimiser: the state holds '", excerpt(left.begin()->first),
                         "', which this optimiser does not use");
    slots_ = std::move(slots);
    steps_ = steps;
}

}  // namespace weft::optim
