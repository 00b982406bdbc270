#include "growth.h"

namespace {

using namespace growth;

// A call with a module of n parameters that have gradients.
Case parameters(const char* name, void (*f)(Many&), std::int64_t n = 200) {
    return {name, n, [f](auto size) {
                Many module(size);
                sum(stack(module.all)).backward();
                return [f, module]() mutable { f(module); };
            }};
}

template <class Optimizer>
void trained(Many& module) {
    Optimizer optimizer(module);
    optimizer.step();
    optimizer.load_state_dict(optimizer.state_dict());
    optimizer.zero_grad();
}

nn::ModuleList<Many> list_of(std::int64_t n) {
    nn::ModuleList<Many> list;
    for (std::int64_t i = 0; i < n; ++i) list.append(Many(1));
    return list;
}

}  // namespace

std::vector<growth::Case> growth::modules() {
    std::vector<Case> cases = {
        parameters("named_parameters", [](Many& m) { (void)m.named_parameters(); }),
        parameters("load_state_dict", [](Many& m) { m.load_state_dict(m.state_dict()); }),
        parameters("load_state_dict: refused",
                   [](Many& m) {
                       nn::NamedTensors state = m.state_dict();
                       for (auto& [name, x] : state) name += "x";
                       try {
                           m.load_state_dict(state);
                       } catch (const ValueError&) {
                       }
                   }),
        parameters("Module: to, zero_grad, summary",
                   [](Many& m) {
                       m.to(float64);
                       m.zero_grad();
                       (void)m.summary();
                   }),
        parameters("SGD", trained<optim::SGD>),
        parameters("AdamW", trained<optim::AdamW>),
        parameters("decay_groups",
                   [](Many& m) { optim::AdamW(optim::decay_groups(m, optim::AdamWOptions())).step(); }),
        parameters("clip_grad_norm", [](Many& m) { (void)optim::clip_grad_norm(m, 1); }),
        parameters("gradient_flow", [](Many& m) { (void)check::gradient_flow(m).str(); }),
        parameters(
            "first_step",
            [](Many& m) { (void)check::first_step(m, 0.1, [&] { optim::SGD(m, {.lr = 0.1}).step(); }); }),
        parameters("DataParallel: parameters",
                   [](Many& m) {
                       dist::Group group;
                       dist::DataParallel parallel(m, group, {.grains = 2, .bucket_elements = 1000});
                       (void)parallel.backward([&](std::int64_t) { return sum(stack(m.all)); });
                   }),
    };
    const std::vector<Case> others = {
        {"Module: registered parameters", 500, [](auto n) { return [n] { Many module(n); }; }},
        {"ModuleList: children", 300,
         [](auto n) {
             return [n] {
                 nn::ModuleList<Many> list = list_of(n);
                 list.eval();
                 list.load_state_dict(list.state_dict());
                 (void)list.summary();
                 (void)list.named_children();
             };
         }},
        {"GPT: layers", 10,
         [](auto n) {
             return [n] {
                 Rng rng(1);
                 const lm::GPT model(
                     {.vocab_size = 4, .block_size = 2, .num_layers = n, .num_heads = 1, .d_model = 2}, rng);
                 sum(model(zeros({1, 2}, int64))).backward();
                 lm::check_state_dict(model.config, model.state_dict());
             };
         }},
        {"fused_state, separate_state: attentions", 100,
         [](auto n) {
             nn::NamedTensors state;
             for (std::int64_t i = 0; i < n; ++i)
                 state.emplace_back("blocks." + std::to_string(i) + ".W_qkv.weight", ones({6, 2}));
             return [state] { (void)nn::fused_state(nn::separate_state(state)); };
         }},
        {"from_gpt2: layers", 20,
         [](auto n) {
             const lm::GPTConfig config{
                 .vocab_size = 4, .block_size = 2, .num_layers = n, .num_heads = 1, .d_model = 2, .bias = true};
             nn::NamedTensors state{{"wte.weight", ones({4, 2})},
                                    {"wpe.weight", ones({2, 2})},
                                    {"ln_f.weight", ones({2})},
                                    {"ln_f.bias", ones({2})}};
             for (std::int64_t i = 0; i < n; ++i) {
                 const std::string h = "h." + std::to_string(i) + ".";
                 for (const char* norm : {"ln_1", "ln_2"})
                     for (const char* part : {".weight", ".bias"})
                         state.emplace_back(h + norm + part, ones({2}));
                 for (const auto& [name, in, out] : {std::tuple("attn.c_attn", 2, 6),
                                                     {"attn.c_proj", 2, 2},
                                                     {"mlp.c_fc", 2, 8},
                                                     {"mlp.c_proj", 8, 2}}) {
                     state.emplace_back(h + name + ".weight", ones({in, out}));
                     state.emplace_back(h + name + ".bias", ones({out}));
                 }
             }
             return [state, config] { (void)lm::from_gpt2(state, config); };
         }},
        {"from_flax: layers", 200,
         [](auto n) {
             nn::NamedTensors params;
             std::vector<std::pair<std::string, std::string>> layers;
             for (std::int64_t i = 0; i < n; ++i) {
                 layers.emplace_back("Dense_" + std::to_string(i), "layers." + std::to_string(i));
                 params.emplace_back(layers.back().first + "/kernel", ones({2, 2}));
             }
             return [params, layers] { (void)nn::from_flax(params, layers); };
         }},
        {"DataParallel: grains", 50,
         [](auto n) {
             return [n, module = Many(1)] {
                 dist::Group group;
                 dist::DataParallel parallel(module, group, {.grains = n});
                 (void)parallel.backward([&](std::int64_t) { return sum(module.all[0]); });
             };
         }},
    };
    cases.insert(cases.end(), others.begin(), others.end());
    return cases;
}
