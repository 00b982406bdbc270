// The second track of the book, docs/from_scratch: its pages show all of the solution, what they print is what
// it prints, and exercises/from_scratch/step.sh says what it should.
#include <fstream>

#include "agree.h"
#include "markdown.h"
#include "places.h"
#include "programs.h"

using namespace markdown;

namespace {

constexpr int steps = 10;

std::string two_digits(int step) { return (step < 10 ? "0" : "") + std::to_string(step); }

fs::path page_of(int step) {
    for (const fs::path& page : files_in("docs/from_scratch", ".md"))
        if (page.filename().string().starts_with("step_" + two_digits(step))) return page;
    FAIL("step " << step << " has no page");
    return {};
}

// The solution's files of one step in the order in which its page shows them: headers, then the program.
std::vector<fs::path> files_of(int step) {
    std::vector<fs::path> found;
    for (const char* extension : {".h", ".cpp"})
        for (const fs::path& path : files_in("exercises/from_scratch/solution", extension))
            if (path.filename().string().starts_with(two_digits(step))) found.push_back(path);
    return found;
}

std::size_t lines_in(const std::vector<fs::path>& files) {
    std::size_t lines = 0;
    for (const fs::path& file : files) lines += lines_of(read(file)).size();
    return lines;
}

}  // namespace

TEST_CASE("the solution of the second track has at most 900 lines, and needs the standard library alone",
          "[house][from-scratch]") {
    std::size_t lines = 0;
    static const std::regex own("#include \"[0-9]{2}_[a-z]+\\.h\""), standard("#include <[a-z]+>");
    for (const char* extension : {".h", ".cpp"}) {
        const std::vector<fs::path> files = files_in("exercises/from_scratch/solution", extension);
        lines += lines_in(files);
        for (const fs::path& file : files)
            for (const std::string& line : lines_of(read(file)))
                if (line.starts_with("#include")) {
                    INFO(file << ": " << line);
                    CHECK((std::regex_match(line, own) || std::regex_match(line, standard)));
                }
    }
    CHECK(lines <= 900);
    CHECK(lines > 700);
}

TEST_CASE("a page of the second track has its parts, and shows every line of its step in order",
          "[house][book][from-scratch]") {
    const std::vector<std::string> parts = {"## The goal", "## The idea", "## What to type", "## The tests",
                                            "## The state that you have reached"};
    for (int step = 1; step <= steps; ++step) {
        const fs::path page = page_of(step);
        INFO(page);
        const std::string text = read(page);
        std::vector<std::string> found, typed, solution;
        for (const std::string& heading : headings_of(text))
            if (heading.starts_with("## ")) found.push_back(heading);
        CHECK(found == parts);
        CHECK(headings_of(text).at(0).starts_with("# Step " + std::to_string(step) + ". "));
        CHECK(contains(text, "make step N=" + std::to_string(step) + "\n"));
        for (const Block& block : blocks_of(text)) {
            INFO("line " << block.line << ": ```" << block.info);
            CHECK((block.info == "cpp" || block.language() == "text" || block.info == "sh"));
            if (block.info == "cpp") typed.insert(typed.end(), block.lines.begin(), block.lines.end());
        }
        for (const fs::path& file : files_of(step))
            for (const std::string& line : lines_of(read(file))) solution.push_back(line);
        typed = without_blank_lines(typed), solution = without_blank_lines(solution);
        CHECK(typed.size() == solution.size());
        for (std::size_t i = 0; i < std::min(typed.size(), solution.size()); ++i)
            if (typed[i] != solution[i]) {
                FAIL_CHECK("the page types\n" << typed[i] << "\nwhere the solution has\n" << solution[i]);
                break;
            }
    }
}

TEST_CASE("the list of steps says how many lines each has", "[house][book][from-scratch]") {
    const std::string list = read(root / "docs/from_scratch/README.md");
    std::size_t all = 0;
    for (int step = 1; step <= steps; ++step) {
        const std::size_t lines = lines_in(files_of(step));
        all += lines;
        const std::string link = "](" + page_of(step).filename().string() + ")";
        bool listed = false;
        for (const std::string& line : lines_of(list))
            listed = listed || (line.starts_with("| " + std::to_string(step) + " | [") &&
                                contains(line, link) && line.ends_with("| " + std::to_string(lines) + " |"));
        INFO("step " << step << " has " << lines << " lines");
        CHECK(listed);
    }
    INFO(all << " lines in all");
    CHECK(contains(list, "| " + std::to_string(all) + " |"));
}

