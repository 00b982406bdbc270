// The chapters: what they show is what their programs print and draw today.
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "agree.h"
#include "markdown.h"
#include "programs.h"
#include "svg_reader.h"
#include "viz/axis.h"

using namespace markdown;

namespace {

const std::vector<std::string> parts = {"## The idea",    "## The formula", "## The code",      "## Break it",
                                        "## To remember", "## Exercises",   "## Where to go on"};

const std::string smollm = "build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

std::string number_of(const fs::path& chapter) { return chapter.filename().string().substr(0, 2); }

}  // namespace

TEST_CASE("there are twenty-three chapters, each with a program, an exercise, its solution and its test",
          "[book]") {
    int expected = 0;
    for (const fs::path& chapter : chapters()) {
        INFO(chapter);
        CHECK(std::stoi(number_of(chapter)) == ++expected);
        const std::string source = chapter.stem().string() + ".cpp";
        for (const char* folder : {"examples/chapters", "exercises", "exercises/solutions", "exercises/tests"})
            CHECK(fs::exists(root / folder / source));
    }
    CHECK(expected == 23);
    CHECK(files_in("examples/chapters", ".cpp").size() == pages_with_programs().size());
    CHECK(files_in("exercises/solutions", ".cpp").size() == 23 + 5);  // and a project for each part of the book
}

TEST_CASE("the table of contents counts what there is", "[house][book]") {
    const auto files = [](const char* folder, const char* names) {
        const std::regex pattern(names);
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator(root / folder))
            count += std::regex_match(entry.path().filename().string(), pattern);
        return count;
    };
    const std::string contents = read(root / "docs/README.md");
    const std::size_t parts = files("docs", R"(recap_\d\.md)");
    for (const auto& [count, is, said] :
         {std::tuple(chapters().size(), 23u, "Twenty-three chapters later"),
          std::tuple(files("docs/from_scratch", "step_.*"), 10u, "in ten steps from an empty file"),
          std::tuple(files("exercises/faults", R"(\d\d_.*)"), 12u, "twelve sick programs"),
          std::tuple(files("docs/sources", R"(\d_.*)"), 5u, "five published chapters"),
          std::tuple(parts, 5u, "Each of the book's five parts")}) {
        INFO(said);
        CHECK(count == is);
        CHECK(contains(contents, said));
    }
    for (std::size_t part = 1; part <= parts + 1; ++part)
        CHECK(contains(contents, "\n### Part " + std::to_string(part) + ": ") == (part <= parts));
}

TEST_CASE(
    "a chapter's exercise has tasks to predict, mend, write and work out on paper, with hints, in this order",
    "[book]") {
    static const std::regex task(R"re(exercise\.(predict|mend|write|paper)\(\s*"(\w+)")re");
    for (const fs::path& chapter : chapters()) {
        INFO(chapter);
        const std::string name = chapter.stem().string() + ".cpp";
        if (!fs::exists(root / "exercises" / name)) continue;  // the test above tells
        const std::string given = read(root / "exercises" / name),
                          solved = read(root / "exercises/solutions" / name),
                          tests = read(root / "exercises/tests" / name);
        CHECK(contains(given, "blank()"));
        CHECK_FALSE(contains(solved, "blank()"));
        std::vector<std::string> levels;
        for (std::sregex_iterator at(tests.begin(), tests.end(), task), end; at != end; ++at) {
            INFO(at->str());
            CHECK(contains(given, " " + (*at)[2].str() + "("));
            if (levels.empty() || levels.back() != (*at)[1].str()) levels.push_back((*at)[1].str());
        }
        CHECK(levels == std::vector<std::string>{"predict", "mend", "write", "paper"});
    }
}

TEST_CASE("each part of the book has a project, with a solution and tests", "[book]") {
    int projects = 0;
    for (const fs::path& solution : files_in("exercises/solutions", ".cpp")) {
        const std::string name = solution.filename().string();
        if (!name.starts_with("project_")) continue;
        INFO(name);
        CHECK(name.starts_with("project_" + std::to_string(++projects) + "_"));
        CHECK(contains(read(root / "exercises" / name), "make exercise PROJECT=" + std::to_string(projects)));
        CHECK(contains(read(root / "exercises" / name), "blank()"));
        CHECK(contains(read(root / "exercises/tests" / name), "exercise.accept("));
    }
    CHECK(projects == 5);
}

