// Files that are no GGUF files, or break the format: each is refused by what is wrong with it.
#include "environment.h"
#include "gguf_writer.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

// What load_gguf says about a file of these bytes; its path is left out.
std::string refusal(const std::string& bytes) {
    const Scratch scratch;
    io::save_text(scratch / "file", bytes);
    const std::string message = message_of<IoError>([&] { io::load_gguf(scratch / "file"); });
    const std::string start = "cannot read " + (scratch / "file").string() + ": ";
    CHECK(message.starts_with(start));
    return message.substr(std::min(start.size(), message.size()));
}
std::string refusal(const GgufWriter& file) { return refusal(file.bytes()); }

template <class T>
std::string number(T value) {
    return GgufWriter::number(value);
}
std::string string_of(const std::string& value) { return GgufWriter::text(value); }

}  // namespace

TEST_CASE("gguf: a file cut at any length is refused", "[fault][io][gguf]") {
    const std::string bytes = small_gguf().bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        INFO(size);
        const std::string reason = refusal(bytes.substr(0, size));
        INFO(reason);
        CHECK((contains(reason, " follow") || contains(reason, "cut short or damaged") || size < 24));
    }
    CHECK(refusal("") == "it has 0 bytes, and a GGUF file begins with 24 for its version and two counts");
    CHECK(contains(refusal(bytes.substr(0, bytes.size() - 1)),
                   "tensor \"w\": its 72 bytes at 32 reach past the file's end; it is cut short or damaged"));
}

TEST_CASE("gguf: a file that is none, or of another version, is refused", "[fault][io][gguf]") {
    const Scratch scratch;
    refuses<IoError>("none: no such file", [&] { io::load_gguf(scratch / "none"); });
    refuses<IoError>("it is a directory", [&] { io::load_gguf(scratch.folder()); });
    CHECK(refusal("GGML" + std::string(20, '\0')) == "it is not a GGUF file: it does not begin with \"GGUF\"");
    GgufWriter file = small_gguf();
    for (const std::uint32_t version : {0, 1, 4}) {
        file.version = version;
        CHECK(refusal(file) == "its version is " + std::to_string(version) + "; 2 and 3 are read");
    }
    for (const std::uint32_t version : {0x02000000, 0x03000000}) {
        file.version = version;
        CHECK(refusal(file) ==
              "it is big-endian; convert it with Python's gguf: gguf-convert-endian FILE little");
    }
}

TEST_CASE("gguf: a model that is split into several files is read from the first; what does not fit is refused",
          "[fault][io][gguf]") {
    const Scratch scratch;
    const auto name = [&](int i) { return scratch / ("m-0000" + std::to_string(i) + "-of-00002.gguf"); };
    const auto write = [&](int i, int no, int count, const char* tensor, std::int64_t tensors = 2) {
        GgufWriter part;
        part.entry("split.no", 2, number(static_cast<std::uint16_t>(no)));
        part.entry("split.count", 2, number(static_cast<std::uint16_t>(count)));
        part.add("split.tensors.count", tensors);
        if (i == 1) part.add("general.architecture", "llama");
        part.add(tensor, full({2}, i));
        io::save_text(name(i), part.bytes());
    };
    const auto load = [&] { (void)io::load_gguf(name(1)); };
    write(1, 0, 2, "a");
    refuses<IoError>("m-00002-of-00002.gguf: no such file", load);
    write(2, 1, 2, "b");
    std::int64_t announced = 0;
    const io::Gguf whole = io::load_gguf(name(1), [&](const io::Gguf& header, std::int64_t bytes) {
        CHECK(header.tensors.size() == 2);
        announced = bytes;
    });
    CHECK(announced == 16);
    CHECK(whole.metadata.text("general.architecture") == "llama");
    CHECK((same_bits(whole.at("a"), full({2}, 1)) && same_bits(whole.at("b"), full({2}, 2))));
    refuses<IoError>("it is part 2 of 2; give the first, whose name ends with -00001-of-00002.gguf",
                     [&] { (void)io::load_gguf(name(2)); });
    write(2, 1, 2, "a");
    refuses<IoError>("m-00002-of-00002.gguf: tensor \"a\": another part has it, too", load);
    write(2, 1, 3, "b");
    refuses<IoError>("it is part 2 of 3, and its name says otherwise; fetch it again", load);
    write(2, 1, 2, "b");
    write(1, 0, 2, "a", 3);
    refuses<IoError>("its parts have 2 tensors, and it says 3; fetch them again", load);
    write(1, 2, 2, "a");
    refuses<IoError>("it is part 3 of 2", load);
}

