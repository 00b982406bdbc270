// .npy: NumPy's files are read, NumPy's very bytes are written, everything else is refused.
#include <bit>
#include <fstream>

#include "environment.h"
#include "golden/golden.h"
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

// The rules of make_io_golden.py.
Tensor counted(const Shape& shape, DType dtype) {
    if (dtype != boolean) return arange(shape.numel()).to(dtype).reshape(shape);
    std::vector<bool> thirds;
    for (std::int64_t i = 0; i < shape.numel(); ++i) thirds.push_back(i % 3 == 0);
    return from_vector(thirds, shape);
}
Tensor halves(const Shape& shape, DType dtype) {
    return ((arange(shape.numel()).to(float64) - 2) / 2).to(dtype).reshape(shape);
}

// An .npy of version 1.0 with this header and these values.
std::string npy(const std::string& header, const std::string& values = "") {
    return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size() & 0xFF) +
           static_cast<char>(header.size() >> 8) + header + values;
}
std::string header_of(const std::string& descr, const std::string& shape, const std::string& order = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

// What load_npy says about a file of these bytes; its path is left out.
std::string refusal(const std::string& bytes) {
    const Scratch scratch;
    const fs::path path = scratch / "broken.npy";
    std::ofstream(path, std::ios::binary) << bytes;
    const std::string message = message_of<IoError>([&] { return io::load_npy(path); });
    const std::string start = "cannot read " + path.string() + ": ";
    CHECK(message.starts_with(start));
    return message.substr(std::min(start.size(), message.size()));
}

}  // namespace

TEST_CASE("npy: what numpy.save writes is read, and written again byte for byte", "[io][npy]") {
    const std::vector<std::pair<std::string, Tensor>> files = {
        {"float32", halves({3, 4}, float32)},    {"float16", halves({3, 4}, float16)},
        {"float64", halves({2, 3, 2}, float64)}, {"int64", counted({7}, int64)},
        {"bool", counted({2, 5}, boolean)},      {"scalar", halves({}, float64)},
        {"empty", counted({0, 3}, float32)},     {"rank8", counted({1, 2, 1, 3, 1, 2, 1, 1}, float32)}};
    const Scratch scratch;
    for (const auto& [name, expected] : files) {
        INFO(name);
        CHECK(same_bits(io::load_npy(golden / (name + ".npy")), expected));
        io::save_npy(scratch / name, expected);
        CHECK((io::load_text(scratch / name) == io::load_text(golden / (name + ".npy"))));
    }
}

TEST_CASE("npy: versions 2 and 3, column order and the other byte order are read", "[io][npy]") {
    const auto read = [](const std::string& name) { return io::load_npy(golden / (name + ".npy")); };
    CHECK(same_bits(read("version2"), halves({3, 4}, float32)));
    CHECK(same_bits(read("version3"), halves({3, 4}, float32)));
    CHECK(same_bits(read("fortran"), counted({2, 3, 4}, float32)));
    CHECK(read("fortran").is_contiguous());
    CHECK(same_bits(read("fortran_bool"), counted({3, 5}, boolean)));
    CHECK(same_bits(read("big_f2"), counted({2, 3}, float16)));
    CHECK(same_bits(read("big_f4"), counted({2, 3}, float32)));
    CHECK(same_bits(read("big_f8"), counted({2, 3}, float64)));
    for (const char* name : {"big_i8", "big_i4", "big_u2"})
        CHECK(same_bits(read(name), counted({2, 3}, int64)));
    CHECK(same_bits(read("big_fortran"), counted({2, 3}, float64)));
}

