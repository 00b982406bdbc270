// .npz: NumPy's archives are read, NumPy reads ours, whatever is damaged is refused.
#include <cstring>
#include <fstream>

#include "environment.h"
#include "golden/golden.h"
#include "io/npy.h"
#include "places.h"
#include "refusal.h"
#include "weft/core.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

const fs::path golden = fs::path(places::golden()) / "io";

Tensor halves(const Shape& shape, DType dtype) {
    return ((arange(shape.numel()).to(float64) - 2) / 2).to(dtype).reshape(shape);
}

// CONTENTS of make_io_golden.py.
io::NamedTensors contents() {
    return {
        {"scalar", halves({}, float64)},
        {"matrix", halves({3, 4}, float32)},
        {"blocks.0.weight", halves({2, 3, 4}, float32)},
        {"ids", arange(5)},
        {"mask", from_vector(std::vector<bool>{true, false, false, true, false, false, true, false}, {2, 4})},
        {"nothing", zeros({0, 3})},
        {"größe", halves({2}, float64)}};
}

void check_contents(const io::NamedTensors& found) {
    const io::NamedTensors expected = contents();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO(expected[i].first);
        CHECK(found[i].first == expected[i].first);
        CHECK(same_bits(found[i].second, expected[i].second));
    }
}

std::string refusal(const std::string& bytes) {
    const Scratch scratch;
    const fs::path path = scratch / "broken.npz";
    std::ofstream(path, std::ios::binary) << bytes;
    const std::string message = message_of<IoError>([&] { io::load_npz(path); });
    CHECK(message.starts_with("cannot read " + path.string() + ": "));
    return message;
}

// An archive of these tensors, with every `from` replaced by `to`, of the same length.
std::string forged(const io::NamedTensors& tensors, const std::string& from, const std::string& to) {
    const Scratch scratch;
    io::save_npz(scratch / "a", tensors);
    std::string bytes = io::load_text(scratch / "a");
    REQUIRE(from.size() == to.size());
    int replaced = 0;
    for (auto at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1), ++replaced)
        bytes.replace(at, from.size(), to);
    CHECK(replaced > 0);
    return bytes;
}

// The beginning of an .npy of so many uint8.
std::string header_of_bytes(std::size_t count) {
    const std::string text =
        "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }\n";
    return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0' + text;
}

std::string le32(std::uint32_t value) { return {reinterpret_cast<const char*>(&value), 4}; }

}  // namespace