TEST_CASE("gguf: counts and lengths that the file cannot hold are refused before memory is taken",
          "[fault][io][gguf]") {
    for (const std::uint64_t claim : {std::uint64_t{100}, std::uint64_t{1} << 40, std::uint64_t{1} << 61,
                                      std::uint64_t{1} << 63, UINT64_MAX}) {
        const std::string shown = std::to_string(claim);
        GgufWriter keys = small_gguf();
        keys.keys = claim;
        CHECK(refusal(keys).starts_with("it claims " + shown + " entries of metadata, and "));
        GgufWriter tensors = small_gguf();
        tensors.tensors = claim;
        CHECK(refusal(tensors).starts_with("it claims " + shown + " tensors, and "));
        const std::string cut = "GGUF" + number(3) + number(std::uint64_t{0}) + number(std::uint64_t{1});
        CHECK(refusal(cut + number(claim) + std::string(16, 'k')) ==
              "key 0 of its metadata: it claims " + shown + " bytes of a string, and 16 bytes follow");
        CHECK(refusal(cut + string_of("k") + number(8) + number(claim) + "v") ==
              "key \"k\": it claims " + shown + " bytes of a string, and 1 bytes follow");
        for (const std::uint32_t type : {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12})
            CHECK(refusal(cut + string_of("k") + number(9) + number(type) + number(claim) +
                          std::string(60, 'v')) ==
                  "key \"k\": it claims " + shown + " elements, and 60 bytes follow");
    }
    const std::map<std::uint32_t, std::uint64_t> sizes = {{0, 1}, {1, 1}, {2, 2},  {3, 2},  {4, 4}, {5, 4},
                                                          {6, 4}, {7, 1}, {10, 8}, {11, 8}, {12, 8}};
    for (const auto& [type, bytes] : sizes) {
        const std::string array = "GGUF" + number(3) + number(std::uint64_t{0}) + number(std::uint64_t{1}) +
                                  string_of("k") + number(9) + number(type);
        const auto of = [&](std::uint64_t count) { return array + number(count) + std::string(56, '\0'); };
        INFO("type " << type);
        CHECK(load_bytes(of(56 / bytes)).metadata.has("k"));
        CHECK(
            contains(refusal(of(56 / bytes + 1)), "it claims " + std::to_string(56 / bytes + 1) + " elements"));
    }
}

