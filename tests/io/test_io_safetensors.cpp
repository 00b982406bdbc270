
#include <cmath>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "environment.h"
#include "golden/golden.h"
#include "places.h"
#include "refusal.h"
#include "weft/core.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"
#include "weft/lm/gpt.h"
#include "weft/packed/packed.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

// A file with this header and these bytes of values.
std::string file_of(const std::string& header, const std::string& values = "") {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i)
        bytes[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
    return bytes + header + values;
}

// What load_safetensors says about a file of these bytes; its path is left out.
std::string refusal(const std::string& bytes) {
    const Scratch scratch;
    const fs::path path = scratch / "broken.safetensors";
    std::ofstream(path, std::ios::binary) << bytes;
    const std::string message = message_of<IoError>([&] { io::load_safetensors(path); });
    const std::string start = "cannot read " + path.string() + ": ";
    CHECK(message.starts_with(start));
    return message.substr(std::min(start.size(), message.size()));
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
           "}";
}

// A folder with an index and the two shards that it names.
class Sharded {
public:
    Sharded() {
        io::save_safetensors(scratch / "a.safetensors", {{"x", ones({2, 3})}, {"y", arange(4)}});
        io::save_safetensors(scratch / "b.safetensors", {{"z", zeros({1})}});
        index(R"({"metadata": {"total_size": 60}, "weight_map": )"
              R"({"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"}})");
    }
    Scratch scratch;

    void index(const std::string& json) { io::save_text(scratch / "model.safetensors.index.json", json); }
    io::NamedTensors load() const { return io::load_sharded_checkpoint(scratch.folder()); }
    // What is said; the folder is left out.
    std::string refusal() const {
        const std::string message = message_of<IoError>([&] { load(); });
        const std::string start = "cannot read " + scratch.folder().string();
        CHECK(message.starts_with(start));
        return message.substr(std::min(start.size(), message.size()));
    }
    std::string refusal(const std::string& json) {
        index(json);
        return refusal();
    }
};

const std::string index_file = "/model.safetensors.index.json: ";

}  // namespace

TEST_CASE("safetensors: every type, shape and the metadata come back as they were written", "[io]") {
    const Scratch scratch;
    Rng rng(3);
    const Tensor matrix = randn({3, 4}, rng), wide = randn({2, 1, 3}, rng, float64),
                 scalar = tensor(2.5, float64);
    const Tensor ids = from_vector(std::vector<std::int64_t>{-1, 0, 9'000'000'000'000'000'000}, {3});
    const Tensor mask = from_vector(std::vector<bool>{true, false, true}, {3, 1});
    const io::Metadata metadata = {{"letters", "aé\n\"\\"}, {"empty", ""}};
    io::save_safetensors(scratch / "a.safetensors",
                         {{"mask", mask},
                          {"matrix", matrix},
                          {"wide", wide},
                          {"scalar", scalar},
                          {"ids", ids},
                          {"nothing", zeros({0, 5})}},
                         metadata);
    const io::SafeTensors read = io::load_safetensors(scratch / "a.safetensors");
    CHECK(read.metadata == metadata);
    CHECK(read.meta("letters") == "aé\n\"\\");
    REQUIRE(read.tensors.size() == 6);
    CHECK(read.at("matrix").to_vector<float>() == matrix.to_vector<float>());
    CHECK(read.at("matrix").shape() == Shape{3, 4});
    CHECK(read.at("wide").to_vector<double>() == wide.to_vector<double>());
    CHECK(read.at("wide").shape() == Shape{2, 1, 3});
    CHECK(read.at("scalar").item() == 2.5);
    CHECK(read.at("scalar").rank() == 0);
    CHECK(read.at("ids").to_vector<std::int64_t>() == ids.to_vector<std::int64_t>());
    CHECK(read.at("mask").to_vector<bool>() == mask.to_vector<bool>());
    CHECK(read.at("nothing").shape() == Shape{0, 5});
    refuses<IndexError>("no tensor \"other\"", [&] { read.at("other"); });
    refuses<IndexError>("no metadata \"other\"", [&] { read.meta("other"); });
}

