// What docs/debugging.md shows of a program with a fault (uncaught.cpp): an error that ends it, and gdb
// with the printers of tools/gdb.
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "catch.h"
#include "environment.h"
#include "markdown.h"
#include "programs.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

namespace {

std::string uncaught() { return places::programs() + "/../tests/uncaught"; }

// The lines of the page's blocks whose comment names this command, without those that vary.
std::vector<std::string> shown(const std::string& command) {
    std::vector<std::string> lines;
    for (const markdown::Block& block :
         markdown::blocks_of(markdown::read(markdown::root / "docs/debugging.md")))
        if (block.output_of == command)
            for (const std::string& line : block.lines)
                if (!line.empty()) lines.push_back(line);
    return lines;
}

void check_shown(const Result& result, const std::string& command) {
    const std::vector<std::string> lines = shown(command);
    CHECK(lines.size() >= 2);
    const auto without = [](std::string text, const std::string& part) {
        for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
        return text;
    };
    // On the page paths begin at the project's folder, where programs may name the folder in which they were
    // compiled, or one above; and the sign of a NaN is nobody's.
    const std::regex folders(R"([^ '"\n]*/(include/weft/|src/|tests/))");
    const std::string text = without(std::regex_replace(result.output, folders, "$1"), "-");
    for (const std::string& line : lines) {
        if (line.starts_with("(gdb)") || contains(line, "0x") || contains(line, "requires_grad")) continue;
        INFO(line);
        CHECK(contains(text, without(line, "-")));
    }
}

}  // namespace

TEST_CASE("what does not compile says what to write", "[programs][debugging]") {
    if (shell("c++ --version").code != 0) return skip("c++ is not installed: what does not compile");
    Scratch scratch;
    std::string program =
        "#include \"weft/nn.h\"\nusing namespace weft;\nint main() {\n"
        "nn::Linear model(2, 3);\nTensor x = ones({2, 2, 2});\n";
    const std::string page = markdown::read(markdown::root / "docs/debugging.md");
    const std::size_t begin = page.find("```text\n") + 8;
    program += page.substr(begin, page.find("```", begin) - begin) + "}\n";
    const auto file = scratch / "wrong.cpp";
    std::ofstream(file) << program;
    const Result result = shell("LC_ALL=C.UTF-8 c++ -std=c++20 -fsyntax-only -I" + places::source() +
                                "/include '" + file.string() + "' 2>&1");
    CHECK(result.code != 0);
    int errors = 0;
    for (std::size_t at = 0; (at = result.output.find("error: ", at)) != std::string::npos; ++at) ++errors;
    CHECK(errors == 4);
    check_shown(result, "c++ -std=c++20 -fsyntax-only -Iinclude wrong.cpp");
}

TEST_CASE("the compiler says how to mend each of forty mistakes, and what it says compiles",
          "[programs][debugging]") {
    if (shell("g++ --version").code != 0)
        return skip("g++ is not installed: mistakes and what it says of them");
    std::map<int, std::vector<std::string>> rows;  // by the line of the table: wrong, what is said, right
    std::istringstream table(markdown::read(markdown::root / "tests/programs/mistakes.txt"));
    int number = 0;
    for (std::string line; std::getline(table, line);) {
        ++number;
        if (line.starts_with('#')) continue;
        static const std::regex row("(.*) ⇒ (.*) ⇒ (.*)");
        std::smatch parts;
        REQUIRE(std::regex_match(line, parts, row));
        rows[number] = {parts[1], parts[2], parts[3]};
    }
    CHECK(rows.size() >= 40);
    Scratch scratch;
    const auto compiled = [&](std::size_t column) {
        const auto file = scratch / "mistakes.cpp";
        std::ofstream program(file);
        program << "#include \"weft/training.h\"\n#include \"weft/weft.h\"\nusing namespace weft;\n"
                   "struct Net : nn::Module {\n"
                   "    nn::Linear a = register_module(\"a\", nn::Linear(2, 3));\n"
                   "    Tensor operator()(const Tensor& x) const { return a(x); }\n};\n";
        for (const auto& [line, row] : rows)
            program << "#line " << line << " \"mistakes.txt\"\nvoid mistake_" << line
                    << "(Net net, nn::Linear layer, Tensor x, Tensor y, Tensor ids, Rng rng) { " << row[column]
                    << " }\n";
        program.close();
        return shell("LC_ALL=C.UTF-8 g++ -std=c++20 -fsyntax-only -I" + places::source() + "/include '" +
                     file.string() + "' 2>&1");
    };
    std::map<int, std::string> said;  // what follows each mention of a line
    std::istringstream output(compiled(0).output);
    static const std::regex mention(R"(mistakes\.txt:(\d+):)");
    number = 0;
    for (std::string line; std::getline(output, line); said[number] += line + '\n')
        if (std::smatch found; std::regex_search(line, found, mention)) number = std::stoi(found[1]);
    for (const auto& [line, row] : rows) {
        INFO(row[0] << '\n' << said[line]);
        CHECK(contains(said[line], "error: "));
        CHECK(contains(said[line], row[1]));
    }
    const Result right = compiled(2);
    INFO(right.output);
    CHECK(right.code == 0);
}

