// The faults: what docs/faults.md shows is what the sick programs print, and the verdict tells each from
// health.
#include <map>

#include "agree.h"
#include "markdown.h"
#include "programs.h"

using namespace markdown;

#ifdef WEFT_BOOK

namespace {

// What can become of a sick program: a block of exercises/faults/mends.txt.
struct Change {
    std::string number, name, verdict;
    std::vector<std::string> lines;  // those that go and come, with their sign
};

std::vector<Change> changes() {
    std::vector<Change> found;
    for (const std::string& line : lines_of(read(root / "exercises/faults/mends.txt"))) {
        if (line.starts_with("#") || line.empty()) continue;
        if (line.starts_with("= "))
            found.back().verdict = line.substr(2);
        else if (line.starts_with("-") || line.starts_with("+"))
            found.back().lines.push_back(line);
        else
            found.push_back({line.substr(0, 2), line.substr(3), "", {}});
    }
    return found;
}

// The sick programs' numbers, 01 to 12, with the headings of their sections.
std::map<std::string, std::string> sections() {
    std::map<std::string, std::string> found;
    std::string number;
    for (const std::string& line : lines_of(read(root / "docs/faults.md"))) {
        if (line.starts_with("## "))
            number =
                std::isdigit(line[3]) ? (line[4] == '.' ? "0" : "") + line.substr(3, line.find('.') - 3) : "";
        if (!number.empty()) found[number] += line + "\n";
    }
    return found;
}

// What "fault_variants_07 for_ever --seed 2" prints; without --progress the same each time, so it runs once.
Result fault(const std::string& number, std::string variant, const std::string& arguments = "") {
    std::replace(variant.begin(), variant.end(), ' ', '_');
    const std::string command = "ulimit -t 10; " + places::from_scratch() + "/../fault_variants_" + number +
                                " " + variant + " " + arguments + " 2>&1";
    static std::map<std::string, Result> known;
    if (!known.contains(command) || contains(arguments, "--progress")) known[command] = shell(command);
    UNSCOPED_INFO(command << "\n" << known[command].output);
    return known[command];
}

std::vector<double> losses(const std::string& number, const std::string& variant, int seeds) {
    std::vector<double> found;
    for (int seed = 1; seed <= seeds; ++seed) {
        const std::string other = seed == 1 ? "" : "--seed " + std::to_string(seed);
        for (const std::string& line : lines_of(fault(number, variant, other).output))
            if (line.ends_with(" in the last tenth")) {
                found.resize(static_cast<std::size_t>(seed));
                found.back() = std::stod(line.substr(line.rfind(": ") + 2));
            }
    }
    REQUIRE(found.size() == static_cast<std::size_t>(seeds));
    return found;
}

std::string fixed(double value) { return weft::to_chars(value, std::chars_format::fixed, 3); }

}  // namespace

TEST_CASE("a sick program is found sick, its mend is accepted, and what readers may try instead is refused",
          "[programs][faults]") {
    std::map<std::string, int> mends, others;
    for (const Change& change : changes()) {
        DYNAMIC_SECTION(change.number << " " << change.name) {
            const bool mended = change.verdict == "Mended";
            CHECK((mended || change.verdict.starts_with("Still sick") ||
                   change.verdict.starts_with("Something else is broken")));
            const Result result = fault(change.number, change.name);
            CHECK(contains(result.output, "\n" + change.verdict));
            CHECK(result.code == (mended ? 0 : 1));
        }
        ++(change.name == "mended" ? mends : others)[change.number];
    }
    CHECK(mends.size() == 12);
    CHECK(others.size() == 12);
    for (const auto& [number, count] : mends) {
        DYNAMIC_SECTION(number << " sick") {
            const Result sick = fault(number, "sick");
            CHECK(contains(sick.output, "\nStill sick: "));
            CHECK(sick.code == 1);
            CHECK(fault(number, "sick", "--as-given").code == 0);
            CHECK(fault(number, "mended", "--as-given").code == 1);
        }
    }
}

TEST_CASE(
    "the page of the faults shows what they print, the hints, the line to mend and the verdict of check::",
    "[programs][faults]") {
    const std::vector<Change> all = changes();
    const auto pages = sections();
    CHECK(pages.size() == 12);
    for (const auto& [number, text] : pages) {
        DYNAMIC_SECTION("fault " << number) {
            const Scratch scratch;
            int shown = 0;
            for (const Block& block : blocks_of(text)) {
                INFO(block.str());
                if (block.info == "text") {
                    const std::string program = block.output_of.empty() ? "sick" : block.output_of;
                    const std::size_t space = std::min(program.find(' '), program.size());
                    const Result result = fault(number, program.substr(0, space), program.substr(space));
                    CHECK(agree::occurs_in(block.lines, lines_of(result.output)));
                    ++shown;
                } else {
                    CHECK(block.info == "diff");
                    const auto mend =
                        std::find_if(all.begin(), all.end(), [&, n = number](const Change& change) {
                            return change.number == n && change.name == "mended";
                        });
                    REQUIRE(mend != all.end());
                    CHECK(block.lines == mend->lines);
                }
            }
            CHECK(shown >= 2);  // what the sick program shows, and the verdict of check::
            std::string hints;
            for (int i = 0; i < 3; ++i)
                hints = fault(number, "sick", "--hint --progress " + scratch.folder().string()).output;
            for (const std::string& line : lines_of(hints))
                if (const std::size_t at = line.find(" of 3: "); at != std::string::npos) {
                    INFO(line);
                    CHECK(contains(text, ". " + line.substr(at + 7) + "\n"));
                }
            CHECK(contains(hints, "hint 3 of 3: "));
        }
    }
}

TEST_CASE("the losses of sick and of healthy programs are those of the table of the faults",
          "[programs][faults]") {
    const std::string text = read(root / "docs/faults.md");
    int within = 0, as_good = 0;
    for (const auto& [number, section] : sections()) {
        const std::vector<double> healthy = losses(number, "mended", 4);
        const double sick = losses(number, "sick", 1)[0],
                     low = *std::min_element(healthy.begin(), healthy.end()),
                     high = *std::max_element(healthy.begin(), healthy.end());
        const std::string numbers = fixed(sick) + " | " + fixed(low) + " to " + fixed(high);
        INFO("fault " << number << ": " << numbers);
        static const std::regex row(
            R"(\| (\d+) \| [^|]+ \| ([0-9.]+ \| [0-9.]+ to [0-9.]+) \| [^|]+ \| [^|]+ \|)");
        bool listed = false;
        for (const std::string& line : lines_of(text))
            if (std::smatch cells;
                std::regex_match(line, cells, row) && std::stoi(cells[1]) == std::stoi(number))
                listed = agree::lines(cells[2], numbers);
        CHECK(listed);
        within += low <= sick && sick <= high;
        as_good += sick <= high;
    }
    CHECK(within >= 3);
    CHECK(as_good == 7);
    CHECK(contains(text, "seven of the sick are as good"));
}

#endif
