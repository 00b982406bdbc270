// Published language models: their tokenisers, what they generate, their chats and likelihoods.
#include <any>

#include "bind.h"

namespace {

using Tokenizer = text::PreTrainedTokenizer;
using Path = const std::filesystem::path&;

// Ids of tokens: numbers, or a tensor (T,) of them.
struct Tokens {
    text::Ids ids;
};
struct Message : lm::ChatMessage {};  // a dictionary with its role and content

}  // namespace

template <>
struct py::detail::type_caster<Tokens> {
    PYBIND11_TYPE_CASTER(Tokens, const_name("Sequence[int]"));
    bool load(handle from, bool convert) {
        make_caster<text::Ids> ids;
        const object list =
            isinstance<Tensor>(from) ? object(from.attr("tolist")()) : reinterpret_borrow<object>(from);
        return ids.load(list, convert) && (value.ids = cast_op<text::Ids&>(ids), true);
    }
};
template <>
struct py::detail::type_caster<Message> {
    PYBIND11_TYPE_CASTER(Message, const_name("dict[str, str]"));
    bool load(handle from, bool) {
        if (!PyDict_Check(from.ptr())) return false;
        const dict message = reinterpret_borrow<dict>(from);
        for (const char* key : {"role", "content"})
            if (!message.contains(key) || !isinstance<str>(message[key]))
                throw ValueError("ChatTemplate: a message needs a text \"", key,
                                 "\"; write {\"role\": \"user\", \"content\": \"hello\"}");
        value = {{message["role"].cast<std::string>(), message["content"].cast<std::string>(), {}}};
        if (message.contains("ids")) value.ids = message["ids"].cast<Tokens>().ids;
        return true;
    }
};

namespace {

std::vector<lm::ChatMessage> chat_of(const std::vector<Message>& messages) {
    return {messages.begin(), messages.end()};
}
// What is not UTF-8 becomes U+FFFD.
py::str text_of(const std::string& bytes) {
    return py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), "replace"));
}

void bind_tokenizer(py::module_& m) {
    py::class_<Tokenizer> tokenizer(m, "PreTrainedTokenizer", py::dynamic_attr());
    tokenizer.def_static(
        "load", [](Path path) { return Tokenizer::load(path); }, Signature("load(path)"));
    def(tokenizer, "encode(self, text, add_special_tokens=True, parse_special=False)",
        [](const Tokenizer& f, const std::string& text, bool add, bool parse) {
            return f.encode(text, {.add_special_tokens = add, .parse_special = parse});
        });
    def(tokenizer, "decode(self, token_ids)",
        [](const Tokenizer& f, const Tokens& tokens) { return text_of(f.decode(tokens.ids)); });
    def(tokenizer, "piece(self, id)", [](const Tokenizer& f, I id) { return py::bytes(f.piece(id)); });
    def(tokenizer, "id_of(self, piece)",
        [](const Tokenizer& f, const std::string& piece) { return f.id_of(piece); });
    tokenizer.def_property_readonly("vocab_size", &Tokenizer::vocab_size);
    tokenizer.def_property_readonly("bos_token_id", &Tokenizer::bos_token_id);
    tokenizer.def_property_readonly("eos_token_id", &Tokenizer::eos_token_id);
    tokenizer.def_property_readonly("end_token_ids", [](const Tokenizer& f) { return f.end_token_ids(); });
}

void bind_chat_template(py::module_& m) {
    using Form = lm::ChatTemplate;
    py::class_<Form> form(m, "ChatTemplate");
    form.def_static("named", Form::named, Signature("named(name)"));
    form.def_static("of", Form::of, Signature("of(jinja)"));
    form.def_static("names", Form::names, Signature("names()"));
    form.def_property_readonly("name", &Form::name);
    form.def_readwrite("system", &Form::system);
    form.def_readwrite("date", &Form::date);
    def(form, "encode(self, tokenizer, messages)",
        [](const Form& f, const Tokenizer& tokenizer, const std::vector<Message>& messages) {
            return f.encode(tokenizer, chat_of(messages));
        });
    def(form, "render(self, messages)", [](const Form& f, const std::vector<Message>& messages) {
        return text_of(f.render(chat_of(messages)));
    });
}

const std::string generation =
    ", max_new_tokens=200, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, "
    "eos_token_id=None, kept=None, on_token=None, generator=default_generator)";