TEST_CASE("gguf: metadata that is not the format's is refused by key", "[fault][io][gguf]") {
    const auto with = [](const std::string& key, std::uint32_t type, const std::string& value) {
        GgufWriter file = small_gguf();
        file.entry(key, type, value);
        return refusal(file);
    };
    CHECK(with("", 0, "1") == "key 1 of its metadata: its name is empty");
    CHECK(with("\xff", 0, "1") == "key 1 of its metadata: its name \"\\xff\" is not UTF-8");
    CHECK(with("general.architecture", 0, "1") == "key \"general.architecture\": it is there twice");
    CHECK(with("k", 13, "1") == "key \"k\": its type is 13; types 0 to 12 are read");
    CHECK(with("k", 9, number(14) + number(std::uint64_t{0})) ==
          "key \"k\": its type is 14; types 0 to 12 are read");
    CHECK(with("k", 9, number(9) + number(std::uint64_t{0})) ==
          "key \"k\": it is an array of arrays, and only arrays of plain values are read");
    CHECK(with("k", 7, "\2") == "key \"k\": it holds a bool that is neither 0 nor 1");
    CHECK(with("k", 9, number(7) + number(std::uint64_t{2}) + "\1\xff") ==
          "key \"k\": it holds a bool that is neither 0 nor 1");
    CHECK(with("k", 10, number(std::uint64_t{1} << 63)) ==
          "key \"k\": it holds 9223372036854775808; integers are read up to 9223372036854775807");
    CHECK(with("k", 9, number(10) + number(std::uint64_t{1}) + number(UINT64_MAX)) ==
          "key \"k\": it holds 18446744073709551615; integers are read up to 9223372036854775807");
    for (const std::int64_t alignment :
         {std::int64_t{0}, std::int64_t{-32}, std::int64_t{24}, INT64_MIN, INT64_MAX})
        CHECK(with("general.alignment", 11, number(alignment)) ==
              "its general.alignment is " + std::to_string(alignment) + ", which is no power of two");
    CHECK(with("general.alignment", 8, string_of("32")) ==
          "its metadata has \"general.alignment\" as a string, and needs it as an integer");
    CHECK(contains(with("general.alignment", 11, number(std::int64_t{1} << 62)), "reach past the file's end"));
}

TEST_CASE("gguf: a tensor that is not the format's, or that Weft has no type for, is refused by name",
          "[fault][io][gguf]") {
    const auto with = [](const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type) {
        GgufWriter file = small_gguf();
        file.add(name, sizes, type, std::string(64, '\0'));
        return refusal(file);
    };
    CHECK(with("", {1}, 0) == "tensor 2: its name is empty");
    CHECK(with("a\xC2", {1}, 0) == "tensor 2: its name \"a\\xc2\" is not UTF-8");
    CHECK(with("x", {1}, 0) == "tensor \"x\": it is there twice");
    CHECK(with("t", {1, 1, 1, 1, 1}, 0) == "tensor \"t\": it has 5 dimensions, and GGUF allows 4");
    GgufWriter deep = small_gguf();
    deep.info("t", {}, 0, 0);
    std::string bytes = deep.bytes();
    const std::size_t rank = bytes.find(string_of("t")) + 9;
    bytes.replace(rank, 4, number(UINT32_MAX));
    CHECK(refusal(bytes) == "tensor \"t\": it has 4294967295 dimensions, and GGUF allows 4");
    const std::string end =
        "; F32, F16, BF16, F64, I64, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are read. "
        "Quantize the model to one of these";
    for (const auto& [type, name] :
         std::vector<std::pair<std::uint32_t, std::string>>{{4, "number 4"},
                                                            {10, "Q2_K"},
                                                            {11, "Q3_K"},
                                                            {20, "IQ4_NL"},
                                                            {24, "I8"},
                                                            {25, "I16"},
                                                            {26, "I32"},
                                                            {29, "IQ1_M"},
                                                            {31, "number 31"},
                                                            {34, "TQ1_0"},
                                                            {39, "MXFP4"},
                                                            {40, "number 40"},
                                                            {UINT32_MAX, "number 4294967295"}})
        CHECK(with("t", {32}, type) == "tensor \"t\": its type is " + name + end);
    const std::uint64_t half = std::uint64_t{1} << 32;
    for (const std::vector<std::uint64_t>& sizes :
         std::vector<std::vector<std::uint64_t>>{{UINT64_MAX},
                                                 {std::uint64_t{1} << 63},
                                                 {half, half},
                                                 {half, half, half, half},
                                                 {1 << 20, 1 << 20, 1 << 20},
                                                 {0, UINT64_MAX},
                                                 {0, half, half}})
        for (const std::uint32_t type : {0, 8})
            CHECK(with("t", sizes, type) == "tensor \"t\": its dimensions overflow");
    CHECK(with("t", {32}, 8) ==
          "tensor \"t\": its shape is (32,) of Q8_0, and blocks are read in matrices alone; store it as F16 or "
          "BF16");
    CHECK(contains(with("t", {32, 1, 1}, 2), "its shape is (1, 1, 32) of Q4_0, and blocks"));
    CHECK(with("t", {48, 1}, 8) ==
          "tensor \"t\": its shape is (1, 48) of Q8_0, whose rows do not divide into blocks of 32");
    CHECK(contains(with("t", {32, 8}, 12),
                   "its shape is (8, 32) of Q4_K, whose rows do not divide into blocks of 256"));
}

