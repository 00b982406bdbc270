#include <cmath>

#include "environment.h"
#include "gguf_writer.h"
#include "places.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

const fs::path golden = fs::path(places::golden()) / "io/python.gguf";  // by make_gguf_golden.py

template <class T>
std::string number(T value) {
    return GgufWriter::number(value);
}
}  // namespace

TEST_CASE("gguf: metadata of every type that Python's gguf writes is read", "[io][gguf]") {
    const io::Gguf file = io::load_gguf(golden);
    const io::GgufMetadata& meta = file.metadata;
    CHECK(meta.values().size() == 26);
    CHECK(meta.text("general.architecture") == "llama");
    CHECK(meta.integer("general.alignment") == 64);
    const auto integers = [&](const std::string& type, std::int64_t low, std::int64_t high) {
        INFO(type);
        CHECK(meta.integer("value." + type) == high);
        CHECK(meta.number("value." + type) == static_cast<double>(high));
        CHECK(meta.integers("array." + type) == std::vector<std::int64_t>{low, 1, high});
    };
    integers("uint8", 0, 255);
    integers("int8", -128, 127);
    integers("uint16", 0, 65535);
    integers("int16", -32768, 32767);
    integers("uint32", 0, 4294967295);
    integers("int32", -2147483648, 2147483647);
    integers("uint64", 0, INT64_MAX);
    integers("int64", INT64_MIN, INT64_MAX);
    CHECK(meta.number("value.float32") == static_cast<double>(0.1F));
    CHECK(meta.number("value.float64") == 0.1);
    CHECK(meta.numbers("array.float32") == std::vector<double>{-0.5, static_cast<double>(0.1F), INFINITY});
    CHECK(meta.numbers("array.float64") == std::vector<double>{-0.5, 0.1, INFINITY});
    CHECK(meta.boolean("value.bool"));
    CHECK(std::get<std::vector<bool>>(meta.values().at("array.bool")) == std::vector<bool>{true, false, true});
    CHECK(meta.text("value.string") == "größe\n");
    CHECK(meta.strings("array.string") == std::vector<std::string>{"a", "größe", " Ġthe"});
}

TEST_CASE("gguf: tensors of every type that Python's gguf writes are read", "[io][gguf]") {
    const io::Gguf file = io::load_gguf(golden);
    const auto halves = [](const Shape& shape, DType dtype) {
        return ((arange(shape.numel()).to(float64) - 2) / 2).to(dtype).reshape(shape);
    };
    REQUIRE(file.tensors.size() == 5 + 2 * 8);
    CHECK(file.tensors[0].first == "F32");
    CHECK(same_bits(file.at("F32"), halves({2, 3, 4, 5}, float32)));
    CHECK(same_bits(file.at("F16"), halves({3, 4}, float16)));
    CHECK(same_bits(file.at("BF16"), halves({3, 4}, bfloat16)));
    CHECK(same_bits(file.at("F64"), halves({2, 1, 3}, float64)));
    CHECK(same_bits(file.at("I64"), tensor({INT64_MIN, std::int64_t{-1}, INT64_MAX})));
    for (const DType format : {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q4_K,
                               DType::Q5_K, DType::Q6_K}) {
        INFO(name(format));
        const Tensor w = file.at(name(format)), expected = file.at(name(format) + std::string(".weights"));
        CHECK(w.dtype() == format);
        CHECK(w.shape() == Shape{2, blocks_of(format).length == 256 ? 256 : 96});
        CHECK(same_bits(w.to(float32), expected));
    }
}

TEST_CASE("gguf: a file of the tests' writer is read back, in the file's order", "[io][gguf]") {
    const io::Gguf file = io::load_gguf(golden);
    GgufWriter writer;
    writer.alignment = 64;
    for (const auto& [key, value] : file.metadata.values()) writer.add(key, value);
    for (auto x = file.tensors.rbegin(); x != file.tensors.rend(); ++x) writer.add(x->first, x->second);
    const io::Gguf again = load_bytes(writer.bytes());
    CHECK(again.metadata.values() == file.metadata.values());
    REQUIRE(again.tensors.size() == file.tensors.size());
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
        const auto& [name, x] = file.tensors[file.tensors.size() - 1 - i];
        CHECK(again.tensors[i].first == name);
        CHECK(same_bits(again.tensors[i].second, x));
    }
}

