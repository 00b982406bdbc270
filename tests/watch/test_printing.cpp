// Printing against NumPy: golden/printing.txt holds what str() gives for each array of
// golden/printing.safetensors.
#include <fstream>
#include <map>
#include <sstream>

#include "catch.h"
#include "golden/golden.h"
#include "places.h"
#include "weft/core.h"

using namespace weft;

namespace {

// Name → text, from "=== name" lines and what follows each.
std::map<std::string, std::string> expected_texts() {
    std::ifstream file(places::golden() + "/printing.txt");
    std::map<std::string, std::string> texts;
    std::string line, name;
    std::getline(file, line);  // the version of NumPy
    while (std::getline(file, line)) {
        if (line.starts_with("=== ")) {
            name = line.substr(4);
            texts[name];
        } else {
            texts[name] += (texts[name].empty() ? "" : "\n") + line;
        }
    }
    return texts;
}

}  // namespace

TEST_CASE("tensors print as NumPy's arrays", "[printing][golden]") {
    const Golden arrays("printing.safetensors");
    const auto texts = expected_texts();
    REQUIRE(texts.size() == arrays.names().size());
    REQUIRE(texts.size() > 90);
    for (const auto& [name, text] : texts) {
        INFO(name);
        CHECK(arrays(name).str() == text);
    }
}

TEST_CASE("printing reads views as they are seen", "[printing]") {
    const Golden arrays("printing.safetensors");
    const auto texts = expected_texts();
    for (const char* name : {"normal_float32", "cube", "int", "bool", "long_rows", "summary_matrix"}) {
        INFO(name);
        CHECK(strided_copy(arrays(name)).str() == texts.at(name));
    }
    CHECK(tensor({{1.0, 2}, {3, 4}}).T().str() == "[[1. 3.]\n [2. 4.]]");
    CHECK(tensor({0.5}).expand({2, 3}).str() == "[[0.5 0.5 0.5]\n [0.5 0.5 0.5]]");
}

TEST_CASE("a stream prints the same text, whatever its own settings", "[printing]") {
    std::ostringstream out;
    out.precision(2);
    out << std::hex << std::scientific << tensor({0.5, 255}) << arange(3);
    CHECK(out.str() == "[  0.5 255. ][0 1 2]");
}