TEST_CASE(
    "a chapter says what it gives, and has an idea with a picture, a formula, code, a thing to break and "
    "exercises",
    "[book]") {
    for (const fs::path& chapter : chapters()) {
        INFO(chapter);
        const std::string text = read(chapter);
        const std::vector<std::string> headings = headings_of(text);
        REQUIRE_FALSE(headings.empty());
        CHECK(headings[0].starts_with("# " + std::to_string(std::stoi(number_of(chapter))) + ". "));
        std::vector<std::string> found;
        for (const std::string& heading : headings)
            if (heading.starts_with("## ")) found.push_back(heading);
        CHECK(found == parts);
        CHECK(contains(text, "**After this chapter you can**"));
        const std::string idea = text.substr(text.find(parts[0]), text.find(parts[1]) - text.find(parts[0]));
        CHECK(contains(idea, "](figures/" + number_of(chapter) + "_"));
        const std::string formula = text.substr(text.find(parts[1]), text.find(parts[2]) - text.find(parts[1]));
        CHECK(contains(formula, "$"));
        const std::string command = " N=" + std::to_string(std::stoi(number_of(chapter)));
        CHECK(contains(text, "make chapter" + command));
        CHECK(contains(text, "make exercise" + command));
        for (const Block& block : blocks_of(text)) {
            INFO("line " << block.line << ": ```" << block.info);
            const std::set<std::string> known = {"cpp", "text", "text varies", "sh",
                                                 "python"};  // test_page.py runs it
            CHECK(known.count(block.info) == 1);
        }
    }
}

TEST_CASE("the minutes of the table of contents are those that a chapter takes to read", "[book]") {
    const std::string contents = read(root / "docs/README.md");
    for (const fs::path& chapter : pages_with_programs()) {
        const std::string text = read(chapter);
        std::istringstream words(prose_of(text));
        const auto count = std::distance(std::istream_iterator<std::string>(words), {});
        std::size_t lines = 0;
        for (const Block& block : blocks_of(text)) lines += block.lines.size();
        const long minutes = std::lround(static_cast<double>(count) / 200 + static_cast<double>(lines) / 15);
        INFO(chapter << " takes " << minutes << " minutes");
        static const std::regex minutes_of(R"(\]\((\d\d_\w+\.md)\) \|[^|]*\| (\d+) \|)");
        bool found = false;
        for (std::sregex_iterator at(contents.begin(), contents.end(), minutes_of), end; at != end; ++at)
            if ((*at)[1] == chapter.filename().string()) {
                found = true;
                CHECK(std::abs(std::stol((*at)[2]) - minutes) <= 1);
            }
        CHECK(found);
    }
}

TEST_CASE("every figure is shown, with words for those who cannot see it", "[book]") {
    std::set<std::string> shown;
    for (const fs::path& document : documents())
        for (const Link& link : links_of(read(document)))
            if (link.picture) {
                INFO(document << ": " << link.file);
                CHECK(link.text.size() >= 15);
                shown.insert(fs::path(link.file).filename().string());
            }
    for (const fs::path& figure : files_in("docs/figures", ".svg")) {
        INFO(figure);
        CHECK(shown.count(figure.filename().string()) == 1);
    }
}

TEST_CASE("no figure cuts off its words", "[house][book]") {
    for (const fs::path& figure : files_in("docs/figures", ".svg")) {
        const std::string picture = read(figure);
        const SvgTag svg = read_svg(picture);
        for (const SvgTag* text : svg.all("text")) {
            if (text->attributes.contains("transform")) continue;  // turned
            INFO(figure << ": " << text->text);
            const double width = weft::viz::text_width(text->text, text->number("font-size")),
                         left = text->number("x") - (text->has("text-anchor", "middle") ? width / 2
                                                     : text->has("text-anchor", "end")  ? width
                                                                                        : 0);
            CHECK(left >= 0);
            CHECK(left + width <= svg.number("width") + 1);  // the width is an upper bound
        }
    }
}

TEST_CASE("the picture of the layers has every library, and its words name each", "[house][book]") {
    const std::string picture = read(root / "docs/figures/layers.svg"),
                      page = read(root / "docs/architecture.md"), cmake = read(root / "CMakeLists.txt");
    static const std::regex library(R"(\nweft_library\((\w+))");
    std::size_t libraries = 0;
    for (std::sregex_iterator at(cmake.begin(), cmake.end(), library), end; at != end; ++at, ++libraries) {
        INFO((*at)[1]);
        CHECK(contains(picture, ">weft::" + (*at)[1].str() + "<"));
        CHECK(std::regex_search(page, std::regex("!\\[Eight boxes[^\\]]* weft::" + (*at)[1].str() + "\\b")));
    }
    CHECK(libraries == 8);
}

TEST_CASE("every command of the documents is one that make knows", "[book]") {
    const std::string makefile = read(root / "Makefile");
    static const std::regex command(R"((^|[^\w])make ([a-z][a-z-]*)( |$|`))");
    int commands = 0;
    for (const fs::path& document : documents())
        for (const Block& block : blocks_of(read(document)))
            if (block.info == "sh")
                for (const std::string& line : block.lines)
                    if (std::smatch match; std::regex_search(line, match, command)) {
                        INFO(document << ":" << block.line << ": " << line);
                        CHECK(std::regex_search(makefile, std::regex("\n" + match[2].str() + ":.*##")));
                        ++commands;
                    }
    CHECK(commands >= 34);
}