TEST_CASE("npz: what numpy.savez and savez_compressed write is read", "[io][npz]") {
    check_contents(io::load_npz(golden / "savez.npz"));
    check_contents(io::load_npz(golden / "savez_compressed.npz"));
    check_contents(io::load_npz(golden / "zip64.npz"));
    CHECK(io::load_npz(golden / "savez_empty.npz").empty());
    const Tensor x = io::load_npz(golden / "long.npz").at(0).second;
    CHECK(same_bits(x, arange(100).expand({1000, 100}).reshape({100'000})));
}

// The committed archives are ours, and make_io_golden.py check has compared every value of theirs in NumPy.
TEST_CASE("npz: what is written is what NumPy has read", "[io][npz]") {
    const Scratch scratch;
    io::save_npz(scratch / "a", contents());
    CHECK((io::load_text(scratch / "a") == io::load_text(golden / "weft.npz")));
    check_contents(io::load_npz(golden / "weft_compressed.npz"));
    io::save_npz(scratch / "b", contents(), true);  // other versions of zlib pack otherwise
    check_contents(io::load_npz(scratch / "b"));
    CHECK(fs::file_size(scratch / "b") < fs::file_size(scratch / "a"));
}

TEST_CASE("writes the archives that make_io_golden.py checks", "[.][write-golden]") {
    io::save_npz(golden / "weft.npz", contents());
    io::save_npz(golden / "weft_compressed.npz", contents(), true);
}

TEST_CASE("npz: large and incompressible members, and none at all, come back", "[io][npz]") {
    const Scratch scratch;
    Rng rng(5);
    const Tensor noise = randn({300'001}, rng), calm = zeros({70'000}, float64);
    for (const bool compressed : {false, true}) {
        io::save_npz(scratch / "a", {{"noise", noise}, {"calm", calm}, {"view", noise.slice(0, 0, 100, 7)}},
                     compressed);
        const io::NamedTensors found = io::load_npz(scratch / "a");
        REQUIRE(found.size() == 3);
        CHECK(same_bits(found[0].second, noise));
        CHECK(same_bits(found[1].second, calm));
        CHECK(same_bits(found[2].second, noise.slice(0, 0, 100, 7).contiguous()));
        io::save_npz(scratch / "a", {}, compressed);
        CHECK(io::load_npz(scratch / "a").empty());
    }
}

TEST_CASE("npz: an archive cut at any place, or with bytes around it, is refused", "[io][npz]") {
    for (const char* name : {"savez.npz", "savez_compressed.npz", "zip64.npz", "weft.npz"}) {
        const std::string whole = io::load_text(golden / name);
        const Scratch scratch;
        io::save_text(scratch / "a", whole);
        std::size_t refused = 0;
        for (std::size_t length = whole.size(); length-- > 0;) {
            fs::resize_file(scratch / "a", length);
            try {
                io::load_npz(scratch / "a");
            } catch (const IoError&) {
                ++refused;
            }
        }
        CHECK(refused == whole.size());
        CHECK(contains(refusal(whole + "x"), "it is truncated, or not an .npz archive"));
        refusal("x" + whole);
    }
}

TEST_CASE("npz: an archive's comment may hold the mark of a directory's end", "[io][npz]") {
    const Scratch scratch;
    io::save_npz(scratch / "a", {{"a", arange(3)}});
    std::string whole = io::load_text(scratch / "a");
    const std::string comment = "PK\5\6, and more than the bytes that follow this mark in a directory's end";
    whole[whole.size() - 2] = static_cast<char>(comment.size());
    io::save_text(scratch / "a", whole + comment);
    CHECK(same_bits(io::load_npz(scratch / "a").at(0).second, arange(3)));
}

TEST_CASE("npz: an archive with any byte changed is refused, or says the same", "[io][npz]") {
    const Scratch scratch;
    for (const char* name : {"savez.npz", "savez_compressed.npz", "zip64.npz"}) {
        const std::string whole = io::load_text(golden / name);
        std::size_t refused = 0;
        for (std::size_t at = 0; at < whole.size(); ++at) {
            std::string bytes = whole;
            bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
            fs::remove(scratch / "a");  // some file systems wait for the disk when a file is written over
            std::ofstream(scratch / "a", std::ios::binary) << bytes;
            try {
                const io::NamedTensors found = io::load_npz(scratch / "a");
                REQUIRE(found.size() == contents().size());
                for (std::size_t i = 0; i < found.size(); ++i)  // dates and versions are nobody's concern
                    REQUIRE(same_bits(found[i].second, contents()[i].second));
            } catch (const IoError&) {
                ++refused;
            }
        }
        INFO(name << ": " << refused << " of " << whole.size());
        CHECK(refused > whole.size() / 2);
    }
}

TEST_CASE("npz: members that are forged, doubled, hidden or packed otherwise are refused", "[io][npz]") {
    const Tensor one = ones({1}), other = zeros({1});
    CHECK(contains(refusal(forged({{"a", one}, {"b", other}}, "b.npy", "a.npy")), "two members \"a.npy\""));
    CHECK(contains(refusal(forged({{"a", one}}, "a.npy", "a.txt")), "\"a.txt\" is not an array"));
    refuses<IoError>("\"readme\" is not an array", [] { io::load_npz(golden / "no_text.npz"); });
    refuses<IoError>("compressed by method 12", [] { io::load_npz(golden / "no_bzip2.npz"); });
    CHECK(contains(refusal(forged({{"a", one}}, le32(132), le32(133))), "reaches into the directory"));
    CHECK(
        contains(refusal(forged({{"a", one}}, std::string("\x14\0\0\x08", 4), std::string("\x14\0\1\x08", 4))),
                 "is encrypted"));
    CHECK(contains(refusal(forged({{"é", one}}, std::string("\x14\0\0\x08", 4), std::string("\x14\0\0\0", 4))),
                   "a name that is not UTF-8"));
    CHECK(contains(refusal(forged({{"a", one}}, le32(0x3F800000), le32(0x3F800001))), "it is damaged"));
    CHECK(contains(refusal(forged({{"a_b", one}}, "a_b", std::string("a\0b", 3))),
                   "member \"a\\x00b.npy\" has a name with a zero byte"));
    CHECK(contains(refusal(forged({{"a_b", one}}, "a_b",
                                  "a\xff"
                                  "b")),
                   "member \"a\\xffb.npy\" has a name that is not UTF-8"));
    // Both members where the first is: the second's local header is not the one that the directory names.
    CHECK(contains(refusal(forged({{"a", one}, {"b", other}}, le32(167), le32(0))),
                   "does not match the directory"));
    // The second member hides in the values of the first, with all that a member has.
    const Scratch scratch;
    io::save_npz(scratch / "b", {{"b", other}});
    const std::string hidden = io::load_text(scratch / "b").substr(0, 30 + 5 + 128 + 4);
    std::vector<float> values(hidden.size() / 4 + 1);
    std::memcpy(values.data(), hidden.data(), hidden.size());
    const auto count = static_cast<std::int64_t>(values.size());
    const auto first = static_cast<std::uint32_t>(30 + 5 + 128 + 4 * count);  // all of the first member
    CHECK(contains(refusal(forged({{"a", from_vector(values, {count})}, {"b", other}}, le32(first), le32(163))),
                   "two of its members overlap"));
    // What a few bytes can expand to is known: a member that claims more is not believed, and nothing
    // allocated.
    std::string bomb = io::load_text(golden / "long.npz");
    const std::string size = le32(800'128), claim = le32(4'000'000'000);
    REQUIRE(bomb.find(size) != std::string::npos);
    for (auto at = bomb.find(size); at != std::string::npos; at = bomb.find(size)) bomb.replace(at, 4, claim);
    CHECK(contains(refusal(bomb), "claims 4000000000 bytes, more than its"));
    // The directory's end says on which disk it is, and how many of its members are on that one.
    const std::string whole = io::load_text(scratch / "b");
    for (const std::size_t field : {4, 8}) {
        std::string split = whole;
        split[whole.size() - 22 + field] = '\x05';
        CHECK(contains(refusal(split), "it is part of an archive on several disks"));
    }
    CHECK(contains(refusal("no archive at all, but long enough to be one"), "it has no directory at its end"));
}

TEST_CASE("npz: what a small file unpacks to is said, and asked for, before there is memory for it",
          "[io][npz]") {
    const Scratch scratch;
    io::save_npz(scratch / "a", {{"calm", zeros({1'000'000})}, {"x", ones({10}, float64)}}, true);
    const auto size = fs::file_size(scratch / "a");
    const std::uint64_t beyond = 4'000'080 - 16 * size;
    refuses<IoError>("its " + std::to_string(size) +
                         " bytes unpack to tensors of 4000080; if that is intended, call " +
                         "load_npz with an allowance of " + std::to_string(beyond),
                     [&] { io::load_npz(scratch / "a", beyond - 1); });
    CHECK(io::load_npz(scratch / "a", beyond).size() == 2);
    CHECK(io::load_npz(scratch / "a").size() == 2);

    // 500 MB of bytes, which half a megabyte can expand to, would be 4 GB as int64.
    Rng rng(1);
    const Tensor noise = randint(INT64_MIN, INT64_MAX, {61'000}, rng);
    std::string header = header_of_bytes(500'000'000);
    {
        io::AtomicFile file(scratch / "bomb");
        io::ZipWriter zip(file);
        zip.add("x.npy", {header, {reinterpret_cast<const char*>(noise.data<std::int64_t>()), 8 * 61'000}},
                true);
        zip.finish();
        file.commit();
    }
    std::string bomb = io::load_text(scratch / "bomb");
    const auto honest = static_cast<std::uint32_t>(header.size() + 8 * 61'000);
    const auto claim = static_cast<std::uint32_t>(header.size() + 500'000'000);
    for (auto at = bomb.find(le32(honest)); at != std::string::npos; at = bomb.find(le32(honest)))
        bomb.replace(at, 4, le32(claim));
    CHECK(contains(refusal(bomb), "bytes unpack to tensors of 4000000000; if that is intended"));
}