TEST_CASE("safetensors: the bytes are those of the format", "[io]") {
    const Scratch scratch;
    io::save_safetensors(scratch / "a", {{"x", tensor({1.0, -2})}}, {{"k", "v"}});
    std::string header = "{\"__metadata__\":{\"k\":\"v\"}," + entry("x", "F32", "[2]", "[0,8]") + "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    CHECK(io::load_text(scratch / "a") == file_of(header, std::string("\0\0\x80\x3f\0\0\0\xc0", 8)));
}

TEST_CASE("safetensors: what Python's safetensors writes is read, and written again byte for byte", "[io]") {
    const fs::path golden = fs::path(places::golden()) / "io/python.safetensors";  // by make_io_golden.py
    const auto halves = [](const Shape& shape, DType dtype) {
        return ((arange(shape.numel()).to(float64) - 2) / 2).to(dtype).reshape(shape);
    };
    const io::NamedTensors expected = {
        {"ids", arange(5)},
        {"größe", halves({2}, float64)},
        {"scalar", halves({}, float64)},
        {"blocks.0.weight", halves({2, 3, 4}, float32)},
        {"matrix", halves({3, 4}, float32)},
        {"nothing", zeros({0, 3})},
        {"mask", from_vector(std::vector<bool>{true, false, false, true, false, false, true, false}, {2, 4})}};
    const io::SafeTensors read = io::load_safetensors(golden);
    CHECK(read.metadata == io::Metadata{{"größe", "made by Python"}});
    REQUIRE(read.tensors.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(read.tensors[i].first == expected[i].first);
        CHECK(same_bits(read.tensors[i].second, expected[i].second));
    }
    const Scratch scratch;
    io::save_safetensors(scratch / "a", expected, read.metadata);
    CHECK((io::load_text(scratch / "a") == io::load_text(golden)));
}

