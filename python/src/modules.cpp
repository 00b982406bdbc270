// Modules, models, optimisers, checks and files.
#include <pybind11/stl/filesystem.h>

#include "bind.h"
#include "weft/models/gpt2.h"
#include "weft/models/io.h"
#include "weft/nn.h"

namespace {

using Size = std::int64_t;
using nn::NamedTensors;

py::dict dict_of(const NamedTensors& tensors) {
    py::dict dict;
    for (const auto& [name, tensor] : tensors) dict[py::str(name)] = tensor;
    return dict;
}
NamedTensors named(const py::dict& dict) {
    NamedTensors tensors;
    for (const auto& [name, tensor] : dict)
        tensors.emplace_back(name.cast<std::string>(), tensor.cast<Tensor>());
    return tensors;
}

// The base of modules that are written in Python: what is protected in C++.
struct Open : nn::Module {
    using nn::Module::Module;
    using nn::Module::register_buffer;
    using nn::Module::register_module;
    using nn::Module::register_parameter;
};

// module.name = value: modules and leaves that require a gradient are registered, as in PyTorch.
void set_attribute(const py::object& self, const py::str& name, py::object value) {
    auto& module = static_cast<Open&>(self.cast<nn::Module&>());
    if (py::isinstance<nn::Module>(value))
        (void)module.register_module(name, value.cast<nn::Module>());
    else if (py::isinstance<Tensor>(value) && value.cast<Tensor>().requires_grad() &&
             value.cast<Tensor>().is_leaf())
        value = py::cast(module.register_parameter(name, value.cast<Tensor>()));
    if (PyObject_GenericSetAttr(self.ptr(), name.ptr(), value.ptr()) != 0) throw py::error_already_set();
}
// What is no attribute: a parameter, a buffer or a child of that name.
py::object get_attribute(const nn::Module& self, const std::string& name) {
    for (const auto& list : {self.named_parameters(), self.named_buffers()})
        for (const auto& [key, tensor] : list)
            if (key == name) return py::cast(tensor);
    for (const auto& [key, child] : self.named_children())
        if (key == name) return py::cast(child);
    throw py::attribute_error(self.kind() + " has no parameter, buffer or child \"" + name + "\"");
}

struct Steps : nn::Module {  // nn.Sequential: functions and modules
    std::vector<py::object> steps;
    explicit Steps(const py::args& all) : Module("Sequential") {
        for (py::handle step : all) {
            if (py::isinstance<nn::Module>(step))
                (void)register_module(std::to_string(steps.size()), step.cast<nn::Module>());
            steps.push_back(py::reinterpret_borrow<py::object>(step));
        }
    }
};

// A class of modules, called with x. Blocks and attention take a mask, too.
template <class M, class Make, class... Args>
py::class_<M, nn::Module> layer(py::module_& m, const char* name, Make make, const Args&... args) {
    py::class_<M, nn::Module> type(m, name);
    type.def(py::init(make), args...);
    for (const char* call : {"__call__", "forward"})
        if constexpr (std::is_invocable_v<const M&, const Tensor&, const Mask&>)
            type.def(
                call, [](const M& f, const Tensor& x, const Mask& mask) { return f(x, mask); }, "x"_a,
                "mask"_a = Mask());
        else if constexpr (std::is_invocable_v<const M&, const Tensor&>)
            type.def(
                call, [](const M& f, const Tensor& x) { return f(x); }, "x"_a);
    return type;
}

// What an optimiser takes: a module, tensors, named tensors, or the groups of decay_groups.
std::vector<optim::ParameterGroup> groups_of(const py::object& parameters) {
    using Groups = std::vector<optim::ParameterGroup>;
    if (py::isinstance<nn::Module>(parameters)) return {{parameters.cast<nn::Module>().named_parameters()}};
    const py::list list(parameters);
    if (!list.empty() && py::isinstance<optim::ParameterGroup>(list[0])) return list.cast<Groups>();
    if (!list.empty() && py::isinstance<py::tuple>(list[0])) return {{list.cast<NamedTensors>()}};
    return {{optim::numbered(list.cast<std::vector<Tensor>>())}};
}
template <class Options, class... More>
auto optimizer(py::module_& m, const char* name) {
    using O = optim::Optimizer<Options>;
    return py::class_<O>(m, name)
        .def("step", &O::step)
        .def("zero_grad", &O::zero_grad)
        .def_property("lr", &O::lr, &O::set_lr)
        .def("state_dict", [](const O& o) { return dict_of(o.state_dict()); })
        .def(
            "load_state_dict", [](O& o, const py::dict& state) { o.load_state_dict(named(state)); },
            "state_dict"_a);
}
template <class Options>
void adam(py::module_& m, const char* name) {
    optimizer<Options>(m, name).def(
        py::init([](const py::object& p, double lr, std::pair<double, double> betas, double eps,
                    double weight_decay) {
            return optim::Optimizer<Options>(groups_of(p),
                                             Options{lr, betas.first, betas.second, eps, weight_decay});
        }),
        "params"_a, "lr"_a = 1e-3, "betas"_a = std::pair(0.9, 0.999), "eps"_a = 1e-8,
        "weight_decay"_a = Options().weight_decay);
}

void bind_layers(py::module_& m) {
    const auto none = py::none();
    py::class_<nn::Module, Open>(m, "Module", py::dynamic_attr())
        .def(py::init_alias<std::string>(), "kind"_a = "Module")
        .def("__setattr__", set_attribute)
        .def("__getattr__", get_attribute)
        .def("__call__", [](const py::object& self, const py::args& args,
                            const py::kwargs& kwargs) { return self.attr("forward")(*args, **kwargs); })
        .def(
            "register_buffer",
            [](const py::object& self, const py::str& name, const Tensor& x, bool persistent) {
                (void)static_cast<Open&>(self.cast<nn::Module&>()).register_buffer(name, x, persistent);
            },
            "name"_a, "tensor"_a, "persistent"_a = true)
        .def("parameters", &nn::Module::parameters)
        .def("named_parameters", &nn::Module::named_parameters)
        .def("named_buffers", &nn::Module::named_buffers)
        .def("named_children", &nn::Module::named_children)
        .def("state_dict", [](const nn::Module& module) { return dict_of(module.state_dict()); })
        .def(
            "load_state_dict",
            [](nn::Module& module, const py::dict& state, bool strict) {
                module.load_state_dict(named(state), strict);
            },
            "state_dict"_a, "strict"_a = true)
        .def(
            "train", [](py::object self, bool mode) { return self.cast<nn::Module&>().train(mode), self; },
            "mode"_a = true)
        .def("eval", [](py::object self) { return self.cast<nn::Module&>().eval(), self; })
        .def_property_readonly("training", &nn::Module::training)
        .def(
            "to", [](py::object self, DType dtype) { return self.cast<nn::Module&>().to(dtype), self; },
            "dtype"_a)
        .def("zero_grad", &nn::Module::zero_grad)
        .def("num_parameters", &nn::Module::num_parameters)
        .def("__repr__", &nn::Module::summary);
    m.def(
        "Parameter", [](const Tensor& x, bool grad) { return x.detach().requires_grad_(grad); }, "data"_a,
        "requires_grad"_a = true);
    py::class_<Steps, nn::Module>(m, "Sequential")
        .def(py::init<py::args>())
        .def("__call__", [](const Steps& self, py::object x) {
            for (const py::object& step : self.steps) x = step(x);
            return x;
        });
    layer<nn::Linear>(
        m, "Linear", [](Size in, Size out, bool bias) { return nn::Linear(in, out, bias); }, "in_features"_a,
        "out_features"_a, "bias"_a = true)
        .def(py::init<Tensor>(), "weight"_a);
    layer<nn::Embedding>(
        m, "Embedding", [](Size n, Size width) { return nn::Embedding(n, width); }, "num_embeddings"_a,
        "embedding_dim"_a);
    layer<nn::LayerNorm>(
        m, "LayerNorm",
        [](Size n, double eps, bool bias) {
            return nn::LayerNorm(n, {eps, bias});
        },
        "normalized_shape"_a, "eps"_a = 1e-5, "bias"_a = true);
    layer<nn::BatchNorm>(
        m, "BatchNorm", [](Size n, double eps, double momentum) { return nn::BatchNorm(n, eps, momentum); },
        "num_features"_a, "eps"_a = 1e-5, "momentum"_a = 0.1);
    layer<nn::Dropout>(
        m, "Dropout", [](double p) { return nn::Dropout(p); }, "p"_a = 0.5);
    layer<nn::Conv2d>(
        m, "Conv2d",
        [](Size in, Size out, Size kernel, Size stride, Size padding, Size dilation, Size groups, bool bias) {
            return nn::Conv2d(in, out, kernel, {stride, padding, dilation, groups, bias});
        },
        "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1,
        "groups"_a = 1, "bias"_a = true);
    layer<nn::MLP>(
        m, "MLP",
        [](Size n, Size hidden, bool bias) {
            return nn::MLP(n, {hidden, bias});
        },
        "d_model"_a, "dim_feedforward"_a = 0, "bias"_a = true);
    layer<nn::MultiHeadAttention>(
        m, "MultiHeadAttention",
        [](Size n, Size heads, bool bias, bool fused, double dropout, Size kv_heads, Size d_k, Size d_v,
           Size kdim, Size vdim, std::optional<double> rotary) {
            return nn::MultiHeadAttention(n, heads,
                                          {bias, fused, dropout, kv_heads, d_k, d_v, kdim, vdim, rotary});
        },
        "d_model"_a, "num_heads"_a, "bias"_a = false, "fused"_a = true, "dropout"_a = 0.0, "num_kv_heads"_a = 0,
        "d_k"_a = 0, "d_v"_a = 0, "kdim"_a = 0, "vdim"_a = 0, "rotary_base"_a = none)
        .def(
            "__call__",
            [](const nn::MultiHeadAttention& f, const Tensor& q, const Tensor& k, const Tensor& v,
               const Mask& mask) { return f(q, k, v, mask); },
            "query"_a, "key"_a, "value"_a, "mask"_a = Mask())
        .def(
            "with_weights",
            [](const nn::MultiHeadAttention& f, const Tensor& x, const Mask& mask) {
                const AttentionResult y = f.with_weights(x, mask);
                return std::pair(y.output, y.weights);
            },
            "x"_a, "mask"_a = Mask());
    layer<nn::CausalMultiHeadAttention>(
        m, "CausalMultiHeadAttention",
        [](Size n, Size heads, Size longest, bool bias, double dropout, Size kv_heads,
           std::optional<double> rotary) {
            return nn::CausalMultiHeadAttention(n, heads, {longest, bias, dropout, kv_heads, rotary});
        },
        "d_model"_a, "num_heads"_a, "max_seq_len"_a = 1024, "bias"_a = false, "dropout"_a = 0.0,
        "num_kv_heads"_a = 0, "rotary_base"_a = none);
    layer<nn::TransformerBlock>(
        m, "TransformerBlock",
        [](Size n, Size heads, Size longest, bool bias, double dropout, Size hidden) {
            return nn::TransformerBlock(n, heads, {longest, bias, dropout, hidden});
        },
        "d_model"_a, "num_heads"_a, "max_seq_len"_a = 1024, "bias"_a = false, "dropout"_a = 0.0,
        "dim_feedforward"_a = 0);
    const auto block = [&](auto type, const char* name) {
        using M = typename decltype(type)::type;
        return layer<M>(
            m, name,
            [](Size n, Size heads, bool bias, double dropout, Size hidden) {
                return M(n, heads, {bias, dropout, hidden});
            },
            "d_model"_a, "num_heads"_a, "bias"_a = false, "dropout"_a = 0.0, "dim_feedforward"_a = 0);
    };
    block(std::type_identity<nn::EncoderBlock>(), "EncoderBlock");
    block(std::type_identity<nn::DecoderBlock>(), "DecoderBlock")
        .def(
            "__call__",
            [](const nn::DecoderBlock& f, const Tensor& x, const Tensor& memory, const Mask& memory_mask,
               const Mask& mask) { return f(x, memory, memory_mask, mask); },
            "x"_a, "memory"_a, "memory_mask"_a = Mask(), "mask"_a = Mask());
    layer<nn::GPT>(
        m, "GPT",
        [](Size vocab, Size block_size, Size layers, Size heads, Size n, double dropout, bool bias,
           Size hidden) {
            return nn::GPT({vocab, block_size, layers, heads, n, dropout, bias, hidden});
        },
        "vocab_size"_a = 256, "block_size"_a = 64, "num_layers"_a = 4, "num_heads"_a = 4, "d_model"_a = 128,
        "dropout"_a = 0.0, "bias"_a = false, "dim_feedforward"_a = 0)
        .def(
            "generate",
            [](nn::GPT& model, const Tensor& ids, Size n, double temperature, Size top_k, double top_p,
               Rng* generator) {
                return model.generate(ids, n, {temperature, top_k, &generator_of(generator), top_p});
            },
            "ids"_a, "max_new_tokens"_a, "temperature"_a = 1.0, "top_k"_a = 0, "top_p"_a = 1.0,
            "generator"_a = none);
    m.def(
        "load_gpt2", [](const std::filesystem::path& folder) { return nn::load_gpt2(folder); }, "folder"_a);
    m.def("rotary", nn::rotary, "x"_a, "first_position"_a = 0, "base"_a = 10000.0);
    m.def(
        "from_torch_multihead_attention",
        [](const py::dict& state, const std::string& prefix) {
            return dict_of(nn::from_torch_multihead_attention(named(state), prefix));
        },
        "state"_a, "prefix"_a = "");
}

void bind_checks(py::module_& check, py::module_ autograd) {
    for (const auto& [name, f] :
         {std::pair{"gradcheck", &check::gradcheck}, {"gradgradcheck", &check::gradgradcheck}})
        autograd.def(
            name,
            [f = f, name = name](const py::function& g, const std::vector<Tensor>& inputs, double eps,
                                 double tolerance, const std::vector<Tensor>& parameters,
                                 bool raise_exception) {
                const auto call = [g](const std::vector<Tensor>& in) {
                    return g(*py::tuple(py::cast(in))).cast<Tensor>();
                };
                const auto report =
                    f(name, call, inputs, {.eps = eps, .tolerance = tolerance, .parameters = parameters});
                if (!report && raise_exception) throw Error(report.message);
                return report.passed;
            },
            "func"_a, "inputs"_a, "eps"_a = 1e-3, "tolerance"_a = 1e-8, "parameters"_a = std::vector<Tensor>(),
            "raise_exception"_a = true);
    const auto report = [](auto type) {
        using R = typename decltype(type)::type;
        type.def("__bool__", &R::passed).def("__str__", &R::str).def("__repr__", &R::str);
    };
    report(py::class_<check::FlowReport>(check, "FlowReport"));
    report(py::class_<check::AttentionReport>(check, "AttentionReport"));
    check.def("gradient_flow", check::gradient_flow, "module"_a);
    check.def("check_finite", check::check_finite, "x"_a, "what"_a);
    check.def("attention",
              py::overload_cast<const nn::MultiHeadAttention&, const Tensor&, const Mask&>(check::attention),
              "module"_a, "x"_a, "mask"_a = Mask());
    check.def("attention",
              py::overload_cast<const nn::CausalMultiHeadAttention&, const Tensor&>(check::attention),
              "module"_a, "x"_a);
}

void bind_optimizers(py::module_& m) {
    py::class_<optim::ParameterGroup>(m, "ParameterGroup");
    m.def("decay_groups", optim::decay_groups, "module"_a, "weight_decay"_a);
    optimizer<optim::SGDOptions>(m, "SGD").def(
        py::init([](const py::object& p, double lr, double momentum, double weight_decay, bool nesterov) {
            return optim::SGD(groups_of(p), {lr, momentum, weight_decay, nesterov});
        }),
        "params"_a, "lr"_a = 1e-3, "momentum"_a = 0.0, "weight_decay"_a = 0.0, "nesterov"_a = false);
    adam<optim::AdamOptions>(m, "Adam");
    adam<optim::AdamWOptions>(m, "AdamW");
    m.def(
        "cosine_lr",
        [](Size step, double lr, double min_lr, Size warmup, Size steps) {
            return optim::cosine_lr(step, {lr, min_lr, warmup, steps});
        },
        "step"_a, "lr"_a = 1e-3, "min_lr"_a = 0.0, "warmup_steps"_a = 0, "steps"_a = 1);
    m.def(
        "step_lr",
        [](Size step, double lr, Size step_size, double gamma) {
            return optim::step_lr(step, {lr, step_size, gamma});
        },
        "step"_a, "lr"_a, "step_size"_a, "gamma"_a = 0.1);
    m.def(
        "linear_lr",
        [](Size step, double lr, double start, double end, Size total) {
            return optim::linear_lr(step, {lr, start, end, total});
        },
        "step"_a, "lr"_a, "start_factor"_a = 1.0 / 3, "end_factor"_a = 1.0, "total_iters"_a = 5);
    m.def(
        "one_cycle_lr",
        [](Size step, double max_lr, Size total_steps, double pct_start) {
            return optim::one_cycle_lr(step,
                                       {.max_lr = max_lr, .total_steps = total_steps, .pct_start = pct_start});
        },
        "step"_a, "max_lr"_a, "total_steps"_a, "pct_start"_a = 0.3);
}

}  // namespace