TEST_CASE("npy: small types come as the type that holds all of their values", "[io][npy]") {
    const auto read = [](const std::string& name) {
        return io::load_npy(golden / (name + ".npy")).to_vector<std::int64_t>();
    };
    CHECK(same_bits(io::load_npy(golden / "int8.npy"), arange(256) - 128));
    CHECK(same_bits(io::load_npy(golden / "uint8.npy"), arange(256)));
    using V = std::vector<std::int64_t>;
    CHECK(read("ends_i2") == V{-32768, 0, 1, 32767});
    CHECK(read("ends_i4") == V{-2147483648, 0, 1, 2147483647});
    CHECK(read("ends_u2") == V{0, 0, 1, 65535});
    CHECK(read("ends_u4") == V{0, 0, 1, 4294967295});
    CHECK(read("ends_i8") == V{INT64_MIN, 0, 1, INT64_MAX});

    // Every float16, and its value as NumPy converts it, NaNs by their bits but for the one that makes a
    // signalling NaN quiet.
    const io::NamedTensors half = io::load_npz(golden / "float16.npz");
    REQUIRE(half.at(0).second.dtype() == float16);
    const auto found = half[0].second.to(float32).to_vector<float>(),
               expected = half.at(1).second.to_vector<float>();
    REQUIRE(found.size() == 65536);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto bits = [&](float x) { return std::bit_cast<std::uint32_t>(x) | (x != x ? 0x400000U : 0U); };
        equal += bits(found[i]) == bits(expected[i]) ? 1 : 0;
    }
    CHECK(equal == found.size());
}

TEST_CASE("npy: what Weft has no type for is refused by its name", "[io][npy]") {
    const auto why = [](const std::string& name) {
        return message_of<IoError>([&] { return io::load_npy(golden / (name + ".npy")); });
    };
    CHECK(
        contains(why("no_uint64"), "no_uint64.npy: its type is '<u8'; bool, float16, float32, float64, int8"));
    CHECK(contains(why("no_complex"), "its type is '<c8'"));
    CHECK(contains(why("no_longdouble"), "its type is '<f16'"));
    CHECK(contains(why("no_text"), "its type is '<U2'"));
    CHECK(contains(why("no_time"), "its type is '<M8[s]'"));
    CHECK(contains(why("no_object"), "its type is '|O'"));
    CHECK(contains(why("no_struct"), "describes structured values; only plain numbers can be read"));
    CHECK(contains(why("no_rank9"), "has more than 8 axes"));
}

TEST_CASE("npy: bfloat16, which NumPy does not have, is refused, and no file is left", "[io][npy][half]") {
    const Scratch scratch;
    const char* const message = "npy: NumPy's files have no bfloat16; convert it with to(float32)";
    const Tensor x = ones({2}, bfloat16);
    CHECK(message_of<DTypeError>([&] { io::save_npy(scratch / "a.npy", x); }) == message);
    CHECK(message_of<DTypeError>([&] {
              io::save_npz(scratch / "a.npz", {{"y", ones({2})}, {"x", x}});
          }) == message);
    CHECK(fs::is_empty(fs::path(scratch / "a.npy").parent_path()));
}

TEST_CASE("npy: a view is written in its own order", "[io][npy]") {
    const Scratch scratch;
    const Tensor x = counted({3, 4}, float32);
    io::save_npy(scratch / "view", x.T().slice(0, 1, 4, 2));
    CHECK(same_bits(io::load_npy(scratch / "view"), x.T().slice(0, 1, 4, 2).contiguous()));
    CHECK(io::load_text(scratch / "view").size() == 128 + 6 * 4);
}

TEST_CASE("npy: headers are read as Python would read them", "[io][npy]") {
    const Scratch scratch;
    const auto read = [&](const std::string& header) {
        io::save_text(scratch / "a", npy(header, std::string(8, '\0')));
        return io::load_npy(scratch / "a").shape();
    };
    CHECK(read("{'shape':(2,),'fortran_order':True,'descr':'<f4'}") == Shape{2});
    CHECK(read("{\"descr\" : \"<f4\" , \"fortran_order\" : False , \"shape\" : ( 1 , 2 ) }   \n") ==
          Shape{1, 2});
    CHECK(read("{'descr': '<f8', 'fortran_order': True, 'shape': (), }\n") == Shape{});
    CHECK(read("{'descr': '|b1', 'fortran_order': True, 'shape': (2, 4,), }\n") == Shape{2, 4});
}