TEST_CASE("step.sh says which file is empty, and copies the state before a step, but never over one's own code",
          "[from-scratch]") {
    const Scratch scratch;
    const std::string yours = scratch.folder().string();
    const auto step = [&](int number, const std::string& more = "") {
        const std::string command = "cd " + root.string() + " && YOURS=" + yours + " STEP_BUILD=" + yours +
                                    "/build N=" + std::to_string(number) + " " + more +
                                    " bash exercises/from_scratch/step.sh 2>&1";
        FILE* pipe = popen(command.c_str(), "r");
        REQUIRE(pipe != nullptr);
        std::string output;
        for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
        const int status = pclose(pipe);
        UNSCOPED_INFO(command << "\n" << output);
        return std::pair(WEXITSTATUS(status), output);
    };
    const auto write = [&](const std::string& name, const std::string& text) {
        std::ofstream(scratch / name) << text;
    };

    const auto first = step(1);
    CHECK(first.first == 1);
    CHECK(first.second.starts_with(yours + "/01_value.h has no code yet. docs/from_scratch/step_01_value.md"));
    CHECK(contains(read(root / "docs/from_scratch/README.md"),
                   "\nexercises/from_scratch/yours/01_value.h has no code yet. "
                   "docs/from_scratch/step_01_value.md says what to "
                   "write, line by line.\n"));
    CHECK(contains(step(5).second, "Step 5 builds on " + yours + "/01_value.h, which has no code yet."));
    CHECK(step(11).first == 2);
    CHECK(contains(step(11).second, "wants the number of a step: 1 to 10"));

    for (int number = 1; number <= steps; ++number) {
        CHECK(step(number, "FROM=solution").first == 0);
        for (int before = 1; before < number; ++before)
            for (const fs::path& file : files_of(before)) CHECK(read(file) == read(scratch / file.filename()));
        const auto empty = step(number);
        CHECK(empty.first == 1);
        CHECK(empty.second.starts_with(yours + "/" + files_of(number)[0].filename().string() +
                                       " has no code yet."));
    }

    const std::string list = step(0, "N=").second;
    CHECK(contains(list, "step  9  written\nstep 10  to write: 10_gpt.h 10_write.cpp\n"));

    write("01_value.h", "// only a comment\n\n");
    CHECK(step(2, "FROM=solution").first == 0);
    write("01_value.h", "int mine;\n");
    const auto refused = step(2, "FROM=solution");
    CHECK(refused.first == 2);
    CHECK(contains(refused.second,
                   "01_value.h holds code that differs from the solution, so nothing was copied."));
    CHECK(read(scratch / "01_value.h") == "int mine;\n");

    write("01_value.h", "int mine = ;\n");
    const auto broken = step(1);
    CHECK(broken.first == 1);
    CHECK(contains(broken.second, "The compiler's first error:"));
    CHECK(contains(broken.second, "01_value.h:"));
    CHECK(contains(step(1, "SOLUTION=1").second, "9 of 9 claims hold."));
}

#ifdef WEFT_BOOK

TEST_CASE("what the pages of the second track show is what their steps print",
          "[programs][book][from-scratch]") {
    int outputs = 0;
    const auto run = [](const std::string& program) {
        const Result result =
            shell("cd " + root.string() + " && " + places::from_scratch() + "/" + program + " 2>&1");
        CHECK(result.code == 0);
        return result.output;
    };
    for (int step = 1; step <= steps; ++step) {
        std::string printed = run("step_" + two_digits(step));
        if (fs::exists(fs::path(places::from_scratch()) / ("program_" + two_digits(step))))
            printed += run("program_" + two_digits(step));
        if (step == steps) printed += run("compare_with_weft");
        const fs::path page = page_of(step);
        for (const Block& block : blocks_of(read(page)))
            if (block.language() == "text") {
                INFO(page << " line " << block.line << " shows\n"
                          << block.str() << "but its step prints\n"
                          << printed);
                CHECK(agree::occurs_in(block.lines, lines_of(printed), block.varies()));
                ++outputs;
            }
    }
    CHECK(outputs >= 12);
}

#endif
