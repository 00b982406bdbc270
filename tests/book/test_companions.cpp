// The sources' companions: a page's listings are its program, which is compiled as it stands after each step;
// then the whole is run, and what each step prints is what the page shows there.
#include "agree.h"
#include "markdown.h"
#include "programs.h"

using namespace markdown;

namespace {

std::vector<fs::path> companions() { return files_in("docs/sources", ".md"); }

char number_of(const fs::path& page) { return page.filename().string()[0]; }

// A heading with listings.
struct Step {
    int line = 0;
    std::string title;
    std::size_t typed = 0;     // lines to type
    std::vector<Block> shown;  // what it adds to the output
};

std::vector<Step> steps_of(const fs::path& page) {
    const std::string text = read(page);
    const std::vector<Block> blocks = blocks_of(text);
    std::vector<Step> steps;
    Step current;
    std::size_t next = 0;
    int number = 0;
    const auto finish = [&] {
        if (current.typed > 0) steps.push_back(current);
    };
    bool inside = false;
    for (const std::string& line : lines_of(text)) {
        ++number;
        if (line.starts_with("```")) {
            inside = !inside;
            if (inside) {
                const Block& block = blocks[next++];
                if (block.language() == "cpp")
                    for (const std::string& typed : block.lines) current.typed += !typed.empty();
                if (block.language() == "text" && block.output_of.empty()) current.shown.push_back(block);
            }
        } else if (!inside && (line.starts_with("## ") || line.starts_with("### "))) {
            finish();
            current = {number, line.substr(line.find(' ') + 1), 0, {}};
        }
    }
    finish();
    return steps;
}

}  // namespace

TEST_CASE("each of the five companions' steps has at most 25 lines to type and says what they print",
          "[house][book][sources]") {
    CHECK(companions().size() == 5);
    for (const fs::path& page : companions()) {
        INFO(page);
        const std::string text = read(page);
        CHECK(contains(text, std::string("make follow S=") + number_of(page)));
        const std::vector<Step> steps = steps_of(page);
        CHECK(steps.size() > 5);
        for (const Step& step : steps) {
            INFO("line " << step.line << ": " << step.title << ", " << step.typed << " lines");
            CHECK(step.typed <= 25);
            CHECK_FALSE(step.shown.empty());
        }
        for (const Block& block : blocks_of(text)) {
            INFO("line " << block.line << ": ```" << block.info);
            CHECK((block.info == "cpp" || block.info == "cpp main" || block.info == "text" || block.varies() ||
                   block.info == "sh"));
        }
    }
}

TEST_CASE("at most a tenth of a companion's program is headers of its own, and a page shows all of these",
          "[house][book][sources]") {
    static const std::regex own("#include \"(?!weft/)[^\"]*?(\\w+\\.h)\"");
    for (const fs::path& page : companions()) {
        std::size_t typed = 0, brought = 0;
        for (const Step& step : steps_of(page)) typed += step.typed;
        const std::string text = read(page);
        for (std::sregex_iterator at(text.begin(), text.end(), own), end; at != end; ++at)
            for (const fs::path& header : files_in("examples", ".h"))
                if (header.filename() == (*at)[1].str()) {
                    const std::vector<std::string> lines = without_blank_lines(lines_of(read(header)));
                    brought += lines.size();
                    bool shown = false;
                    for (const fs::path& document : documents())
                        for (const Block& block : blocks_of(read(document)))
                            shown = shown || without_blank_lines(block.lines) == lines;
                    INFO(header << " is shown whole on no page");
                    CHECK(shown);
                }
        INFO(page << ": " << typed << " lines on the page, " << brought << " in headers");
        CHECK(typed >= 9 * brought);
    }
}

#ifdef WEFT_PROGRAMS

