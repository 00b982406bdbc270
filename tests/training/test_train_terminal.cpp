// What training programs draw on terminals of several widths and kinds, and in files.
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <thread>

#include "places.h"
#include "programs.h"
#include "weft/base/text.h"
#include "weft/viz/attention_map.h"
#include "weft/weft.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

// The variables of the process that say what a terminal is, as they were at the end.
class Variables {
public:
    ~Variables() {
        for (const auto& [name, value] : before_)
            value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
    void set(const std::string& name, const char* value) {
        const char* const now = ::getenv(name.c_str());
        before_.emplace(name, now == nullptr ? std::nullopt : std::optional<std::string>(now));
        value != nullptr ? ::setenv(name.c_str(), value, 1) : ::unsetenv(name.c_str());
    }

private:
    std::map<std::string, std::optional<std::string>> before_;
};

struct PseudoTerminal {
    int master = -1, slave = -1;
    PseudoTerminal() { REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0); }
    ~PseudoTerminal() { ::close(master), ::close(slave); }
    void resize(int columns) const {
        winsize size{};
        size.ws_col = static_cast<unsigned short>(columns);
        REQUIRE(::ioctl(slave, TIOCSWINSZ, &size) == 0);
    }
};

// What a terminal shows after an output, and how wide it drew, with what was drawn over.
struct Screen {
    std::vector<std::string> lines = {""};
    std::size_t widest = 0;
    std::vector<std::string> drawn = {};  // every state of a line that was drawn over

    explicit Screen(const std::string& output) {
        static const std::regex colours_and_links("\x1b\\[[0-9]*m|\x1b\\]8;;[^\x1b]*\x1b\\\\");
        const std::string text = std::regex_replace(output, colours_and_links, "");
        for (std::size_t at = 0; at < text.size(); ++at) {
            if (text.compare(at, 2, "\r\n") == 0) {
                ++at;
                lines.emplace_back();
            } else if (text.compare(at, 4, "\r\x1b[K") == 0) {
                at += 3;
                if (!lines.back().empty()) drawn.push_back(lines.back());
                lines.back().clear();
            } else {
                lines.back() += text[at];
                if (is_utf8(lines.back())) widest = std::max(widest, display_width(lines.back()));
            }
        }
    }
    std::string text() const {
        std::string all;
        for (const std::string& line : lines) all += line + "\n";
        return all;
    }
};

double off(double estimate, double truth) { return std::abs(estimate - truth) / truth; }

}  // namespace

TEST_CASE("the time left counts the evaluations, and forgets what the first step and an old pause took",
          "[train][terminal]") {
    // 1000 steps of 0.1 s, the first of 5 s; an evaluation of 20 s every 100 steps, before the step.
    double now = 50;
    training::Pace pace(0, 1000, 100, now);
    const double end = now + 1000 * 0.1 + 4.9 + 11 * 20;
    for (std::int64_t step = 0; step < 1000; ++step) {
        if (step % 100 == 0) pace.evaluated(step, now += 20);
        if (step >= 2) CHECK(off(pace.seconds_left(), end - now) < 0.001);
        pace.step(step + 1, now += step == 0 ? 5 : 0.1);
    }
    CHECK(off(pace.seconds_left(), 20) < 0.001);  // the last evaluation
    pace.evaluated(1000, now += 20);
    CHECK(pace.seconds_left() == 0);

    training::Pace paused(7, 1007, 0, 0);
    CHECK(paused.seconds_per_step() == 0);
    now = 0;
    for (std::int64_t step = 7; step < 300; ++step) paused.step(step + 1, now += step == 150 ? 3600 : 0.5);
    CHECK(off(paused.seconds_left(), 707 * 0.5) < 0.001);
    CHECK(off(paused.seconds_per_step(), 0.5) < 0.001);
}

TEST_CASE("durations have seconds, minutes, hours and days", "[train][terminal]") {
    CHECK(training::duration(-1) == "0 s");
    CHECK(training::duration(59.4) == "59 s");
    CHECK(training::duration(59.6) == "1 min 00 s");
    CHECK(training::duration(185) == "3 min 05 s");
    CHECK(training::duration(3900) == "1 h 05 min");
    CHECK(training::duration(47.5 * 3600) == "47 h 30 min");
    CHECK(training::duration(100 * 3600) == "4 d 04 h");
    CHECK(training::duration(1e300).ends_with(" h"));
}