TEST_CASE("safetensors: a transposed view is written in its own order", "[io]") {
    const Scratch scratch;
    io::save_safetensors(scratch / "a", {{"x", tensor({{1.0, 2, 3}, {4, 5, 6}}).T()}});
    const Tensor x = io::load_safetensors(scratch / "a").at("x");
    CHECK(x.shape() == Shape{3, 2});
    CHECK(x.to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("safetensors: a weight that is not a number is read as it is", "[fault][io]") {
    const Scratch scratch;
    io::save_safetensors(scratch / "a", {{"x", tensor({NAN, INFINITY})}});
    const std::vector<float> x = io::load_safetensors(scratch / "a").at("x").to_vector<float>();
    CHECK(std::isnan(x[0]));
    CHECK(std::isinf(x[1]));
}

TEST_CASE("safetensors: a missing file, or a folder, is refused", "[fault][io]") {
    const Scratch scratch;
    refuses<IoError>("none: no such file", [&] { io::load_safetensors(scratch / "none"); });
    refuses<IoError>("it is a directory", [&] { io::load_safetensors(scratch.folder()); });
}

TEST_CASE("safetensors: a file shorter than it claims is refused at every length", "[fault][io]") {
    CHECK(contains(refusal(""), "it has 0 bytes"));
    CHECK(contains(refusal("1234567"), "it has 7 bytes"));
    CHECK(contains(refusal(std::string("\x64\0\0\0\0\0\0\0{}", 10)), "claims 100 bytes, and 2 follow"));
    CHECK(contains(refusal(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)),
                   "claims 100000001 bytes; at most 100000000"));
    CHECK(contains(refusal(std::string(8, '\xff') + "{}"), "claims 18446744073709551615 bytes"));
    CHECK(contains(refusal("PK\3\4...."), "it is a file of torch.save or another archive"));
    const std::string whole = file_of("{" + entry("x", "F32", "[2]", "[0,8]") + "}", "12345678");
    for (std::size_t length = 0; length < whole.size(); ++length) refusal(whole.substr(0, length));
}

TEST_CASE("safetensors: bfloat16 and float16 are read and written as Python's library writes them",
          "[io][half]") {
    const fs::path golden = fs::path(places::golden()) / "io/half.safetensors";
    const io::SafeTensors read = io::load_safetensors(golden);
    REQUIRE(read.at("brain").dtype() == bfloat16);
    REQUIRE(read.at("half").dtype() == float16);
    const auto brain = read.at("brain").to_vector<BFloat16>();
    const auto half = read.at("half").to_vector<Float16>();
    std::size_t equal = 0;
    for (std::size_t i = 0; i < 5040; ++i) equal += brain.at(i).bits == 13 * i && half.at(i).bits == 13 * i;
    CHECK(equal == brain.size());
    const Scratch scratch;
    io::save_safetensors(
        scratch / "a",
        {{"wide", ones({2})}, {"brain", read.at("brain").T().contiguous().T()}, {"half", read.at("half")}});
    CHECK((io::load_text(scratch / "a") == io::load_text(golden)));
}

TEST_CASE("safetensors: a header that is not the format's is refused", "[fault][io]") {
    CHECK(contains(refusal(file_of("{\"x\":")), "not valid JSON"));
    CHECK(contains(refusal(file_of("{\"\xff\":1}")), "not valid JSON"));
    for (const char* start : {"[]", " {}", "\xEF\xBB\xBF{}"})
        CHECK(contains(refusal(file_of(start)), "its header does not begin with \"{\""));
    CHECK(contains(refusal(file_of("{\"x\":" + std::string(100'000, '['))), "nested too deeply"));
    for (const char* more : {"{}x", "{}{}", "{}\xEF\xBB\xBF"})
        CHECK(contains(refusal(file_of(more)), "its header is not valid JSON at byte 3"));
    for (const std::string& zero : {std::string("{}\0", 3), std::string("{}\0hidden", 9)})
        CHECK(contains(refusal(file_of(zero)), "its header is not valid JSON at byte 3: a zero byte"));
    const std::string x = entry("x", "F32", "[1]", "[0,4]");
    CHECK(contains(refusal(file_of("{" + x + "," + x + "}", "1234")), "has \"x\" twice"));
    CHECK(contains(
        refusal(file_of("{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                        "1234")),
        "has \"dtype\" twice"));
    CHECK(contains(refusal(file_of("{\"__metadata__\":{\"a\":1}}")), "\"a\", which is not a string"));
    CHECK(contains(refusal(file_of("{\"__metadata__\":[]}")), "__metadata__ is not an object"));
    CHECK(contains(refusal(file_of("{\"x\":[]}")), "tensor \"x\": its entry must have"));
    CHECK(
        contains(refusal(file_of("{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", "1234")), "its entry must have"));
    const std::string more_keys = "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"rank\":1}}";
    CHECK(contains(refusal(file_of(more_keys, "1234")), "and nothing else"));
    CHECK(contains(refusal(file_of("{" + entry("x", "F8_E4M3", "[2]", "[0,2]") + "}", "12")),
                   "its type is \"F8_E4M3\"; F32, F64, F16, BF16, I64 and BOOL are read"));
    CHECK(contains(refusal(file_of("{" + entry("x", "BF16", "[3]", "[0,4]") + "}", "1234")),
                   "its shape (3,) of BF16 takes 6 bytes"));
    CHECK(contains(refusal(file_of("{" + entry("x", "F32", "[-1]", "[0,4]") + "}", "1234")),
                   "its shape [-1] is not"));
    CHECK(contains(refusal(file_of("{" + entry("x", "F32", "[1.0]", "[0,4]") + "}", "1234")),
                   "its shape [1.0] is not"));
    CHECK(contains(refusal(file_of("{" + entry("x", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", "1234")),
                   "at most 8 sizes"));
}

TEST_CASE("safetensors: offsets that do not cover the values exactly once are refused", "[fault][io]") {
    const auto one = [](const std::string& shape, const std::string& offsets) {
        return refusal(file_of("{" + entry("x", "F32", shape, offsets) + "}", "12345678"));
    };
    CHECK(contains(one("[1]", "[4,0]"), "end before they begin"));
    CHECK(contains(one("[1]", "[-4,0]"), "are not a begin and an end"));
    CHECK(contains(one("[1]", "[0,18446744073709551616]"), "are not a begin and an end"));
    CHECK(contains(one("[1]", "[0]"), "are not a begin and an end"));
    CHECK(contains(one("[4]", "[0,16]"), "reach past the file's 8 bytes"));
    CHECK(contains(one("[3]", "[0,8]"), "takes 12 bytes, and its data_offsets give 8"));
    CHECK(contains(one("[4611686018427387904,4]", "[0,8]"), "overflows"));
    CHECK(contains(one("[1]", "[0,4]"), "4 bytes follow its last tensor"));
    CHECK(contains(one("[1]", "[4,8]"), "a hole of 4 bytes stands before"));
    const std::string overlap =
        "{" + entry("x", "F32", "[2]", "[0,8]") + "," + entry("y", "F32", "[1]", "[4,8]") + "}";
    CHECK(contains(refusal(file_of(overlap, "12345678")), "tensor \"y\": its values overlap"));
    CHECK(contains(refusal(file_of("{" + entry("x", "BOOL", "[2]", "[0,2]") + "}", "\x01\x02")),
                   "neither 0 nor 1"));
}

TEST_CASE("a module saved to a file is loaded with the same bits, tied weights and buffers too", "[io][nn]") {
    const Scratch scratch;
    const fs::path path = scratch / "gpt.safetensors";
    const lm::GPTConfig config{
        .vocab_size = 7, .block_size = 4, .num_layers = 1, .num_heads = 2, .d_model = 4, .dropout = 0.1};
    Rng first(1), second(2);
    const lm::GPT net(config, first);
    lm::GPT other(config, second);
    io::save(net, path);
    io::load(other, path);
    const auto saved = net.state_dict(), loaded = other.state_dict();
    for (std::size_t i = 0; i < saved.size(); ++i) CHECK(same_bits(saved[i].second, loaded[i].second));
    CHECK(other.head.weight.handle() == other.token_embedding.weight.handle());
    CHECK(other.head.weight.requires_grad());
}

TEST_CASE("load refuses a file that does not fit the module, and changes nothing", "[io][nn]") {
    const Scratch scratch;
    const fs::path path = scratch / "net.safetensors";
    nn::Linear net(3, 2, default_rng());
    const auto before = net.weight.to_vector<float>();
    const Tensor weight = ones({2, 3}), bias = ones({2});
    const auto file = [&](const io::NamedTensors& tensors) { io::save_safetensors(path, tensors); };
    const auto load = [&] { io::load(net, path); };

    refuses<IoError>("no such file", load);
    file({{"weight", weight}});
    refuses<ValueError>("missing: bias (2,)", load);
    file({{"weight", weight}, {"bias", bias}, {"scale", bias}});
    refuses<ValueError>("unexpected: scale (2,)", load);
    file({{"weight", weight.T()}, {"bias", bias}});
    refuses<ShapeError>("weight: shape (3, 2), but the module's is (2, 3)", load);
    file({{"weight", weight}, {"bias", bias.to(float64)}});
    refuses<DTypeError>("bias: float64, but the module's is float32", load);
    io::save_text(path, "not a safetensors file");
    CHECK_THROWS_AS(load(), IoError);
    CHECK(net.weight.to_vector<float>() == before);

    file({{"weight", weight}, {"scale", bias}});
    io::load(net, path, /*strict=*/false);
    CHECK(all(net.weight == 1));
}

TEST_CASE("a checkpoint in shards is read, and one file is preferred to them", "[io]") {
    Sharded shards;
    const io::NamedTensors state = shards.load();
    REQUIRE(state.size() == 3);
    const auto is = [](const io::NamedTensors::value_type& entry, const std::string& name, const Tensor& x) {
        return entry.first == name && same_bits(entry.second, x);
    };
    CHECK(is(state[0], "y", arange(4)));  // in the order of the shards' names, then of the file
    CHECK(is(state[1], "x", ones({2, 3})));
    CHECK(is(state[2], "z", zeros({1})));
    std::int64_t announced = 0;
    (void)io::load_sharded_checkpoint(shards.scratch.folder(), [&](std::int64_t bytes) { announced = bytes; });
    CHECK(announced == static_cast<std::int64_t>(fs::file_size(shards.scratch / "a.safetensors") +
                                                 fs::file_size(shards.scratch / "b.safetensors")));
    shards.index(R"({"weight_map": {}})");
    CHECK(shards.load().empty());
    io::save_safetensors(shards.scratch / "model.safetensors", {{"w", ones({5})}});
    shards.index("not JSON");
    REQUIRE(shards.load().size() == 1);
    CHECK(is(shards.load()[0], "w", ones({5})));
}

TEST_CASE("a folder without a checkpoint is refused with the files that were looked for", "[fault][io]") {
    const Scratch scratch;
    const auto load = [&] { io::load_sharded_checkpoint(scratch.folder()); };
    CHECK(message_of<IoError>(load) ==
          "cannot read " + scratch.folder().string() +
              ": it has neither model.safetensors nor model.safetensors.index.json");
    refuses<IoError>("none: it has neither model.safetensors nor",
                     [&] { io::load_sharded_checkpoint(scratch / "none"); });
    io::save_text(scratch / "model.safetensors", "");
    refuses<IoError>("model.safetensors: it has 0 bytes", load);
}

TEST_CASE("an index that is not one, or leads out of its folder, is refused", "[fault][io]") {
    Sharded shards;
    CHECK(contains(shards.refusal("{"), index_file + "it is not valid JSON at byte 2"));
    CHECK(contains(shards.refusal("[]"), index_file + "it is not a JSON object"));
    CHECK(
        contains(shards.refusal(R"({"weight_map": {"x": "a", "x": "a"}})"), index_file + "it has \"x\" twice"));
    for (const char* json : {"{}", R"({"weight_map": []})", R"({"weight_map": "a.safetensors"})"})
        CHECK(shards.refusal(json) == index_file + "it has no object \"weight_map\"");
    for (const char* file : {"1", "null", "[\"a.safetensors\"]"})
        CHECK(shards.refusal(R"({"weight_map": {"x": )" + std::string(file) + "}}") ==
              index_file + "its weight_map has tensor \"x\", whose file is not a string");
    for (const char* file :
         {"", ".", "..", "/etc/passwd", "../a.safetensors", "b/a.safetensors", "b\\\\a", "a\\u0000"})
        CHECK(contains(shards.refusal(R"({"weight_map": {"x": ")" + std::string(file) + "\"}}"),
                       "\", which is no name of a file beside it"));
    const std::string nasty = "\\u001b[2J" + std::string(100'000, 'n');
    CHECK(shards.refusal(R"({"weight_map": {")" + nasty + R"(": 1}})").size() < 300);
    CHECK(contains(shards.refusal(R"({"weight_map": {"x": "/)" + nasty + "\"}}"), "\"/\\x1b[2Jn"));
}

TEST_CASE("shards that are missing, damaged or do not fit their index are refused", "[fault][io]") {
    const auto with = [](const auto& change) {
        Sharded shards;
        change(shards);
        return shards.refusal();
    };
    CHECK(with([](Sharded& s) { fs::remove(s.scratch / "b.safetensors"); }) == "/b.safetensors: no such file");
    CHECK(contains(with([](Sharded& s) { fs::resize_file(s.scratch / "b.safetensors", 70); }),
                   "/b.safetensors: "));
    CHECK(with([](Sharded& s) {
              io::save_safetensors(s.scratch / "b.safetensors", {{"other", zeros({1})}});
          }) == "/b.safetensors: tensor \"other\" is not in the index");
    CHECK(with([](Sharded& s) {
              io::save_safetensors(s.scratch / "b.safetensors", {{"x", zeros({1})}, {"z", zeros({1})}});
          }) == "/b.safetensors: tensor \"x\" should be in \"a.safetensors\", says the index");
    CHECK(with([](Sharded& s) { io::save_safetensors(s.scratch / "b.safetensors", {}); }) ==
          "/b.safetensors: it lacks tensor \"z\", which the index says it has");
    CHECK(with([](Sharded& s) {
              s.index(R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors", "z": "b.safetensors"}})");
          }) == "/a.safetensors: tensor \"y\" should be in \"b.safetensors\", says the index");
}
