// What fuzzers and tests do with the bytes of a file of unknown origin: read it, use what was read, write it
// and read it again. A reader returns what was refused, or "" where the bytes were good, and throws Broken
// where a promise does not hold.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "environment.h"
#include "gguf_writer.h"
#include "report/content.h"
#include "weft/base/text.h"
#include "weft/io/files.h"
#include "weft/io/json.h"
#include "weft/packed/packed.h"
#include "weft/viz/attention_map.h"
#include "weft/weft.h"

namespace fuzz {

using namespace weft;

struct Broken : std::logic_error {
    using std::logic_error::logic_error;
};
inline void require(bool holds, const char* what) {
    if (!holds) throw Broken(what);
}

// A file in memory.
class File {
public:
    explicit File(const std::string& bytes) : file_(memfd_create("weft", MFD_CLOEXEC)) {
        if (::write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
            throw std::runtime_error("no file in memory");
    }
    ~File() { ::close(file_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

private:
    int file_;
};

// What a message may hold: few characters, and none that moves a terminal's cursor.
inline std::string checked(const std::string& message) {
    require(message.size() < 8000, "a message that is too long");
    for (std::size_t at = 0; at < message.size();) {
        const Decoded c = decode_at(message, at);
        require(c.kind == Decoded::character, "a message that is not UTF-8");
        require(c.value == '\n' || !is_hidden(c.value), "a message with control characters");
        at += c.length;
    }
    return message;
}

template <class Act>
std::string refusal_of(Act act) {
    try {
        act();
    } catch (const Error& error) {
        return checked(error.what());
    }
    return "";
}

inline bool same(const Tensor& a, const Tensor& b) { return weft::same_bits(a, b); }

inline void promise_same(const io::NamedTensors& a, const io::NamedTensors& b) {
    require(a.size() == b.size(), "as many tensors after writing");
    for (std::size_t i = 0; i < a.size(); ++i)
        require(a[i].first == b[i].first && same(a[i].second, b[i].second), "the same tensors after writing");
}

// Where what was read is written to.
inline const std::filesystem::path& folder() {
    static const Scratch scratch;
    return scratch.folder();
}

inline std::string npy(const std::string& bytes) {
    return refusal_of([&] {
        const Tensor x = io::load_npy(File(bytes).path());
        io::save_npy(folder() / "x.npy", x);
        require(same(io::load_npy(folder() / "x.npy"), x), "the same array after writing");
    });
}

inline std::string npz(const std::string& bytes) {
    return refusal_of([&] {
        const io::NamedTensors tensors = io::load_npz(File(bytes).path(), 1 << 20);
        io::save_npz(folder() / "x.npz", tensors);
        promise_same(io::load_npz(folder() / "x.npz"), tensors);
    });
}

inline std::string safetensors(const std::string& bytes) {
    return refusal_of([&] {
        const io::SafeTensors file = io::load_safetensors(File(bytes).path());
        io::save_safetensors(folder() / "x.safetensors", file.tensors, file.metadata);
        const io::SafeTensors again = io::load_safetensors(folder() / "x.safetensors");
        require(again.metadata == file.metadata, "the same metadata after writing");
        for (const auto& [name, x] : file.tensors) require(same(again.at(name), x), "the same tensor");
    });
}

inline std::string written(const io::Gguf& file) {
    GgufWriter writer;
    writer.alignment = static_cast<std::uint64_t>(file.metadata.integer("general.alignment", 32));
    if (!file.tensors.empty()) writer.padding.resize(writer.alignment);
    for (const auto& [key, value] : file.metadata.values()) writer.add(key, value);
    for (const auto& [name, x] : file.tensors) writer.add(name, x);
    return writer.bytes();
}

inline std::string gguf(const std::string& bytes) {
    return refusal_of([&] {
        const io::Gguf file = io::load_gguf(File(bytes).path());
        std::size_t size = 0;
        for (const auto& [name, x] : file.tensors) {
            size += byte_count(x);
            if (is_quantized(x.dtype()))
                require(x.to(float32).shape() == x.shape(), "as many weights in floats");
        }
        require(size <= bytes.size(), "tensors that take no more than the file");
        const std::string once = written(file);
        require(written(io::load_gguf(File(once).path())) == once, "the same file after writing");
    });
}

// model.safetensors.index.json, beside two shards.
inline std::string index(const std::string& bytes) {
    const std::filesystem::path here = folder() / "sharded", name = here / "model.safetensors.index.json";
    if (std::filesystem::create_directories(here)) {
        io::save_safetensors(here / "a.safetensors", {{"x", ones({2})}, {"y", ones({3})}});
        io::save_safetensors(here / "b.safetensors", {{"z", ones({4})}});
    }
    const File file(bytes);
    std::filesystem::remove(name);
    std::filesystem::create_symlink(file.path(), name);
    return refusal_of([&] {
        std::int64_t values = 0;
        for (const auto& [tensor, x] : io::load_sharded_checkpoint(here)) values += x.numel();
        const auto map = nlohmann::json::parse(bytes)["weight_map"];
        require(values == (map.contains("x") ? 5 : 0) + (map.contains("z") ? 4 : 0),
                "the tensors of whole shards");
    });
}

// A GPT-2's config.json.
inline std::string config(const std::string& bytes) {
    const File file(bytes);
    refusal_of([&] {
        const auto value = io::load_json(file.path());
        require(nlohmann::json::parse(bytes) == value, "what the library's own parser reads");
    });
    return refusal_of([&] {
        const lm::GPTConfig config = lm::gpt2_config(file.path());
        require(config.d_model % config.num_heads == 0, "heads that divide d_model");
        lm::check_state_dict(config, {});
    });
}

// vocab.json, and from a line that begins with #version on merges.txt.
inline std::string byte_pairs(const std::string& bytes) {
    static int count = 0;
    const std::filesystem::path here = folder() / ("pairs" + std::to_string(count++ % 2));
    std::filesystem::create_directories(here);
    for (const char* name : {"vocab.json", "merges.txt"}) std::filesystem::remove(here / name);
    const std::size_t merges = std::min(bytes.find("\n#version"), bytes.size() - 1) + 1;
    const File first(bytes.substr(0, merges)), second(bytes.substr(merges));
    std::filesystem::create_symlink(first.path(), here / "vocab.json");
    std::filesystem::create_symlink(second.path(), here / "merges.txt");
    return refusal_of([&] {
        const text::BytePairs pairs = text::BytePairs::load(here);
        require(pairs.decode(pairs.encode(bytes)) == bytes, "a text that comes back");
        pairs.save(folder() / "saved");
        const text::BytePairs again = text::BytePairs::load(folder() / "saved");
        require(again.vocab_size() == pairs.vocab_size() && again.encode(bytes) == pairs.encode(bytes),
                "the same tokeniser");
    });
}

// Any text through every tokeniser.
inline std::string tokenizer(const std::string& text) {
    static const text::BytePairs learned =
        text::BytePairs::train("The thread of the loom, the thread of the weft: 1,204 threads\n", 300);
    require(learned.decode(learned.encode(text)) == text, "byte pairs that come back");
    require(learned.decode(learned.encode_ordinary(text)) == text, "byte pairs of plain text that come back");
    require(text::Bytes().decode(text::Bytes().encode(text)) == text, "bytes that come back");
    const text::BytePairs own = text::BytePairs::train(text, 270, 1);
    require(own.decode(own.encode(text)) == text, "byte pairs learned from a text, of it");

    text::Utf8Stream whole, parts;
    std::string shown = whole.push(text), pieces;
    shown += whole.finish();
    for (std::size_t at = 0; at < text.size(); at += 3) pieces += parts.push(text.substr(at, 3));
    pieces += parts.finish();
    require(pieces == shown && is_utf8(shown), "a stream that pieces do not change");
    return refusal_of([&] {
        const text::Characters characters(text);
        require(is_utf8(text), "characters of UTF-8 alone");
        require(characters.decode(characters.encode(text)) == text, "characters that come back");
        require(text::Characters(characters.vocabulary()).vocab_size() == characters.vocab_size(),
                "one vocabulary");
        text::Characters("a").encode(text);
    });
}

// What shows text: on a terminal, in a picture, in a message.
inline std::string utf8(const std::string& text) {
    std::string again;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        require(c.length > 0 && at + c.length <= text.size(), "a length inside the text");
        if (c.kind == Decoded::character)
            append_utf8(again, c.value);
        else
            again += text.substr(at, c.length);
        at += c.length;
    }
    require(again == text, "characters and broken bytes that make up the text");
    checked(excerpt(text));
    checked(excerpt(text, 3));
    const std::string visible = viz::visible(text);
    checked(visible.substr(0, visible.size() < 8000 ? visible.size() : 0));
    require(display_width(viz::truncated(visible, 12)) <= 12, "a text that is cut to 12 columns");
    try {  // nlohmann's own idea of UTF-8
        const std::string quoted = nlohmann::json(text).dump();
        require(is_utf8(text), "UTF-8 where the JSON library sees some");
        require(nlohmann::json::parse(quoted) == text, "a text that comes back from JSON");
    } catch (const nlohmann::json::type_error&) {
        require(!is_utf8(text), "no UTF-8 where the JSON library sees none");
        return "not UTF-8";
    }
    return "";
}

// The data of a report, in a page that is short.
inline std::string report(const std::string& data) {
    const std::string before(report::page_before_data.substr(report::page_before_data.rfind('<')));
    return refusal_of([&] {
        const File file(before + data + "</script>");
        report::Report report = report::Report::load(file.path());
        const std::string page = report.html();
        require(report::Report::load(File(page).path()).html() == page, "the same page after writing");
        report.truncate(std::int64_t{1} << 52);
        report.parameters(nn::Module("None"));
        report.run(report.run());
        report.fact("command", "text");
        refusal_of([&] { report.compare(file.path()); });  // unless it has eight runs
        std::int64_t step = std::int64_t{1} << 52;
        for (; step < (std::int64_t{1} << 52) + 5; ++step) {
            report.loss(step, {.training = 1, .validation = 2, .learning_rate = 3});
            report.sample(step, "text");
            refusal_of([&] { report.attention(step, {"a"}, {ones({1, 1, 1})}); });  // accepted if there is room
        }
        refusal_of([&] { report.gradients(step, nn::Module("None")); });  // gradients of another model
        const std::string after = report.html();
        require(report::Report::load(File(after).path()).html() == after, "a page that goes on can be read");
        report.truncate(3);
        report.loss(3, {.training = 1});
    });
}

// The model in a report's page.
inline std::string page_model(const std::string& model) {
    const std::string page = report::Report("").html();
    const std::string_view tag = report::page_before_model.substr(report::page_before_model.rfind('<'));
    const std::size_t start = page.find(tag) + tag.size(), end = page.find("</script>", start);
    return refusal_of([&] {
        const auto report = report::Report::load(File(page.substr(0, start) + model + page.substr(end)).path());
        const std::string again = report.html();
        require(report::Report::load(File(again).path()).html() == again, "the same page after writing");
        const report::PageModel found = report.model();
        const Tensor logits = found.decoder(zeros({1}, int64));  // (1, V)
        require(logits.size(-1) == found.tokenizer.vocab_size(), "a logit for each character");
    });
}

// A text that gzip packed.
inline std::string gzip(const std::string& bytes) {
    return refusal_of([&] {
        const std::string text = io::unpacked(bytes, "text.gz");
        require(text.size() <= 200 * bytes.size() + (1 << 20), "a text of bounded size");
        require(text.starts_with("\x1F\x8B") || io::unpacked(text, "text.gz") == text, "a text as it is");
    });
}

// A tokenizer.json.
inline std::string pretrained(const std::string& bytes) {
    const File file(bytes);
    return refusal_of([&] {
        const auto tokenizer = text::PreTrainedTokenizer::load(file.path());
        const std::int64_t V = tokenizer.vocab_size();
        for (const std::string text :
             {"The loom's thread \u2014 1,204 <s> e\u0301\n\n \xFF", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab"})
            for (const bool parse : {false, true}) {
                const text::Ids ids =
                    tokenizer.encode(text, {.add_special_tokens = parse, .parse_special = parse});
                for (const std::int64_t id : ids) require(id >= 0 && id < V, "ids of the vocabulary");
                tokenizer.decode(ids);
            }
        require(tokenizer.end_token_ids().empty() == !tokenizer.eos_token_id(), "an end where a text ends");
    });
}

struct Reader {
    const char* name;  // folder of its corpus
    std::string (*read)(const std::string& bytes);
};
inline constexpr Reader readers[] = {{"npy", npy},
                                     {"npz", npz},
                                     {"safetensors", safetensors},
                                     {"gguf", gguf},
                                     {"index", index},
                                     {"config", config},
                                     {"byte_pairs", byte_pairs},
                                     {"tokenizer", tokenizer},
                                     {"utf8", utf8},
                                     {"report", report},
                                     {"page_model", page_model},
                                     {"gzip", gzip},
                                     {"pretrained", pretrained}};

}  // namespace fuzz