TEST_CASE("a terminal's width is asked each time, and COLUMNS counts where there is none",
          "[train][terminal]") {
    Variables environment;
    environment.set("TERM", "xterm");
    environment.set("NO_COLOR", nullptr);
    environment.set("COLUMNS", "33");
    const PseudoTerminal pseudo;
    const training::Terminal terminal(pseudo.slave);
    CHECK(terminal.is_drawn());
    for (const int columns : {20, 200, 80}) {
        pseudo.resize(columns);
        CHECK(terminal.columns() == static_cast<std::size_t>(columns));
    }
    pseudo.resize(0);
    CHECK(terminal.columns() == 33);
    for (const char* wrong : {"", "0", "-5", "wide", "99999999999999999999"}) {
        environment.set("COLUMNS", wrong);
        CHECK(terminal.columns() == 80);
    }
    pseudo.resize(10);
    CHECK(terminal.folded({"a line", "of", "ten", "columns"}) == "a line of\n  ten\n  columns");
    CHECK(terminal.folded({"command", "--a", "--b"}, " ", " \\") == "command \\\n  --a --b");
    CHECK(terminal.folded({"longer than ten columns", "a"}) == "longer than ten columns\n  a");
    CHECK(terminal.folded({}).empty());
}

TEST_CASE("the curve of the losses has eight cells or more, no line is too wide, and losses have four digits",
          "[train][terminal]") {
    Variables environment;
    environment.set("TERM", "xterm");
    environment.set("LC_ALL", "C.UTF-8");
    environment.set("NO_COLOR", nullptr);
    const PseudoTerminal pseudo;
    std::fflush(stdout);
    const int before = ::dup(STDOUT_FILENO);
    ::dup2(pseudo.slave, STDOUT_FILENO);
    std::vector<std::pair<std::size_t, std::string>> lines;  // each with the columns of its terminal
    const auto written = [&] {                               // all that is there to be read
        std::string all;
        char text[4096];
        for (pollfd ready{pseudo.master, POLLIN, 0}; ::poll(&ready, 1, 0) == 1;) {
            const ssize_t n = ::read(pseudo.master, text, sizeof text);
            if (n <= 0) break;
            all.append(text, static_cast<std::size_t>(n));
        }
        return all;
    };
    {
        training::Progress progress(0, 100, 64);
        std::int64_t done = 0;
        while (done < 30) progress.step(++done, 3.0);
        std::this_thread::sleep_for(
            std::chrono::milliseconds(20));  // of the terminal, whose lines are 80 wide still
        written();
        for (int columns = 60; columns <= 78; ++columns) {
            pseudo.resize(columns);
            std::this_thread::sleep_for(std::chrono::milliseconds(110));  // a line is drawn ten times a second
            progress.step(++done, 3.0);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const Screen screen(written());
            lines.emplace_back(columns, screen.lines.back());
        }
    }
    std::string falling, evaluated;
    double mean = 0;  // the running mean of its losses
    {
        training::Progress progress(0, 96, 64);
        const auto step = [&](std::int64_t n) {
            const double loss = 4 - 2.0 / 7 * static_cast<double>((n - 1) / 12);
            mean = n == 1 ? loss : 0.95 * mean + 0.05 * loss;
            progress.step(n, loss);
        };
        for (std::int64_t n = 1; n < 95; ++n) step(n);
        std::this_thread::sleep_for(std::chrono::milliseconds(110));
        written();
        step(95);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        falling = Screen(written()).lines.back();
        progress.evaluated(95, 2.25, 1.98768);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        evaluated = Screen(written()).text();
    }
    ::dup2(before, STDOUT_FILENO);
    ::close(before);
    std::set<std::size_t> curves;
    for (const auto& [columns, line] : lines) {
        INFO(columns << " columns: " << line);
        CHECK(contains(line, "/100"));
        CHECK(display_width(line) + 3 <= columns);
        std::size_t cells = 0;
        for (std::size_t at = 0; (at = line.find("▁", at)) != std::string::npos; ++at) ++cells;
        curves.insert(cells);
    }
    INFO(evaluated);
    CHECK(contains(evaluated, "step 95/96  loss 2.2500  validation 1.9877  "));
    INFO(falling);
    for (const char* neighbours : {"█▇", "▇▆", "▆▅", "▅▄", "▄▃", "▃▂", "▂▁"})
        CHECK(contains(falling, neighbours));
    CHECK(contains(falling, "loss " + to_chars(mean, std::chars_format::fixed, 4)));
    CHECK(curves.contains(8));  // in a line that has just room for it
    CHECK((curves.erase(0) == 1 && *curves.begin() == 8));
}