void bind_modules(py::module_& m) {
    py::module_ nn = m.def_submodule("nn"), functional = nn.def_submodule("functional"),
                utils = nn.def_submodule("utils");
    for (const char* name : {"relu",
                             "gelu",
                             "silu",
                             "softplus",
                             "leaky_relu",
                             "elu",
                             "softmax",
                             "log_softmax",
                             "linear",
                             "layer_norm",
                             "rms_norm",
                             "dropout",
                             "embedding",
                             "one_hot",
                             "pad",
                             "cross_entropy",
                             "nll_loss",
                             "mse_loss",
                             "l1_loss",
                             "huber_loss",
                             "binary_cross_entropy_with_logits",
                             "unfold",
                             "fold",
                             "conv2d",
                             "max_pool2d",
                             "avg_pool2d",
                             "batch_norm",
                             "scaled_dot_product_attention"})
        functional.attr(name) = m.attr(name);
    bind_layers(nn);
    py::module_ check = m.def_submodule("check"), optim = m.def_submodule("optim");
    bind_checks(check, m.attr("autograd"));
    bind_optimizers(optim);
    const auto clip = [](const py::object& p, double max_norm) {
        if (py::isinstance<nn::Module>(p)) return optim::clip_grad_norm(p.cast<nn::Module>(), max_norm);
        return optim::clip_grad_norm(p.cast<std::vector<Tensor>>(), max_norm);
    };
    utils.def("clip_grad_norm_", clip, "parameters"_a, "max_norm"_a);
    m.def(
        "save_safetensors",
        [](const std::filesystem::path& path, const py::dict& tensors, const io::Metadata& metadata) {
            io::save_safetensors(path, named(tensors), metadata);
        },
        "path"_a, "tensors"_a, "metadata"_a = io::Metadata());
    m.def(
        "load_safetensors",
        [](const std::filesystem::path& path) { return dict_of(io::load_safetensors(path).tensors); },
        "path"_a);
    m.def("save", io::save, "module"_a, "path"_a);
    m.def("load", io::load, "module"_a, "path"_a, "strict"_a = true);
}
