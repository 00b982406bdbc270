// The examples that show what was computed, run as their users run them.
#include <regex>
#include <set>

#include "programs.h"
#include "svg_reader.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

TEST_CASE("S0.12 three heads that are asked three things take one each, in most of ten runs",
          "[S0.12][source][viz][programs]") {
    const Scratch scratch;
    const Result result = run("specialised_heads " + (scratch / "map.svg").string());
    CHECK(result.code == 0);

    // Its own numbers, judged again.
    static const std::regex row(
        R"(^ *\d+ +([\d.]+) % +([\d.]+) % +([\d.]+) % +([a-z]+) +([\d.]+) +([a-z]+) +([\d.]+) +([a-z]+) +([\d.]+) +(one each|shared)$)");
    std::istringstream lines(result.output);
    int runs = 0, specialised = 0;
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (!std::regex_match(line, match, row)) continue;
        ++runs;
        std::set<std::string> questions;
        for (const int i : {1, 2, 3}) CHECK(std::stod(match[i]) >= 95);
        for (const int i : {4, 6, 8})
            if (std::stod(match[i + 1]) > 0.5) questions.insert(match[i]);
        CHECK(match[10] == (questions.size() == 3 ? "one each" : "shared"));
        if (questions == std::set<std::string>{"previous", "first", "match"}) ++specialised;
    }
    CHECK(runs == 10);
    CHECK(specialised >= 8);  // 10 where it was written; rounding differs between processors
    CHECK(contains(result.output, "in " + std::to_string(specialised) + " of 10 runs"));
    const SvgTag map = read_svg(io::load_text(scratch / "map.svg"));
    CHECK(map.all("g").size() == 6);
    CHECK(run("specialised_heads -x").code == 2);
}

TEST_CASE("tensor_story lists every step from X to Y", "[viz][programs]") {
    const Result result = run("tensor_story");
    CHECK(result.code == 0);
    for (const char* part : {"tensor         shape", "X              (1, 3, 12)", "weights        (1, 3, 3, 3)",
                             "a view of QKV", "a copy of heads", "\nmask =\n[[[[False  True  True]"})
        CHECK(contains(result.output, part));
}

TEST_CASE("attention_maps draws every head", "[viz][programs]") {
    const Scratch scratch;
    const Result result = run("attention_maps " + scratch.folder().string());
    CHECK(result.code == 0);
    CHECK(contains(result.output, "\nt [█ · "));
    int pictures = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.folder())) {
        CHECK(read_svg(io::load_text(entry.path())).name == "svg");
        ++pictures;
    }
    CHECK(pictures == 1 + 2 * 4);
    const Result refused = run("attention_maps " + (scratch / "no_such_folder").string());
    CHECK(refused.code == 1);
    CHECK(contains(refused.output, "attention_maps: cannot write"));
    CHECK(run("attention_maps a b").code == 2);
    CHECK(run("attention_maps --help").code == 2);
}

TEST_CASE("graph_picture writes DOT", "[viz][programs]") {
    const Result result = run("graph_picture");
    CHECK(result.code == 0);
    CHECK(result.output.starts_with("digraph weft {\n"));
    CHECK(contains(result.output, "0.weight\\n(8, 2)"));
    CHECK(run("graph_picture a b").code == 2);
    CHECK(run("graph_picture --svg").code == 2);
}

#endif