TEST_CASE("gguf: values stand in any order, with padding of any bytes, and the last may lack it",
          "[io][gguf]") {
    GgufWriter file;
    file.padding.assign(1 << 10, 'p');
    file.info("second", {1}, 0, 32);
    file.info("first", {2}, 0, 0);
    file.values = number(1.0F) + number(2.0F) + std::string(24, 'p') + number(3.0F);
    for (const std::size_t padding : {0, 1, 31}) {
        const io::Gguf read = load_bytes(file.bytes() + std::string(padding, 'p'));
        CHECK(read.tensors[0].first == "second");
        CHECK(same_bits(read.at("second"), tensor({3.0})));
        CHECK(same_bits(read.at("first"), tensor({1.0, 2})));
    }
}

TEST_CASE("gguf: version 2, other alignments, scalars and tensors without elements are read", "[io][gguf]") {
    GgufWriter file = small_gguf();
    file.version = 2;
    CHECK(load_bytes(file.bytes()).at("x").at(1, 2) == 6);
    for (const std::uint64_t alignment : {1, 2, 8, 256}) {
        GgufWriter other;
        other.alignment = alignment;
        other.entry("general.alignment", 4, number(static_cast<std::uint32_t>(alignment)));
        other.add("a", {3}, 0, number(1.0F) + number(2.0F) + number(3.0F));
        other.add("scalar", {}, 0, number(5.0F));
        other.add("nothing", {0, 3}, 0, "");
        other.add("no rows", {32, 0}, 8, "");
        other.add("no columns", {0, 2}, 8, "");
        other.add("b", {1}, 28, number(7.0));
        const io::Gguf read = load_bytes(other.bytes());
        CHECK(read.at("a").at(2) == 3);
        CHECK(read.at("scalar").item() == 5);
        CHECK(read.at("scalar").rank() == 0);
        CHECK(read.at("nothing").shape() == Shape{3, 0});
        CHECK(read.at("no rows").shape() == Shape{0, 32});
        CHECK(read.at("no columns").shape() == Shape{2, 0});
        CHECK(read.at("b").item() == 7);
    }
    const io::Gguf empty = load_bytes(GgufWriter().bytes());
    CHECK((empty.tensors.empty() && empty.metadata.values().empty()));
}

TEST_CASE("gguf: what the metadata lacks or has as another type is refused with file and key", "[io][gguf]") {
    GgufWriter file = small_gguf();
    file.add("n", std::int64_t{3});
    file.add("f", 2.5);
    file.add("b", false);
    file.add("empty", std::vector<std::string>{});
    const io::Gguf read = load_bytes(file.bytes());
    const io::GgufMetadata& meta = read.metadata;
    CHECK((meta.has("n") && !meta.has("m")));
    CHECK((read.has("x") && !read.has("y")));
    refuses<IndexError>("gguf: there is no tensor \"y\" among 2", [&] { read.at("y"); });
    CHECK((meta.integer("m", 7) == 7 && meta.integer("n", 7) == 3));
    CHECK((meta.number("m", 0.5) == 0.5 && meta.number("f", 0.5) == 2.5 && meta.number("n", 0.5) == 3));
    CHECK((meta.boolean("m", true) && !meta.boolean("b", true)));
    CHECK(meta.strings("empty").empty());
    const auto refused = [](const auto& act, const std::string& reason) {
        const std::string message = message_of<IoError>(act);
        CHECK(message.starts_with("cannot read "));
        CHECK(message.ends_with("/file: its metadata has " + reason));
    };
    refused([&] { meta.integer("m"); }, "no \"m\"");
    refused([&] { meta.number("m"); }, "no \"m\"");
    refused([&] { meta.text("\x1b"); }, "no \"\\x1b\"");
    refused([&] { meta.integer("f", 7); }, "\"f\" as a number, and needs it as an integer");
    refused([&] { meta.number("b", 7); }, "\"b\" as a bool, and needs it as a number");
    refused([&] { meta.boolean("n", true); }, "\"n\" as an integer, and needs it as a bool");
    refused([&] { meta.text("n"); }, "\"n\" as an integer, and needs it as a string");
    refused([&] { meta.integers("empty"); },
            "\"empty\" as an array of strings, and needs it as an array of integers");
    refused([&] { meta.numbers("empty"); },
            "\"empty\" as an array of strings, and needs it as an array of numbers");
    refused([&] { meta.strings("general.architecture"); },
            "\"general.architecture\" as a string, and needs it as an array of strings");
}

TEST_CASE("gguf: a model in blocks runs as Weft's own blocks do", "[io][gguf]") {
    Rng rng(1);
    const Tensor x = randn({3, 64}, rng);
    const Tensor own = pack(randn({8, 64}, rng), DType::Q8_0);
    GgufWriter file;
    file.add("w", own);
    CHECK(same_bits(linear(x, load_bytes(file.bytes()).at("w")), linear(x, own)));
}
