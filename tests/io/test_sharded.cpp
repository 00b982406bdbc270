#include "catch.h"
#include "refusal.h"
#include "scratch.h"
#include "weft/autograd/raw.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

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