TEST_CASE("gguf: values that do not cover the file once, in steps of the alignment, are refused",
          "[fault][io][gguf]") {
    const auto with = [](std::uint64_t begin, std::uint64_t size, std::size_t bytes) {
        GgufWriter file;
        file.add("a", {8}, 0, std::string(32, 'a'));
        file.info("b", {size}, 0, begin);
        file.values += std::string(bytes, 'b');
        return refusal(file);
    };
    CHECK(with(33, 8, 64) == "tensor \"b\": its values begin at 33, which is no multiple of the alignment, 32");
    CHECK(with(64, 8, 64) == "tensor \"b\": a hole of 32 bytes stands before its values");
    CHECK(with(0, 9, 64) == "tensor \"b\": its values overlap those of another tensor");
    CHECK(with(0, 1, 64) == "tensor \"a\": its values overlap those of another tensor");
    CHECK(with(32, 8, 31) ==
          "tensor \"b\": its 32 bytes at 32 reach past the file's end; it is cut short or damaged");
    CHECK(contains(with(64, 1, 31), "reach past the file's end"));
    CHECK(contains(with(UINT64_MAX - 31, 8, 32), "its 32 bytes at 18446744073709551584 reach past"));
    CHECK(contains(with(std::uint64_t{1} << 63, 8, 32), "reach past the file's end"));
    CHECK(contains(with(32, std::uint64_t{1} << 58, 32), "its 1152921504606846976 bytes at 32 reach past"));
    CHECK(with(32, 8, 64) == "32 bytes follow its last tensor");
    GgufWriter dense;
    dense.alignment = 1;
    dense.add("general.alignment", std::int64_t{1});
    dense.info("a", {1}, 0, 0);
    dense.info("b", {1}, 0, 3);
    dense.values = "1234567";
    CHECK(refusal(dense) == "tensor \"b\": its values overlap those of another tensor");
    GgufWriter late;
    late.info("a", {1}, 0, 32);
    late.values = std::string(64, 'a');
    CHECK(refusal(late) == "tensor \"a\": a hole of 39 bytes stands before its values");
    CHECK(refusal(GgufWriter().bytes() + std::string(32, 'a')) == "32 bytes follow its last tensor");
    CHECK(load_bytes(GgufWriter().bytes() + std::string(31, 'a')).tensors.empty());
    GgufWriter in_blocks;
    in_blocks.info("w", {64, 3}, 3, 0);
    in_blocks.values = std::string(119, 'a');
    CHECK(contains(refusal(in_blocks), "tensor \"w\": its 120 bytes at 0 reach past the file's end"));
}

TEST_CASE("gguf: names of a megabyte, with what moves a terminal's cursor, are cut and escaped",
          "[fault][io][gguf]") {
    const std::string nasty = "a\x1b[2J\u202e" + std::string(1'000'000, 'n');
    GgufWriter key;
    key.entry(nasty, 13, "");
    GgufWriter name;
    name.add(nasty, {1}, 10, "1234");
    GgufWriter broken;
    broken.entry(nasty + "\xff", 13, "");
    for (const GgufWriter& file : {key, name, broken}) {
        const std::string message = refusal(file);
        CHECK(message.size() < 400);
        CHECK(contains(message, "\"a\\x1b[2J\\u202en"));
    }
}
