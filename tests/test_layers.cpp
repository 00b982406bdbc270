// The layers of the house, bottom up: core, with the rooms array, kernels, autograd, ops and more, then nn,
// models, viz, train, dist. A file includes only its own room and those below; everything above core sees only
// core's public headers; xtensor, BLAS and oneTBB stay in core, and out of every public header except the
// bridge; MPI stays in the sources of dist.
#include <map>

#include "catch.h"
#include "messages.h"
#include "places.h"

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> rooms = {"core/array", "core/kernels", "core/autograd", "core/ops", "core/more",
                                        "nn",         "models",       "viz",           "train",    "dist"};
constexpr int top = 5;  // the first room above core

// The room of "src/core/ops/matmul.cpp" or "include/weft/core/tensor.h", as its position in `rooms`; −1 when it
// has none.
int room_of(const std::string& path) {
    static const std::map<std::string, int> core = {
        {"shape", 0},   {"dtype", 0},  {"error", 0},    {"random", 0}, {"text", 0},
        {"threads", 0}, {"tensor", 2}, {"autograd", 2}, {"ledger", 2}, {"trace", 2},
        {"mask", 3},    {"heads", 3},  {"ops", 3},      {"more", 4}};
    const bool is_public = path.starts_with("include/weft/");
    const std::string rest = path.substr(std::min(path.size(), is_public ? std::size_t{13} : std::size_t{4}));
    if (is_public && rest.starts_with("core/")) {
        const auto found = core.find(rest.substr(5, rest.size() - 7));
        return found == core.end() ? -1 : found->second;
    }
    if (rest == "xtensor.h" || rest == "core.h") return top - 1;
    if (rest == "weft.h") return static_cast<int>(rooms.size());
    for (int room = 0; room < static_cast<int>(rooms.size()); ++room)
        if (const std::string& name = rooms[static_cast<std::size_t>(room)];
            rest.starts_with(name + "/") || (is_public && rest == name + ".h"))
            return room;
    return -1;
}

bool is_numeric_library(const std::string& include) {
    static const std::regex pattern(
        "(xtensor|xtensor-blas|xtl|xsimd|xflens|openblas|tbb|oneapi)/.*|(cblas|lapacke|omp|openblas_config)[^/"
        "]*");
    return std::regex_match(include, pattern);
}

struct Include {
    std::string name;
    bool quoted = false;
};

std::vector<Include> includes_of(const std::string& text) {
    static const std::regex pattern(R"re(^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"])re");
    std::vector<Include> found;
    std::istringstream lines(text);
    std::smatch match;
    for (std::string line; std::getline(lines, line);)
        if (std::regex_search(line, match, pattern)) found.push_back({match[2], match[1] == "\""});
    return found;
}

// What is wrong with one file's includes, a line each. `exists` says whether a path of the project is a file.
template <class Exists>
std::vector<std::string> violations(const std::string& path, const std::string& text, Exists exists) {
    std::vector<std::string> found;
    const int room = room_of(path);
    if (room < 0) return {path + " is in no layer"};
    const bool is_public = path.starts_with("include/");
    for (const auto& [name, quoted] : includes_of(text)) {
        const std::string line = path + " includes " + name;
        if (is_numeric_library(name)) {
            if (is_public && path != "include/weft/xtensor.h")
                found.push_back(line + ": not in a public header");
            if (room >= top) found.push_back(line + ": not above core");
            continue;
        }
        if (name == "mpi.h" && !path.starts_with("src/dist/")) found.push_back(line + ": only in src/dist");
        if (!quoted && !name.starts_with("weft/")) continue;  // the standard library, nlohmann::json
        if (name.starts_with("Weft needs C++20")) continue;   // a message instead of a file
        const bool target_public = name.starts_with("weft/");
        std::string target = (target_public ? "include/" : "src/") + name;
        if (const std::string beside = path.substr(0, path.rfind('/') + 1) + name;
            !exists(target) && exists(beside))
            target = beside;
        if (!exists(target)) {
            found.push_back(line + ": no such file beside it, in src/ or as weft/…");
            continue;
        }
        if (room_of(target) > room) found.push_back(line + ": above its own layer");
        if (is_public && !target_public) found.push_back(line + ": a private header in a public one");
        if (room >= top && !target_public && room_of(target) < top) found.push_back(line + ": private to core");
    }
    return found;
}

}  // namespace