TEST_CASE("npy: a file that is cut at any place, or goes on, is refused", "[io][npy]") {
    const std::string whole = npy(header_of("<f4", "(2,)"), "12345678");
    for (std::size_t length = 0; length < whole.size(); ++length) refusal(whole.substr(0, length));
    CHECK(contains(refusal(whole.substr(0, 5)), "it has 5 bytes, and an .npy file begins with 10"));
    CHECK(contains(refusal(whole.substr(0, 20)), "its header claims 58 bytes, and 10 follow"));
    CHECK(contains(refusal(whole.substr(0, whole.size() - 1)), "(2,) of '<f4' takes 8 bytes, and 7 follow"));
    CHECK(contains(refusal(whole + "x"), "takes 8 bytes, and 9 follow"));
    CHECK(contains(refusal("\x93NUMPY\x01\x01" + whole.substr(8)), "its version is 1.1"));
    CHECK(contains(refusal(std::string("\x93NUMPY\x04\0", 8) + whole.substr(8)), "its version is 4.0"));
    CHECK(contains(refusal("PK" + whole), "it does not begin like an .npy file"));
    CHECK(contains(refusal(std::string("\x93NUMPY\x02\0\xff\xff\xff\x7f", 12)),
                   "claims 2147483647 bytes, and 0"));
    refuses<IoError>("/no/such.npy: no such file", [] { return io::load_npy("/no/such.npy"); });
    refuses<IoError>("/tmp: it is a directory", [] { return io::load_npy("/tmp"); });
}

TEST_CASE("npy: sizes are compared with the file before anything is allocated", "[io][npy]") {
    CHECK(contains(refusal(npy(header_of("<f4", "(1000000000000,)"))),
                   "takes 4000000000000 bytes, and 0 follow"));
    CHECK(contains(refusal(npy(header_of("<f8", "(4611686018427387904, 4)"))), "overflows"));
    CHECK(contains(refusal(npy(header_of("<f4", "(9223372036854775807, 9223372036854775807)"))), "overflows"));
    CHECK(
        contains(refusal(npy(header_of("<f4", "(99999999999999999999,)"))), "should have a size at position"));
    CHECK(contains(refusal(npy(header_of("<f8", "(4611686018427387904, 4, 0)"))), "overflows"));
    CHECK(contains(refusal(npy(header_of("<f8", "(0, 2305843009213693952)"))), "overflows"));
    CHECK(contains(refusal(npy(header_of("<f4", "(-1,)"), "1234")), "should have a size at position"));
    for (const char* type : {"|b1", "|u1", "<f8"})
        CHECK(contains(refusal(npy(header_of(type, "(0, 9223372036854775807)"))), "overflows"));
}

TEST_CASE("npy: a header that numpy.save does not write is refused", "[io][npy]") {
    const std::string four = "1234";
    const auto why = [&](const std::string& header) { return refusal(npy(header, four)); };
    CHECK(contains(why(""), "should have '{'"));
    CHECK(contains(why("{'descr': '<f4', 'shape': (1,), }"), "must have descr, fortran_order and shape"));
    CHECK(contains(why("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"),
                   "has \"descr\" twice"));
    CHECK(contains(why("{'descr': '<f4', 'other': 1}"), "has \"other\" twice, or should not have it"));
    CHECK(contains(why(header_of("<f4", "(1,)") + "x"), "continues after its dictionary"));
    CHECK(contains(why(header_of("<f4", "1")), "should have '('"));
    CHECK(contains(why(header_of("<f4", "(1 1)")), "should have ')'"));
    CHECK(contains(why(header_of("<f4", "(1.0,)")), "should have ')'"));
    CHECK(contains(why(header_of("<f4", "(1)")),
                   "has a number as its shape; with one axis a shape is written (3,)"));
    for (const char* number : {"(01,)", "(00,)", "(-0,)", "(+1,)", "(0x1,)", "(,)"})
        CHECK(contains(why(header_of("<f4", number)), "should have "));
    CHECK(contains(why(header_of("<f4", "(1,)", "false")), "should have True or False"));
    CHECK(contains(why("{'descr': '<f4"), "has an unterminated string"));
    CHECK(contains(why("{'descr' '<f4'}"), "should have ':'"));
    CHECK(contains(why(header_of("|f4", "(1,)")), "its type is '|f4'"));
    CHECK(contains(why(header_of("", "(1,)")), "its type is ''"));
    CHECK(contains(why(header_of("|b1", "(4,)")), "neither 0 nor 1"));
}