TEST_CASE("colours and links are for terminals that show them", "[train][terminal]") {
    Variables environment;
    environment.set("TERM", "xterm");
    environment.set("NO_COLOR", "");
    const PseudoTerminal pseudo;
    const fs::path path = "/tmp/a b/ü%.html";
    const auto link = [&] { return training::Terminal(pseudo.slave).link(path); };
    const auto green = [&] {
        return training::Terminal(pseudo.slave).coloured("x", training::Terminal::Colour::green);
    };
    CHECK(green() == "\x1b[32mx\x1b[0m");
    CHECK(link() == "\x1b]8;;file:///tmp/a%20b/%C3%BC%25.html\x1b\\/tmp/a b/ü%.html\x1b]8;;\x1b\\");
    environment.set("TERM", "linux");
    CHECK(link() == path.string());
    CHECK(green() != "x");
    for (const auto& [name, value] : {std::pair{"TERM", "dumb"}, {"TERM", ""}, {"NO_COLOR", "1"}}) {
        INFO(name << "=" << value);
        environment.set("TERM", "xterm");
        environment.set(name, value);
        CHECK(green() == "x");
        CHECK(link() == path.string());
        CHECK_FALSE(training::Terminal(pseudo.slave).is_drawn());
    }
    environment.set("LC_ALL", "");
    environment.set("LC_CTYPE", nullptr);
    for (const auto& [locale, expected] :
         {std::pair{"de_DE.UTF-8", true}, {"C.utf8", true}, {"C", false}, {"", false}}) {
        environment.set("LANG", locale);
        CHECK(training::Terminal(pseudo.slave).has_unicode() == expected);
    }
    environment.set("LC_ALL", "C");
    environment.set("LANG", "de_DE.UTF-8");
    CHECK_FALSE(training::Terminal(pseudo.slave).has_unicode());
}

#ifdef WEFT_PROGRAMS

namespace {

// A run in the folder "." of `scratch`, so that the names of its files are short.
struct Trained {
    Scratch scratch;
    Trained() { io::save_text(scratch / "text", pangrams()); }
    Result on_terminal(int columns, const std::string& arguments, const std::string& variables = "") const {
        fs::remove(scratch / "out" / "model.safetensors");
        fs::remove(scratch / "out" / "previous.safetensors");
        return run_on_terminal(tiny + "--text text " + arguments, columns,
                               variables + "; cd " + scratch.folder().string());
    }
};

}  // namespace

TEST_CASE("nothing that a training draws is wider than the terminal, and no message is in its last line",
          "[programs][terminal]") {
    const Trained trained;
    for (const int columns : {20, 40, 60, 80, 200}) {
        const Result result = trained.on_terminal(columns, "--steps 200 --eval_interval 100 --prompt T");
        // The names of files and the program come in one piece, and the sample is as wide as it is.
        const Screen screen(result.output.substr(0, result.output.find("wrote")));
        INFO(screen.text());
        REQUIRE(result.code == 0);
        CHECK(screen.widest <= static_cast<std::size_t>(columns));
        for (const std::string& line : screen.lines)
            CHECK(display_width(line) <= static_cast<std::size_t>(columns));
        REQUIRE_FALSE(screen.drawn.empty());
        for (const std::string& line : screen.drawn) {
            CHECK(display_width(line) + 2 < static_cast<std::size_t>(columns));  // room for ^C
            CHECK(contains(line, "/200"));
            CHECK_FALSE(contains(line, "gradients"));
        }
        CHECK(contains(screen.text(), "\ngradients reach all"));
        CHECK(contains(screen.text(), "\nstep 200/200"));
        const std::string& first = screen.drawn.front();
        CHECK(contains(first, "loss ") == (columns >= 40));
        CHECK((columns == 20 || contains(first, " left")));
        if (columns >= 80)
            for (const char* part : {"─", "tokens/s", "▁"}) CHECK(contains(first, part));
        CHECK(contains(result.output, "\x1b]8;;file://"));
    }
}

TEST_CASE("an error takes the place of the line that shows the progress", "[programs][terminal]") {
    const Trained trained;
    const Result result =
        trained.on_terminal(80, "--steps 99 --lr 1e6 --min_lr 1e6 --warmup_steps 0 --grad_clip 0");
    const Screen screen(result.output);
    INFO(screen.text());
    CHECK_FALSE(screen.drawn.empty());
    CHECK(contains(screen.text(), "\ntrain_gpt: the training diverged at step"));
}