// Generates after one prompt (Tokens), or after each of several.
template <class Prompt, class Generate>
void def_generate(const py::object& decoder, const Generate& generate) {
    def(decoder, "generate(self, ids" + generation,
        [generate](const lm::Decoder& f, const Prompt& prompt, I n, double temperature, I top_k, double top_p,
                   double min_p, double penalty, const std::optional<std::variant<Tokens, I>>& eos,
                   lm::PromptCache* kept, const py::object& on_token, Rng& rng) {
            text::Ids ends;
            if (eos)
                ends =
                    std::holds_alternative<I>(*eos) ? text::Ids{std::get<I>(*eos)} : std::get<Tokens>(*eos).ids;
            const lm::GenerateOptions options{
                .max_new_tokens = n,
                .sampling = {temperature, top_k, &rng, top_p, min_p},
                .kept = kept,
                .end_ids = ends,
                .repetition_penalty = penalty,
                .logits = [](T logits, const text::Ids&) {  // Ctrl-C
                    return PyErr_CheckSignals() == 0 ? logits : throw py::error_already_set();
                }};
            return generate(f, prompt, options, on_token);
        });
}

void bind_decoder(const py::object& nn, py::module_& m) {
    using Config = lm::DecoderConfig;
    py::class_<Config> config(nn, "DecoderConfig");
    for (const auto& [name, size] : {std::pair("vocab_size", &Config::vocab_size),
                                     {"block_size", &Config::block_size},
                                     {"num_layers", &Config::num_layers},
                                     {"num_heads", &Config::num_heads},
                                     {"num_kv_heads", &Config::num_kv_heads},
                                     {"d_model", &Config::d_model},
                                     {"head_dim", &Config::head_dim},
                                     {"dim_feedforward", &Config::dim_feedforward}})
        config.def_readonly(name, size);
    py::class_<lm::Decoder, nn::Module> decoder(nn, "Decoder");
    decoder.def_readonly("config", &lm::Decoder::config);
    def(decoder, "_forward(self, input_ids, attention_mask)",
        [](const lm::Decoder& f, T ids, T mask) { return f(ids, {.attention_mask = mask}); });
    def(decoder, "_clone(self)", [](const lm::Decoder& f) { return nn::clone(f); });
    def(decoder, "save_pretrained(self, save_directory)",
        [](const lm::Decoder& f, Path folder) { lm::save_pretrained(folder, f); });

    py::class_<lm::PromptCache> kept(m, "PromptCache");
    kept.def(py::init(), Signature("PromptCache()"));
    kept.def(
        py::init([](const lm::Decoder& f, I capacity) { return lm::PromptCache{f.make_caches({}, capacity)}; }),
        Signature("PromptCache(model, capacity)"));
    kept.def_readonly("ids", &lm::PromptCache::ids);
    def_generate<Tokens>(decoder, [](const lm::Decoder& f, const Tokens& prompt,
                                     const lm::GenerateOptions& options, const py::object& on_token) {
        return lm::generate(f, prompt.ids, options,
                            [&](I id) { return on_token.is_none() || !on_token(id).is(py::bool_(false)); });
    });
    def_generate<std::vector<Tokens>>(
        decoder, [](const lm::Decoder& f, const std::vector<Tokens>& prompts,
                    const lm::GenerateOptions& options, const py::object& on_token) {
            if (!on_token.is_none()) throw ValueError("generate: on_token is for one prompt; leave it out");
            std::vector<text::Ids> ids;
            for (const Tokens& prompt : prompts) ids.push_back(prompt.ids);
            return lm::generate_batch(f, ids, options);
        });
    def(m, "_load_language(path, dtype, ignore_keys)",
        [](Path path, std::optional<DType> dtype, const std::vector<std::string>& ignore_keys) {
            const lm::Pretrained read = lm::load_language(path, {dtype, ignore_keys});
            return py::make_tuple(read.model, read.tokenizer, read.chat_template);
        });
}

template <class Model>
void def_log_likelihood(py::module_& m) {
    def(m, "log_likelihood(model, ids, window=None, stride=None)",
        [](const Model& f, const Tokens& tokens, std::optional<I> window, std::optional<I> stride) {
            return lm::log_likelihood(f, tokens.ids, window, stride);
        });
}

}  // namespace

void bind_language(py::module_& m, const py::object& nn) {
    bind_tokenizer(m);
    bind_chat_template(m);
    bind_decoder(nn, m);
    py::class_<lm::Likelihood> found(m, "Likelihood");
    found.def_readonly("nats", &lm::Likelihood::nats).def_readonly("tokens", &lm::Likelihood::tokens);
    def(found, "mean(self)", [](const lm::Likelihood& f) { return f.mean(); });
    def_log_likelihood<lm::Decoder>(m), def_log_likelihood<lm::GPT>(m);
    def(nn.attr("Module"), "_hook_at(self, path, f)",
        [](const nn::Module& module, const std::string& path, const std::function<Tensor(T)>& f) {
            return std::any(std::make_shared<nn::ForwardHook>(module.hook(path, [f](T y) {
                const Tensor changed = f(y);
                return changed.defined() ? changed : y;
            })));
        });
}
