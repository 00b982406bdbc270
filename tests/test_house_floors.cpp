// The floors of the house, bottom up: array, kernels, autograd, ops, then nn, optim, check, io, text and viz
// side by side. A file includes only its own floor and those below; nn and above see only public headers;
// xtensor, BLAS and OpenMP stay in ops and below, and out of every public header but the bridge that is there
// for it.
#include <map>

#include "catch.h"
#include "markdown.h"

namespace {

namespace fs = std::filesystem;

constexpr int top = 4;  // the first floor that sees only public headers

// The floor of "src/core/ops/matmul.cpp" or "include/weft/core/tensor.h"; −1 when it has none.
int floor_of(const std::string& path) {
    static const std::map<std::string, int> folders = {
        {"array", 0}, {"kernels", 1}, {"autograd", 2}, {"ops", 3}};
    static const std::map<std::string, int> headers = {{"shape.h", 0},  {"dtype.h", 0},   {"error.h", 0},
                                                       {"random.h", 0}, {"tensor.h", 2},  {"autograd.h", 2},
                                                       {"ledger.h", 2}, {"trace.h", 2},   {"mask.h", 3},
                                                       {"ops.h", 3},    {"xtensor.h", 3}, {"tokenizer.h", top}};
    static const std::vector<std::string> tops = {"nn", "optim", "check", "io", "text", "viz"};
    const auto first = [](const std::string& rest) { return rest.substr(0, rest.find('/')); };
    if (path.starts_with("src/")) {
        const std::string folder = first(path.substr(4));
        if (const auto found = folders.find(folder); found != folders.end()) return found->second;
        return std::find(tops.begin(), tops.end(), folder) != tops.end() ? top : -1;
    }
    if (path.starts_with("include/weft/")) {
        const std::string name = path.substr(13);
        if (const auto found = headers.find(name); found != headers.end()) return found->second;
        for (const std::string& folder : tops)
            if (first(name) == folder || name == folder + ".h") return top;
        return name == "weft.h" ? top + 1 : -1;
    }
    return -1;
}

bool is_numeric_library(const std::string& include) {
    static const std::regex pattern(
        "(xtensor|xtensor-blas|xtl|xsimd|xflens|openblas)/.*|(cblas|lapacke|omp|openblas_config)[^/]*");
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
    const int floor = floor_of(path);
    if (floor < 0) return {path + " stands on no floor"};
    const bool is_public = path.starts_with("include/");
    for (const auto& [name, quoted] : includes_of(text)) {
        const std::string line = path + " includes " + name;
        if (is_numeric_library(name)) {
            if (is_public && path != "include/weft/xtensor.h")
                found.push_back(line + ": not in a public header");
            if (floor >= top) found.push_back(line + ": not above ops");
            continue;
        }
        if (!quoted && !name.starts_with("weft/")) continue;  // the standard library, nlohmann::json
        const bool target_public = name.starts_with("weft/");
        std::string target = (target_public ? "include/" : "src/") + name;
        if (const std::string beside = path.substr(0, path.rfind('/') + 1) + name;
            !exists(target) && exists(beside))
            target = beside;
        if (!exists(target)) {
            found.push_back(line + ": no such file beside it, in src/ or as weft/…");
            continue;
        }
        if (floor_of(target) > floor) found.push_back(line + ": a floor above its own");
        if (is_public && !target_public) found.push_back(line + ": a private header in a public one");
        if (floor >= top && !target_public && floor_of(target) < top)
            found.push_back(line + ": nn and above see only public headers");
    }
    return found;
}

}  // namespace

TEST_CASE("every file includes only its own floor and those below", "[house]") {
    const fs::path root = WEFT_SOURCE_DIR;
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

TEST_CASE("the test of the floors finds each kind of violation", "[house]") {
    const auto exists = [](const std::string& path) {
        return !path.ends_with("gone.h") && path != "src/registry.h";
    };
    const auto one = [&](const std::string& path, const std::string& text) {
        const auto found = violations(path, text, exists);
        return found.size() == 1 ? found[0] : std::to_string(found.size()) + " violations";
    };
    CHECK(contains(one("src/core/kernels/gemm.cpp", "#include \"ops/binary.h\"\n"), "a floor above its own"));
    CHECK(contains(one("src/core/array/array.cpp", "#include \"weft/core/tensor.h\"\n"),
                   "a floor above its own"));
    CHECK(contains(one("src/nn/linear.cpp", "  #  include \"kernels/gemm.h\"\n"),
                   "nn and above see only public headers"));
    CHECK(contains(one("src/models/io/npy.cpp", "#include <xtensor/xnpy.hpp>\n"), "not above ops"));
    CHECK(contains(one("include/weft/core/ops.h", "#include <omp.h>\n"), "not in a public header"));
    CHECK(contains(one("include/weft/core/tensor.h", "#include <cblas.h>\n"), "not in a public header"));
    CHECK(contains(one("include/weft/core/tensor.h", "#include \"array/array.h\"\n"),
                   "a private header in a public one"));
    CHECK(contains(one("src/core/kernels/gemm.cpp", "#include \"kernels/gone.h\"\n"), "no such file"));
    CHECK(contains(one("src/cellar/wine.cpp", ""), "stands on no floor"));

    CHECK(violations("include/weft/xtensor.h",
                     "#include <xtensor/xadapt.hpp>\n#include \"weft/core/tensor.h\"\n", exists)
              .empty());
    CHECK(violations("src/core/ops/matmul.cpp", "#include \"kernels/gemm.h\"\n#include <cblas.h>\n", exists)
              .empty());
    CHECK(violations("src/nn/module.cpp", "#include \"registry.h\"\n", exists).empty());
    CHECK(violations("src/models/io/safetensors.cpp", "#include <nlohmann/json.hpp>\n#include \"io/file.h\"\n",
                     exists)
              .empty());
}
