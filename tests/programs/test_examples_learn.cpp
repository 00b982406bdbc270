// The examples that train a model and judge it, run as their users run them: with what they say they learned,
// and, without a single step of training, with what they say then.
#include <algorithm>
#include <regex>

#include "programs.h"
#include "svg_reader.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

namespace {

// The number that stands where the pattern has its group.
double number(const Result& result, const std::string& pattern) {
    std::smatch match;
    if (!std::regex_search(result.output, match, std::regex(pattern))) {
        FAIL_CHECK("no \"" << pattern << "\" in\n" << result.output);
        return std::nan("");
    }
    return std::stod(match[1]);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("encoder_padding reads words of different lengths, and padding changes nothing", "[programs]") {
    const Result result = run("encoder_padding");
    CHECK(result.code == 0);
    CHECK(number(result, R"(accuracy on 2000 new words of 3 to 12 letters: ([\d.]+) %)") >= 99);
    CHECK(number(result, R"(more padding moves the logits by at most (\S+);)") <= 1e-4);
    CHECK(number(result, R"(without the mask, by up to (\S+)\n)") > 0.1);  // so it would be seen

    // The words that it shows, judged again.
    static const std::regex shown("([a-j]{3,12}) +(its first letter comes again|does not come again)");
    int words = 0;
    for (std::sregex_iterator at(result.output.begin(), result.output.end(), shown), end; at != end;
         ++at, ++words) {
        const std::string word = (*at)[1];
        INFO(word);
        CHECK((word.find(word[0], 1) != std::string::npos) == ((*at)[2] == "its first letter comes again"));
    }
    CHECK(words == 6);
}

TEST_CASE("encoder_decoder translates sentences it was not trained on", "[viz][programs]") {
    const Scratch scratch;
    const Result result = run("encoder_decoder --svg " + (scratch / "map.svg").string());
    CHECK(result.code == 0);
    CHECK(number(result, R"(([\d.]+) % of 1000 sentences never trained on)") >= 99);
    CHECK(number(result, R"(mean weight on the word that is translated: ([\d.]+))") > 0.6);
    CHECK(
        std::regex_search(result.output, std::regex("\\n(the|a|my|this) .* +(le|la|un|une|mon|ma|ce|cette) ")));
    const SvgTag map = read_svg(io::load_text(scratch / "map.svg"));
    CHECK(map.all("g").size() == 4);  // two for each head
}

TEST_CASE("induction finds its head, and the one it builds on", "[viz][programs]") {
    const Scratch scratch;
    const Result result = run("induction --svg " + (scratch / "map.svg").string());
    CHECK(result.code == 0);
    CHECK(number(result, R"(second half of sequences not seen before: ([\d.]+) %)") >= 99);
    CHECK(number(result, R"(the letter before: layer 1, head [12], score ([\d.]+))") > 0.5);
    CHECK(number(result, R"(induction head, .*: layer 2, head [12], score ([\d.]+))") > 0.5);
    const SvgTag map = read_svg(io::load_text(scratch / "map.svg"));
    CHECK(map.all("g").size() == 8);  // two for each head of each layer

    // Its map: sixteen letters said twice, and from the second saying on the strongest cell is that of the
    // letter that followed the present one.
    const std::vector<std::string> lines = lines_of(result.output);
    const auto title = std::find(lines.begin(), lines.end(), "the induction head");
    REQUIRE(lines.end() - title > 33);
    for (int t = 16; t < 32; ++t) {
        const std::string row = title[2 + t];
        INFO(row);
        CHECK(row[0] == title[2 + t - 16][0]);
        const std::string cells = row.substr(row.find('[') + 1);  // three bytes each
        CHECK(cells.substr(3 * static_cast<std::size_t>(t - 15), 3) == "█");
    }
}

TEST_CASE("iris comes within one in a hundred of Bayes' rule", "[programs]") {
    const Result result = run("iris");
    CHECK(result.code == 0);
    const double learned = number(result, R"(accuracy on 30000 new flowers: ([\d.]+) %)");
    const double best = number(result, R"(which knows the distributions: ([\d.]+) %)");
    CHECK(learned >= best - 1);
    CHECK(learned <= best + 0.3);  // nothing beats it by more than the luck of 30,000 draws
    CHECK(best > 97);
    CHECK(best < 99.5);
    // Its table: 10,000 of each kind, and as many right as it says.
    static const std::regex row(R"((setosa|versicolor|virginica) +(\d+) +(\d+) +(\d+)\n)");
    int kind = 0;
    double right = 0;
    for (std::sregex_iterator at(result.output.begin(), result.output.end(), row), end; at != end;
         ++at, ++kind) {
        CHECK(std::stoi((*at)[2]) + std::stoi((*at)[3]) + std::stoi((*at)[4]) == 10'000);
        right += std::stod((*at)[2 + kind]) / 300;
    }
    CHECK(kind == 3);
    CHECK(right == Approx(learned).margin(0.006));
}

TEST_CASE("lenet reads digits it has not seen, with the network that it saved and loaded", "[programs]") {
    const Result result = run("lenet");
    CHECK(result.code == 0);
    CHECK(contains(result.output, "61706 parameters"));  // LeNet-5 with all maps connected
    const double before = number(result, R"(unseen images before training: ([\d.]+) %)");
    const double after = number(result, R"(saved and loaded: ([\d.]+) %)");
    CHECK(before < 25);
    CHECK(after >= 97);
    CHECK(number(result, R"((\d+) mistakes)") == Approx(20 * (100 - after)).margin(1.01));  // 2,000 images
    CHECK(number(result, R"(pass 2  mean loss ([\d.]+))") < number(result, R"(pass 1  mean loss ([\d.]+))"));
}

TEST_CASE("the examples say so, and end with 1, when they have not learned", "[programs]") {
    for (const char* program : {"encoder_padding", "encoder_decoder", "induction", "iris", "lenet"}) {
        const Result result = run(std::string(program) + " --steps 0");
        CHECK(result.code == 1);
        CHECK(contains(result.output, "not learned: "));
    }
    CHECK(contains(run("induction --steps 0").output, "no induction head: "));
}

#endif