TEST_CASE("make follow enters a page anywhere, compiles what the reader typed, and names the page's line",
          "[book][sources]") {
    // A project with one page, whose program needs the standard library alone, and a build tool that compiles
    // it.
    const Scratch scratch;
    const fs::path project = scratch.folder(), yours = project / "exercises/follow/9_small.cpp";
    fs::create_directories(project / "docs/sources"), fs::create_directories(project / "exercises");
    fs::create_directories(project / "build/examples");
    fs::copy(root / "exercises/follow.sh", project / "exercises/follow.sh");
    std::ofstream(project / "docs/sources/9_small.md") << R"(# Small

## 9.1 Start

```cpp
#include <cstdio>

int main() {
    std::printf("one\n");
}
```

## 9.2 A function

```cpp
int twice(int x) {
    return 2 * x;
}
```

```cpp main
std::printf("%d\n", twice(1));
```

### Its use

```cpp main
const int y = twice(2);
std::printf("%d\n", y);
```
)";
    std::ofstream(project / "build.sh") << "shift 3; g++ -std=c++20 exercises/follow/9_small.cpp -o "
                                           "build/examples/yours_9 2>&1";
    std::ofstream(project / "cmake") << "#!/bin/sh\nexec sh build.sh \"$@\"\n";
    fs::permissions(project / "cmake", fs::perms::owner_all);
    const auto enter = [&](const std::string& section) {
        return shell("cd " + project.string() +
                     " && LC_ALL=C bash exercises/follow.sh enter ./cmake build 9 '" + section + "' 2>&1");
    };
    const auto write = [&](const std::string& text) { std::ofstream(yours) << text; };

    CHECK(enter("9.1").output ==
          "exercises/follow/9_small.cpp is empty.\nType what docs/sources/9_small.md:3 shows, and run this "
          "again.\n");
    const Result entered = enter("9.2");
    CHECK(contains(entered.output,
                   "holds the program as it is before \"9.2 A function\".\n"
                   "Type what docs/sources/9_small.md:13 shows"));
    const std::string first = "#include <cstdio>\n\nint main() {\n    std::printf(\"one\\n\");\n}\n";
    CHECK(read(yours) == first);
    CHECK(enter("its use").code == 0);
    const std::string second = read(yours);
    CHECK(contains(second,
                   "int twice(int x) {\n    return 2 * x;\n}\n\nint main() {\n    std::printf(\"one\\n\");\n"
                   "    std::printf(\"%d\\n\", twice(1));\n}\n"));

    // What the reader wrote is compiled and run, and never replaced.
    const std::string last = "    std::printf(\"%d\\n\", twice(1));\n";
    const auto typed = [&](const std::string& more) {
        std::string text = second;
        text.insert(text.find(last) + last.size(), more);
        write(text);
        return text;
    };
    const std::string whole = typed("    const int y=twice(2);  // mine\n    std::printf(\"%d\\n\", y);\n");
    const Result done = enter("Its use");
    CHECK(done.code == 0);
    CHECK(done.output == "one\n2\n4\n\nYour file has the whole page.\n");
    CHECK(contains(enter("9.2").output,
                   "Your file has all of \"9.2 A function\". Next: \"Its use\", docs/sources/9_small.md:25"));
    CHECK(read(yours) == whole);

    typed("    const int y = twice(2)\n    std::printf(\"%d\\n\", y);\n");
    const Result wrong = enter("Its use");
    CHECK(wrong.code == 1);
    CHECK(
        contains(wrong.output, "exercises/follow/9_small.cpp does not compile. The compiler's first error:\n"));
    CHECK(contains(wrong.output, "expected ',' or ';' before"));
    CHECK(contains(wrong.output,
                   "On the page this is docs/sources/9_small.md:29:\n  std::printf(\"%d\\n\", y);\n"));

    typed("    std::printf(\"%d\\n\", z);\n");
    CHECK(contains(enter("Its use").output,
                   "On the page this is docs/sources/9_small.md:28:\n  const int y = twice(2);\n"));

    typed("    std::printf(\"%d\\n\", 5);\n");
    CHECK(contains(enter("Its use").output,
                   "one\n2\n5\n\nUp to \"Its use\" the page has a line that your file has not, "
                   "docs/sources/9_small.md:28:\n  const int y = twice(2);\n"));

    typed("    *static_cast<volatile int*>(nullptr) = 1;\n");
    CHECK(contains(enter("Its use").output, "The program crashed here (signal 11)."));
    typed("    for (volatile int i = 0; i < 1;) {}\n");
    const Result endless = shell("cd " + project.string() +
                                 " && PATIENCE=1 bash exercises/follow.sh enter ./cmake build 9 its 2>&1");
    CHECK(endless.code == 1);
    CHECK(contains(endless.output, "stopped after 1 s: does a loop never end?"));

    const Result unknown = enter("9.3");
    CHECK(unknown.code == 2);
    CHECK(contains(unknown.output, "docs/sources/9_small.md has no section \"9.3\""));
    CHECK(contains(unknown.output, "    13  9.2 A function\n"));
    CHECK(contains(enter("9").output, "Several headings begin with \"9\"."));
    write(whole);
    CHECK(enter("25").output == done.output);  // by its line
}

