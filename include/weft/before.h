// Names of the edition before, 0.1: each says its new one where it is used. They go with 0.3; docs/names.md
// lists them.
#pragma once

#include "weft/training.h"

namespace weft::nn {

using GPT [[deprecated("lm::GPT")]] = lm::GPT;
using GPTConfig [[deprecated("lm::GPTConfig")]] = lm::GPTConfig;
using GPT2Options [[deprecated("lm::GPT2Options")]] = lm::GPT2Options;
using GenerateOptions [[deprecated("lm::GenerateOptions")]] = lm::GenerateOptions;
using GenerateTextOptions [[deprecated("lm::GenerateTextOptions")]] = lm::GenerateTextOptions;
using GeneratedText [[deprecated("lm::GeneratedText")]] = lm::GeneratedText;
using SampleOptions [[deprecated("lm::SampleOptions")]] = lm::SampleOptions;

[[deprecated("lm::check_state_dict")]] inline void check_state_dict(const lm::GPTConfig& config,
                                                                    const NamedTensors& state) {
    lm::check_state_dict(config, state);
}
[[deprecated("lm::gpt2_config")]] inline lm::GPTConfig gpt2_config(const std::filesystem::path& path) {
    return lm::gpt2_config(path);
}
[[deprecated("lm::from_gpt2")]] inline NamedTensors from_gpt2(const NamedTensors& state,
                                                              const lm::GPTConfig& config) {
    return lm::from_gpt2(state, config);
}
[[deprecated("lm::load_gpt2")]] inline lm::GPT load_gpt2(const std::filesystem::path& folder,
                                                         const lm::GPT2Options& options = {}) {
    return lm::load_gpt2(folder, options);
}
[[deprecated("lm::sample")]] inline std::int64_t sample(const Tensor& logits,
                                                        const lm::SampleOptions& options) {
    return lm::sample(logits, options);
}
[[deprecated("lm::generate")]] inline text::Ids generate(
    const lm::GPT& model, const text::Ids& prompt, const lm::GenerateOptions& options,
    const std::function<bool(std::int64_t)>& on_token = {}) {
    return lm::generate(model, prompt, options, on_token);
}
[[deprecated("lm::generate_text")]] inline lm::GeneratedText generate_text(
    const lm::GPT& model, const text::Tokenizer& tokenizer, const std::string& prompt,
    const lm::GenerateTextOptions& options) {
    return lm::generate_text(model, tokenizer, prompt, options);
}

}  // namespace weft::nn

namespace weft::viz {

using Report [[deprecated("report::Report")]] = report::Report;
using ReportLoss [[deprecated("report::ReportLoss")]] = report::ReportLoss;
using ReportRun [[deprecated("report::ReportRun")]] = report::ReportRun;
using PageModel [[deprecated("report::PageModel")]] = report::PageModel;

}  // namespace weft::viz

namespace weft::text {

using Decoded [[deprecated("weft::Decoded")]] = weft::Decoded;

template <class T, class... Format>
[[deprecated("weft::to_chars")]] std::string chars(T value, Format... format) {
    return to_chars(value, format...);
}
template <class T>
[[deprecated("weft::from_chars")]] std::from_chars_result read(std::string_view text, T& value) {
    return from_chars(text, value);
}
[[deprecated("weft::format_number")]] inline std::string number(double value, int digits = 6) {
    return format_number(value, digits);
}
[[deprecated("weft::format_index")]] inline std::string index(std::int64_t i, const Shape& shape) {
    return format_index(i, shape);
}
[[deprecated("weft::decode_at")]] inline weft::Decoded decode_at(std::string_view text, std::size_t at) {
    return weft::decode_at(text, at);
}
[[deprecated("weft::append_utf8")]] inline void append_utf8(std::string& text, char32_t c) {
    weft::append_utf8(text, c);
}
[[deprecated("weft::is_utf8")]] inline bool is_utf8(std::string_view text) { return weft::is_utf8(text); }
[[deprecated("weft::is_hidden")]] inline bool is_hidden(char32_t c) { return weft::is_hidden(c); }
[[deprecated("weft::displayed")]] inline std::string displayed(std::string_view text, std::size_t& at) {
    return weft::displayed(text, at);
}
[[deprecated("weft::excerpt")]] inline std::string excerpt(std::string_view text, std::size_t characters = 60) {
    return weft::excerpt(text, characters);
}

}  // namespace weft::text

namespace weft::training {

template <class Number>
[[deprecated("weft::read_number")]] std::string read_number(const std::string& text, Number low, Number high,
                                                            Number& value) {
    return weft::read_number(text, low, high, value);
}
template <class Number>
[[deprecated("weft::number_of")]] Number number_of(const std::string& what, const std::string& text,
                                                   Number low = 0,
                                                   Number high = std::numeric_limits<Number>::max()) {
    return weft::number_of(what, text, low, high);
}

}  // namespace weft::training

namespace weft::dist {

[[deprecated("training::evaluate")]] inline double evaluate(
    const std::vector<training::Batch>& batches, const std::function<Tensor(const training::Batch&)>& loss_of,
    Group& group, const std::function<bool()>& stop = {}) {
    return training::evaluate(batches, loss_of, group, stop);
}

}  // namespace weft::dist