TEST_CASE("numbers agree as closely as they are printed, and words exactly", "[book]") {
    CHECK(agree::lines("loss 1.234 of 10", "loss 1.235 of 10"));
    CHECK_FALSE(agree::lines("loss 1.234 of 10", "loss 1.236 of 10"));
    CHECK_FALSE(agree::lines("loss 1.234 of 10", "loss 1.234 of 11"));
    CHECK_FALSE(agree::lines("loss 1.234 of 10", "Loss 1.234 of 10"));
    CHECK(agree::lines("-0.00", "0.00"));
    CHECK(agree::lines("−0.50 x", "-0.50 x"));
    CHECK_FALSE(agree::lines("-0.50 x", "0.50 x"));
    CHECK(agree::lines("1.2e-08", "1.3e-08"));
    CHECK_FALSE(agree::lines("1.2e-08", "1.2e-07"));
    CHECK(agree::lines("took  9.8 ms", "took 12.8 ms", true));
    CHECK_FALSE(agree::lines("took 9.8 ms", "took 9.8 s", true));
    CHECK_FALSE(agree::lines("nan", "0.5", true));
    CHECK(agree::occurs_in({"b 1.0", "c"}, {"a", "b 1.1  ", "c", "d"}));
    CHECK_FALSE(agree::occurs_in({"b 1.0", "d"}, {"a", "b 1.0", "c", "d"}));
    CHECK_FALSE(agree::occurs_in({}, {"a"}));
    CHECK(agree::pictures("<a x=\"10\" fill=\"#102030\">0.50</a>", "<a x=\"11\" fill=\"#102130\">0.51</a>"));
    CHECK_FALSE(agree::pictures("<a x=\"10\">0.50</a>", "<a x=\"12\">0.50</a>"));
    CHECK_FALSE(agree::pictures("<a x=\"10\">0.50</a>", "<a x=\"10\">0.60</a>"));
    CHECK_FALSE(agree::pictures("<a x=\"10\">0.50</a>", "<b x=\"10\">0.50</b>"));
    CHECK_FALSE(agree::pictures("<a fill=\"#102030\"/>", "<a fill=\"#202030\"/>"));
}

#ifdef WEFT_BOOK

TEST_CASE("the chapters' programs print and draw what the chapters show", "[programs][book][chapters]") {
    std::size_t outputs = 0, figures = 0;  // shown, so that a section can run alone
    for (const fs::path& chapter : pages_with_programs()) {
        const std::string text = read(chapter);
        std::set<std::string> drawn, shown;
        for (const Block& block : blocks_of(text)) outputs += block.language() == "text";
        for (const Link& link : links_of(text))
            if (link.picture && link.file.starts_with("figures/")) shown.insert(link.file.substr(8));
        figures += shown.size();
        DYNAMIC_SECTION("chapter " << number_of(chapter)) {
            const Scratch scratch;
            const Result printed =
                run("chapter_" + number_of(chapter) + " --figures " + scratch.folder().string());
            REQUIRE(printed.code == 0);
            std::map<std::string, std::string> outputs = {{"", printed.output}};  // of each command
            for (const Block& block : blocks_of(text)) {
                if (block.language() != "text") continue;
                const bool of_smollm = contains(block.output_of, smollm);
                if (of_smollm && !fs::exists(root / smollm)) {
                    skip("make smollm has not fetched its model: the output of " + block.output_of);
                    continue;
                }
                if (outputs.count(block.output_of) == 0) {
                    const Scratch elsewhere;
                    const fs::path folder = of_smollm ? root : elsewhere.folder();
                    outputs[block.output_of] = run(block.output_of, "cd " + folder.string()).output;
                }
                const std::string& output = outputs[block.output_of];
                INFO("line " << block.line << " shows\n"
                             << block.str() << "but the program prints\n"
                             << output);
                CHECK(agree::occurs_in(block.lines, lines_of(output), block.varies()));
            }
            for (const auto& entry : fs::directory_iterator(scratch.folder()))
                drawn.insert(entry.path().filename().string());
            CHECK(drawn == shown);
            for (const std::string& name : drawn) {
                INFO(name << " is no longer what the program draws; if the new one is right: make figures");
                CHECK(agree::pictures(read(root / "docs/figures" / name), read(scratch / name)));
            }
        }
    }
    CHECK(outputs >= 150);
    CHECK(figures >= 50);
}

TEST_CASE("the README's programs print what it shows", "[programs][book]") {
    int outputs = 0;
    for (const Block& block : blocks_of(read(root / "README.md")))
        if (!block.output_of.empty()) {
            const Result printed = run(block.output_of);
            INFO("line " << block.line << " shows\n"
                         << block.str() << "but the program prints\n"
                         << printed.output);
            CHECK(printed.code == 0);
            CHECK(agree::occurs_in(block.lines, lines_of(printed.output), block.varies()));
            ++outputs;
        }
    CHECK(outputs >= 3);
}

TEST_CASE("the picture of the layers is what its program draws", "[programs][book]") {
    const Scratch scratch;
    REQUIRE(run("layers_picture " + (scratch / "layers.svg").string()).code == 0);
    CHECK(agree::pictures(read(root / "docs/figures/layers.svg"), read(scratch / "layers.svg")));
}

#endif