TEST_CASE("an uncaught error names the module", "[programs][fault]") {
    const Result result = shell(uncaught() + " 2>&1");
    CHECK(result.code != 0);
    CHECK(contains(result.output,
                   "Net.second: linear: x (2, 4), weight (2, 3): x must be (…, in) and weight (out, in), with "
                   "the same in\n"));
    check_shown(result, "uncaught");
}

TEST_CASE("a gradient that is not finite is named before an optimiser meets it", "[programs]") {
    const Result result = shell(uncaught() + " nan 2>&1");
    CHECK(result.code != 0);
    CHECK(contains(result.output, "FAILED: the gradient is not finite"));
    check_shown(result, "uncaught nan");
}

TEST_CASE("train_gpt --profile prints the tables of its steps and writes their trace", "[programs][train]") {
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const std::string path = (scratch / "trace.json").string();
    for (const int steps : {4, 20}) {  // the first step and those after the eleventh are left out
        const Result result = run(tiny + in(scratch) + "--steps " + std::to_string(steps) + " --text " +
                                  (scratch / "text").string() + " --profile " + path);
        CHECK(result.code == 0);
        CHECK(contains(result.output, "\noperation "));
        CHECK(contains(result.output, "\noutside operations "));
        CHECK(contains(result.output, "\nmodule "));
        CHECK(contains(result.output, "\nwrote " + path + "\n"));
        const std::string trace = io::load_text(path), name = "\"name\": \"optimizer.step\"";
        int updates = 0;
        for (std::size_t at = 0; (at = trace.find(name, at)) != std::string::npos; ++at) ++updates;
        CHECK(updates == (steps == 4 ? 3 : 10));
        CHECK(contains(trace, "\"name\": \"linear, backward\""));
        CHECK(contains(
            trace, "\"name\": \"GPT.blocks[0]\""));  // in the table only if it takes a hundredth of the time
        CHECK_FALSE(contains(result.output, "--profile="));  // not in the command that continues
    }
}

TEST_CASE("gdb shows the callers of an error, and tensors and shapes by their values", "[programs]") {
    if (shell("gdb --version 2>&1").code != 0) return skip("gdb is not installed: its printers of tensors");
    if (sanitized) return skip("AddressSanitizer does not run under gdb: its printers of tensors");
    std::string command =
        "gdb -q -batch -nx -iex 'set debuginfod enabled off' -x " + places::source() + "/tools/gdb/weft_gdb.py";
    for (const std::string& line : shown("gdb"))
        if (line.starts_with("(gdb) ")) command += " -ex '" + line.substr(6) + "'";
    const Result result = shell(command + " -ex kill " + uncaught() + " 2>&1");
    if (contains(result.output, "not permitted"))
        return skip("this system forbids gdb: its printers of tensors");
    CHECK(contains(result.output, " = (2, 8) float32 {0, 1, 2, 3, 4, 5, 6, 7, …}\n"));
    CHECK(contains(result.output, " = (8, 2) float32 {0, 8, 1, 9, 2, 10, 3, 11, …}\n"));
    CHECK(contains(result.output, " = (8, 2)\n"));
    CHECK(contains(result.output, " = undefined\n"));
    CHECK(contains(result.output, " = (2,) float32 requires_grad {"));
    CHECK(contains(result.output, "Catchpoint 1 (exception thrown)"));
    std::size_t last = 0;  // the callers, from the inside out
    for (const char* call : {"uncaught.cpp:15\n", "uncaught.cpp:20\n", "uncaught.cpp:41\n"}) {
        INFO(call);
        last = result.output.find(call, last);
        REQUIRE(last != std::string::npos);
    }
    check_shown(result, "gdb");
}

#endif
