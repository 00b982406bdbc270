// The base of modules, checks and files.
#include "modules.h"

#include "nn/attributes.h"
#include "weft/lm.h"

namespace {

template <class Report>
void report(py::module_& check, const char* name) {
    py::class_<Report> type(check, name);
    def(type, "__bool__(self)", &Report::passed);
    for (const char* text : {"__str__(self)", "__repr__(self)"}) def(type, text, &Report::str);
}

}  // namespace

void bind_modules(Modules m, Modules nn) {
    using M = nn::Module;
    using List = std::vector<Tensor>;
    using A = nn::Attributes;
    py::class_<M> type(nn, "Module", py::dynamic_attr());
    type.def(py::init<std::string>(), Signature("Module(kind='Module')"))
        .def_property_readonly("training", &M::training);
    def(type, "_kind(self, name)", [](const py::object& self, const std::string& name) {  // "" before __init__
        auto* const instance = reinterpret_cast<py::detail::instance*>(self.ptr());
        return instance->get_value_and_holder().holder_constructed() ? A::kind(self.cast<M&>(), name) : "";
    });
    def(type, "_set_parameter(self, name, value)", A::set_parameter);
    def(type, "_set_buffer(self, name, value, persistent=None)", A::set_buffer);
    def(type, "_set_child(self, name, value)", A::set_child);
    def(type, "_remove(self, name)", A::remove);
    def(type, "parameters(self)", &M::parameters);
    def(type, "named_parameters(self)", &M::named_parameters);
    def(type, "named_buffers(self)", &M::named_buffers);
    def(type, "named_children(self)", &M::named_children);
    def(type, "state_dict(self)", [](const M& self) { return dict_of(self.state_dict()); });
    def(type, "load_state_dict(self, state_dict, strict=True)",
        [](M& self, const py::dict& state, bool strict) { self.load_state_dict(named(state), strict); });
    def(type, "train(self, mode=True)",
        [](py::object self, bool mode) { return self.cast<M&>().train(mode), self; });
    def(type, "eval(self)", [](py::object self) { return self.cast<M&>().eval(), self; });
    def(type, "to(self, dtype)", [](py::object self, DType dtype) { return self.cast<M&>().to(dtype), self; });
    def(type, "zero_grad(self)", &M::zero_grad);
    def(type, "num_parameters(self)", &M::num_parameters);
    def(type, "__repr__(self)", &M::summary);
    using Path = const std::filesystem::path&;
    def(nn, "load_gpt2(folder)", [](Path folder) { return lm::load_gpt2(folder); });
    def(nn, "from_torch_multihead_attention(state, prefix='')",
        [](const py::dict& state, const std::string& prefix) {
            return dict_of(nn::from_torch_multihead_attention(named(state), prefix));
        });
    def(m, "save_safetensors(path, tensors, metadata={})",
        [](Path path, const py::dict& tensors, const io::Metadata& data) {
            io::save_safetensors(path, named(tensors), data);
        });
    def(m, "load_safetensors(path)", [](Path path) { return dict_of(io::load_safetensors(path).tensors); });
    def(m, "save(module, path)", io::save<nn::Module>);
    def(m, "load(module, path, strict=True)", io::load<nn::Module>);

    py::module_ check = m.def_submodule("check");
    def(check, "_gradcheck(second, func, inputs, eps, tolerance, parameters)",
        [](bool second, const check::Function& f, const List& x, double eps, double tolerance, const List& p) {
            const auto check = second ? check::gradgradcheck : check::gradcheck;
            return check("func", f, x, {.eps = eps, .tolerance = tolerance, .parameters = p}).message;
        });
    report<check::FlowReport>(check, "FlowReport");
    report<check::AttentionReport>(check, "AttentionReport");
    def(check, "gradient_flow(module)", check::gradient_flow);
    def(check, "check_finite(x, what)", check::check_finite);
}

// Once the classes of attention are there.
void bind_attention(Modules m, Modules nn) {
    using A = nn::MultiHeadAttention;
    const py::object check = m.attr("check"), attention = nn.attr("MultiHeadAttention");
    def(attention, "__call__(self, query, key, value, mask=Mask())",
        [](const A& f, T q, T k, T v, const Mask& mask) { return f(q, k, v, mask); });
    def(attention, "with_weights(self, x, mask=Mask())",
        [](const A& f, T x, const Mask& mask) { return pair_of(f.with_weights(x, mask)); });
    def(nn.attr("MixtureOfExperts"), "with_routing(self, x)", [](const nn::MixtureOfExperts& f, T x) {
        const nn::RoutingResult y = f.with_routing(x);
        return py::make_tuple(y.output, y.load_balancing_loss, y.tokens_per_expert);
    });
    def(nn.attr("DecoderBlock"), "__call__(self, x, memory, memory_mask=Mask(), mask=Mask())",
        [](const nn::DecoderBlock& f, T x, T m, const Mask& a, const Mask& b) { return f(x, m, a, b); });
    def(nn.attr("GPT"),
        "generate(self, ids, max_new_tokens, temperature=1.0, top_k=0, top_p=1.0, generator=default_generator)",
        [](lm::GPT& f, T ids, I n, double temperature, I k, double p, Rng& rng) {
            return f.generate(ids, n, {temperature, k, &rng, p});
        });
    def(check, "attention(module, x, mask=Mask())",
        py::overload_cast<const A&, T, const Mask&>(check::attention));
    def(check, "attention(module, x)",
        py::overload_cast<const nn::CausalMultiHeadAttention&, T>(check::attention));
}
