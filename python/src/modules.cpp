// The base of modules, checks and files.
#include "modules.h"

#include "nn/attributes.h"
#include "weft/lm.h"

template <class Report>
static void report(py::module_& check, const char* name) {
    py::class_<Report> type(check, name);
    def(type, "__bool__(self)", &Report::passed);
    for (const char* text : {"__str__(self)", "__repr__(self)"}) def(type, text, &Report::str);
}

void bind_modules(Modules m, Modules nn, py::class_<nn::Module>& type) {
    using A = nn::Attributes;
    type.def(py::init<std::string>(), Signature("Module(kind='Module')"))
        .def_property_readonly("training", &nn::Module::training);
    def(type, "_kind(self, name)", [](const py::object& self, const std::string& name) {  // "" before __init__
        auto* const instance = reinterpret_cast<py::detail::instance*>(self.ptr());
        return instance->get_value_and_holder().holder_constructed() ? A::kind(self.cast<nn::Module&>(), name)
                                                                     : "";
    });
    def(type, "_set_parameter(self, name, value)", A::set_parameter);
    def(type, "_set_buffer(self, name, value, persistent=None)", A::set_buffer);
    def(type, "_set_child(self, name, value)", A::set_child);
    def(type, "_remove(self, name)", A::remove);
    def(type, "__repr__(self)", &nn::Module::summary);
    using Path = const std::filesystem::path&;
    def(nn, "load_gpt2(folder)", [](Path folder) { return lm::load_gpt2(folder); });
    def(nn, "from_torch_multihead_attention(state, prefix='')",
        [](const nn::NamedTensors& state, const std::string& prefix) {
            return dict_of(nn::from_torch_multihead_attention(state, prefix));
        });
    def(m, "save_safetensors(path, tensors, metadata={})", io::save_safetensors);
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
    def(check, "gradient_flow(module)", py::overload_cast<const nn::Module&>(check::gradient_flow));
    def(check, "gradient_flow(module, loss)", py::overload_cast<const nn::Module&, T>(check::gradient_flow));
    def(check, "check_finite(x, what)", check::check_finite);
    def(nn.attr("MixtureOfExperts"), "with_routing(self, x)", [](const nn::MixtureOfExperts& f, T x) {
        const nn::RoutingResult y = f.with_routing(x);
        return py::make_tuple(y.output, y.load_balancing_loss, y.tokens_per_expert);
    });
    def(nn.attr("GPT"),
        "generate(self, ids, max_new_tokens, temperature=1.0, top_k=0, top_p=1.0, generator=default_generator)",
        [](lm::GPT& f, T ids, I n, double temperature, I k, double p, Rng& rng) {
            return f.generate(ids, n, {temperature, k, &rng, p});
        });
    def(check, "attention(module, x, mask=Mask())",
        py::overload_cast<const nn::MultiHeadAttention&, T, const Mask&>(check::attention));
    def(check, "attention(module, x)",
        py::overload_cast<const nn::CausalMultiHeadAttention&, T>(check::attention));
}