TEST_CASE("a companion's step that uses what a later one types fails", "[book][sources]") {
    const Scratch scratch;
    const fs::path page = scratch / "page.md", folder = scratch / "program",
                   program = scratch / "program/whole";
    const auto built = [&](const std::string& first) {
        std::ofstream(page) << R"(## One

```cpp
#include <cstdio>

struct Count {
    int operator()() const;
};

int main() {
    const Count count;
    )" << first << R"(
}
```

## Two

```cpp
int Count::operator()() const {
    return 2;
}

int twice(int x) { return 2 * x; }
```

```cpp main
std::printf("%d\n", twice(count()));
```
)";
        return shell("export LC_ALL=C && bash " + (root / "exercises/follow.sh").string() + " split " +
                     page.string() + " " + folder.string() + " && g++ -std=c++20 " + program.string() +
                     ".cpp " + (root / "exercises/steps.cpp").string() + " -o " + program.string() +
                     " 2>&1 && " + program.string());
    };
    const Result right = built("std::puts(\"one\");");
    CHECK(right.code == 0);
    CHECK(right.output == "one\n4\n");
    const Result name = built("twice(1);");
    CHECK(name.code != 0);
    CHECK(contains(name.output, page.string() + ":12:5: error: 'twice' was not declared in this scope"));
    const Result body = built("count();");
    CHECK(body.code != 0);
    CHECK(contains(body.output, "step 1 calls what step 2 defines"));
}

#endif

#ifdef WEFT_BOOK

TEST_CASE("a companion's program compiles after each step, which adds to its output what the page shows",
          "[programs][book][sources]") {
    for (const fs::path& page : companions()) {
        const std::string program = std::string("follow_") + number_of(page);
        DYNAMIC_SECTION(program) {
            const std::vector<Step> steps = steps_of(page);
            const Result printed = run(program, ":", "WEFT_STEP_ENDS=1 ");
            REQUIRE(printed.code == 0);
            std::vector<std::vector<std::string>> outputs(1);  // what each step adds, then nothing
            for (const std::string& line : without_blank_lines(lines_of(printed.output)))
                if (line == "\x1e")
                    outputs.emplace_back();
                else
                    outputs.back().push_back(line);
            REQUIRE(outputs.size() == steps.size() + 1);
            CHECK(outputs.back().empty());
            for (std::size_t i = 0; i < steps.size(); ++i) {
                std::vector<std::string> shown;
                std::vector<bool> varies;
                for (const Block& block : steps[i].shown)
                    for (const std::string& line : without_blank_lines(block.lines))
                        shown.push_back(line), varies.push_back(block.varies());
                INFO(page << ":" << steps[i].line << ": " << steps[i].title);
                REQUIRE(outputs[i].size() == shown.size());
                for (std::size_t line = 0; line < shown.size(); ++line) {
                    const auto end = [](std::string text) {
                        return text.substr(0, text.find_last_not_of(' ') + 1);
                    };
                    INFO("the page shows\n" << shown[line] << "\nwhere the program adds\n" << outputs[i][line]);
                    CHECK(agree::lines(end(shown[line]), end(outputs[i][line]), varies[line]));
                }
            }
        }
    }
}

#endif