TEST_CASE("a terminal without Unicode gets ASCII, one without control codes and a file get plain lines",
          "[programs][terminal]") {
    const Trained trained;
    const std::string arguments = "--steps 20 --eval_interval 10 --max_new_tokens 0";
    const Result ascii = trained.on_terminal(200, arguments, "LC_ALL=C");
    CHECK(contains(ascii.output, "\r\x1b[K\x1b[") + contains(ascii.output, "\r\x1b[K[") > 0);
    CHECK(std::all_of(ascii.output.begin(), ascii.output.end(), [](char c) { return c > 0; }));
    for (const char* variables : {"TERM=dumb", "NO_COLOR=1"}) {
        const Result plain = trained.on_terminal(20, arguments, variables);
        CHECK(plain.output.find('\x1b') == std::string::npos);
        CHECK(contains(plain.output, "\r\nstep 20/20  loss "));
        CHECK_FALSE(contains(plain.output, "\r\r"));
        for (std::size_t at = 0; (at = plain.output.find('\r', at)) != std::string::npos; ++at)
            CHECK(plain.output[at + 1] == '\n');
    }
    const Result file = run(tiny + arguments + " --text text",
                            "cd " + trained.scratch.folder().string() + "; export TERM=xterm COLUMNS=20");
    CHECK(file.code == 0);
    CHECK(file.output.find_first_of("\x1b\r") == std::string::npos);
    CHECK(contains(file.output, "\nstep 20/20  loss "));
}

TEST_CASE("the command that continues a run is printed as a shell reads it", "[programs][terminal]") {
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const std::string out = (scratch / "it's an out").string();
    const auto command_of = [](const std::string& output) {
        const std::size_t at = output.rfind("\n  /");
        REQUIRE(at != std::string::npos);
        return output.substr(at + 3, output.find("\n", at + 3) - at - 3);
    };
    const auto type = [](const std::string& command) {
        REQUIRE(command.starts_with(places::programs() + "/"));
        return run(command.substr((places::programs() + "/").size()));
    };
    const Result stopped = run(tiny + "--steps 6 --stop_at 4 --prompt 'The $HOME' --text " +
                               (scratch / "text").string() + " --out \"" + out + "\"");
    CHECK(stopped.code == 1);  // "$" is not in the text
    const Result first = run(tiny + "--steps 6 --stop_at 4 --prompt 'The quick' --text " +
                             (scratch / "text").string() + " --out \"" + out + "\"");
    CHECK(first.code == 0);
    CHECK(contains(first.output, "\nstopped after 4 of 6 steps, and saved; the report is " + out +
                                     "/report.html\n"
                                     "to continue:\n  "));
    CHECK(contains(command_of(first.output), "'\\''s an out' '--prompt=The quick' --max_new_tokens=20"));
    CHECK_FALSE(contains(command_of(first.output), "stop_at"));
    const Result second = type(command_of(first.output));
    CHECK(second.code == 0);
    CHECK(contains(second.output, "\nThe quick"));
    CHECK(io::load_safetensors(fs::path(out) / "model.safetensors").meta("step") == "6");
    CHECK(contains(second.output, "\nto train longer:\n"));
    const Result third = type(command_of(second.output));
    CHECK(third.code == 0);
    CHECK(io::load_safetensors(fs::path(out) / "model.safetensors").meta("step") == "12");
}

TEST_CASE("--quiet prints warnings and errors, and nothing else", "[programs][terminal]") {
    const Scratch scratch;
    io::save_text(scratch / "text", pangrams());
    const std::string quiet = tiny + in(scratch) + "--quiet --steps 2 --text " + (scratch / "text").string();
    CHECK(run(quiet).output.empty());
    const Result again = run(quiet);
    CHECK(again.code == 0);
    CHECK(again.output == "train_gpt: warning: an earlier run used this folder; its checkpoint is now " +
                              (scratch / "previous.safetensors").string() + "\n");
    CHECK(run("train_gpt --quiet --resume " + in(scratch)).output.empty());
    check_refusal(run("train_gpt --quiet --sample_only " + in(scratch)), 2,
                  "--sample_only prints a sample and --quiet does not; give only one of them");
    const Result drawn = run_on_terminal(quiet, 80);
    CHECK(drawn.code == 0);
    CHECK(std::count(drawn.output.begin(), drawn.output.end(), '\n') == 1);  // the warning
    CHECK(contains(drawn.output, "\x1b[33mwarning:\x1b[0m an earlier run"));
}