TEST_CASE("every file includes only its own layer and those below", "[house]") {
    const fs::path root = places::source();
    std::vector<std::string> found;
    int files = 0;
    for (const char* folder : {"src", "include"})
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            if (!entry.is_regular_file()) continue;
            const std::string path = fs::relative(entry.path(), root).generic_string();
            const auto wrong = violations(path, markdown::read(entry.path()),
                                          [&](const std::string& target) { return fs::exists(root / target); });
            found.insert(found.end(), wrong.begin(), wrong.end());
            ++files;
        }
    for (const std::string& line : found) FAIL_CHECK(line);
    CHECK(files > 20);
}

TEST_CASE("the test of the layers finds each kind of violation", "[house]") {
    const auto exists = [](const std::string& path) {
        return !path.ends_with("gone.h") && path != "src/registry.h";
    };
    const auto one = [&](const std::string& path, const std::string& text) {
        const auto found = violations(path, text, exists);
        return found.size() == 1 ? found[0] : std::to_string(found.size()) + " violations";
    };
    CHECK(
        contains(one("src/core/kernels/gemm.cpp", "#include \"core/ops/common.h\"\n"), "above its own layer"));
    CHECK(
        contains(one("src/core/array/array.cpp", "#include \"weft/core/tensor.h\"\n"), "above its own layer"));
    CHECK(contains(one("src/nn/linear.cpp", "  #  include \"core/kernels/gemm.h\"\n"), "private to core"));
    CHECK(contains(one("src/models/io/npy.cpp", "#include <xtensor/xnpy.hpp>\n"), "not above core"));
    CHECK(contains(one("include/weft/core/ops.h", "#include <omp.h>\n"), "not in a public header"));
    CHECK(contains(one("include/weft/core/tensor.h", "#include <cblas.h>\n"), "not in a public header"));
    CHECK(contains(one("src/nn/linear.cpp", "#include <tbb/parallel_for.h>\n"), "not above core"));
    CHECK(contains(one("include/weft/dist/group.h", "#include <mpi.h>\n"), "only in src/dist"));
    CHECK(contains(one("src/train/data.cpp", "#include \"weft/dist/group.h\"\n"), "above its own layer"));
    CHECK(contains(one("include/weft/core/tensor.h", "#include \"core/array/array.h\"\n"),
                   "a private header in a public one"));
    CHECK(contains(one("src/core/kernels/gemm.cpp", "#include \"core/kernels/gone.h\"\n"), "no such file"));
    CHECK(contains(one("src/cellar/wine.cpp", ""), "is in no layer"));

    CHECK(violations("include/weft/xtensor.h",
                     "#include <xtensor/xadapt.hpp>\n#include \"weft/core/tensor.h\"\n", exists)
              .empty());
    CHECK(
        violations("src/core/ops/matmul.cpp", "#include \"core/kernels/gemm.h\"\n#include <cblas.h>\n", exists)
            .empty());
    CHECK(violations("src/nn/module.cpp", "#include \"registry.h\"\n", exists).empty());
    CHECK(violations("src/models/io/safetensors.cpp",
                     "#include <nlohmann/json.hpp>\n#include \"models/io/file.h\"\n", exists)
              .empty());
}

TEST_CASE("a public class is derived from Module, from Error or from nothing", "[house]") {
    static const std::regex derived(R"(\n *(?:struct|class) (\w+)(?: final)? : (?:public )?([\w:]+))");
    int classes = 0;
    for (const fs::path& header : markdown::files_in("include", ".h")) {
        const std::string text = markdown::read(header);
        for (std::sregex_iterator found(text.begin(), text.end(), derived), end; found != end;
             ++found, ++classes) {
            INFO(header << ": " << found->str());
            const std::string base = (*found)[2];
            CHECK((base == "Module" || base == "Error" || (*found)[1] == "Error"));
        }
    }
    CHECK(classes >= 20);
}

TEST_CASE("what the library throws is one of the types in error.h, or std::bad_alloc", "[house]") {
    static const std::regex thrown(R"(\bthrow\s+([\w:]+))"),
        allowed("(weft::)?((Shape|DType|Index|Value|Graph|Io)?Error)|std::bad_alloc");
    int throws = 0;
    for (const char* folder : {"src", "include"})
        for (const char* extension : {".cpp", ".h"})
            for (const fs::path& path : markdown::files_in(folder, extension)) {
                const std::string code = messages::code_of(markdown::read(path));
                for (std::sregex_iterator found(code.begin(), code.end(), thrown), end; found != end; ++found) {
                    INFO(path << ": " << found->str());
                    CHECK(std::regex_match((*found)[1].str(), allowed));
                    ++throws;
                }
            }
    CHECK(throws >= 200);
}