TEST_CASE("--version names the program and its version", "[programs]") {
    for (const std::string program : {"train_gpt", "generate"}) {
        const Result result = run(program + " --version");
        CHECK(result.code == 0);
        CHECK(std::regex_match(result.output, std::regex(program + " [0-9]+\\.[0-9]+\\.[0-9]+\n")));
    }
}

TEST_CASE("--config reads settings from a file, flags win, and a refusal names the line", "[programs][fault]") {
    const Scratch scratch;
    const fs::path file = scratch / "settings.toml";
    io::save_text(scratch / "text", pangrams());
    io::save_text(file,
                  "# a small model\n\nnum_layers = 1\nnum-heads=2  # two\n d_model = 16\nblock_size = 16\n"
                  "bias = true\nbatch_size = 4\nsteps = 9\nprompt = \"The # \"\nmax_new_tokens = 1\r\n"
                  "text = '" +
                      (scratch / "text").string() + "'\n");
    const std::string config = "train_gpt --config " + file.string() + " " + in(scratch);
    const Result result = run(config + "--steps 3 --prompt 'The q'");
    CHECK(result.code == 0);
    CHECK(contains(result.output, "\nThe q"));
    const io::SafeTensors saved = io::load_safetensors(scratch / "model.safetensors");
    CHECK(saved.meta("step") == "3");
    CHECK(saved.meta("bias") == "true");
    CHECK(saved.meta("num_heads") == "2");
    check_refusal(run(config + "--steps 3"), 1, "--prompt: Characters: \"#\" at position 4");

    const auto refused = [&](const std::string& line, const std::string& message) {
        io::save_text(file, "steps = 3\n\n" + line + "\n");
        check_refusal(run(config), 2, "train_gpt: " + file.string() + ", line 3: " + message + "\n");
    };
    refused("num_layer = 3", "unknown flag --num_layer; did you mean --num_layers?");
    refused("lr = fast", "--lr: \"fast\" is not a number");
    refused("steps =", "\"steps =\" is not a setting; write name = value");
    refused("best = maybe", "--best: \"maybe\" is neither true nor false; write --best or --best=false");
    refused("[model]", "\"[model]\" is not a setting; write name = value");
    refused("steps", "\"steps\" is not a setting; write name = value");
    refused("prompt = \"The", "\"prompt = \"The\" is not a setting; write name = value");
    refused("best = ''", "--best: \"\" is neither true nor false; write --best or --best=false");
    refused("lr = \"\"", "--lr: \"\" is not a number");
    refused("config = a.toml", "--config belongs on the command line; remove the line");
    refused("help = true", "--help belongs on the command line; remove the line");
    // An empty text is a value, as on the command line, and an empty file sets nothing.
    io::save_text(file, "prompt = \"\"\nmax_new_tokens = 0\n");
    CHECK(run("train_gpt --sample_only --prompt No? --config " + file.string() + " " + in(scratch)).code == 1);
    CHECK(run("train_gpt --sample_only --prompt= --config " + file.string() + " " + in(scratch)).output ==
          "\n\n");
    CHECK(run("train_gpt --sample_only --config " + file.string() + " " + in(scratch)).output == "\n\n");
    for (const char* nothing : {"", "\xEF\xBB\xBF"}) {
        io::save_text(file, nothing);
        CHECK(run("train_gpt --sample_only --max_new_tokens 0 --config " + file.string() + " " + in(scratch))
                  .code == 0);
    }
    for (const std::string program : {"train_gpt", "generate"}) {  // the example in its help is a setting
        const std::string help = run(program + " --help").output, words = "a line for each: ";
        const std::size_t begin = help.find(words) + words.size();
        io::save_text(file, help.substr(begin, help.find(';', begin) - begin) + "\nunknown = 1\n");
        check_refusal(run(program + " --config " + file.string()), 2, ", line 2: unknown flag");
    }
    check_refusal(run("train_gpt --config /no/such/file"), 1, "cannot read /no/such/file: no such file");
    io::save_text(file, "\n");
    check_refusal(run("generate --config " + file.string() + " --model /no/such"), 1, "/no/such");
    io::save_text(file, "top_p = 2\n");
    check_refusal(run("generate --config " + file.string()), 2, ", line 1: --top_p: 2 is out of range");
}

#endif
