#include "exercise.h"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>

namespace {

#ifdef WEFT_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

#ifdef NDEBUG
constexpr bool optimised = !sanitized;
#else
constexpr bool optimised = false;
#endif

std::string shown(double value) {
    if (std::isnan(value)) return "nan";
    char buffer[32];
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    std::snprintf(buffer, sizeof buffer, whole ? "%.0f" : "%.6g", value);
    return buffer;
}

// ", element (1, 0)," of a tensor of this shape; nothing where there is only one.
std::string position(std::int64_t at, const Shape& shape) {
    std::string index;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index = std::to_string(at % shape[axis]) + (index.empty() ? "" : ", ") + index;
        at /= shape[axis];
    }
    return shape.rank() == 0 ? "" : ", element (" + index + "),";
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

char running[200];  // the part that runs now, for `crashed`

// The reader's code wrote where it must not, or called itself for ever.
void crashed(int) {
    const auto write_out = [](const char* text) { return ::write(STDOUT_FILENO, text, std::strlen(text)); };
    if (write_out("  crashed  ") + write_out(running) +
            write_out(": it used memory that is not its own. Is an index out of range, or does a function call "
                      "itself without an end?\n") <
        0)
        _exit(1);
    _exit(1);
}

void report_crashes() {
    static char stack[1 << 16];  // the other one may be full
    stack_t other{};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    sigaltstack(&other, nullptr);
    struct sigaction action {};
    action.sa_handler = crashed;
    action.sa_flags = SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) sigaction(signal, &action, nullptr);
}

// A test that has nothing to say about what is right.
std::function<std::string()> silent(const std::function<void()>& test) {
    return [&test] {
        test();
        return std::string();
    };
}

constexpr const char *green = "\033[32m", *yellow = "\033[33m", *cyan = "\033[36m", *dim = "\033[2m";

}  // namespace

AnyValue blank() { throw Blank("blank"); }

std::string Answer::str() const { return is_number_ ? shown(number_) : text_; }

bool Answer::agrees(const Answer& truth, double tolerance) const {
    if (is_number_ != truth.is_number_) return false;
    if (!is_number_) return lower(text_) == lower(truth.text_);
    return number_ == truth.number_ || std::abs(number_ - truth.number_) <= tolerance ||
           (std::isnan(number_) && std::isnan(truth.number_));
}

void expect(bool holds, const std::string& otherwise) {
    if (!holds) throw NotYet(otherwise);
}

void expect_equal(const std::string& what, double got, double want, double tolerance) {
    expect(got == want || std::abs(got - want) <= tolerance,
           what + " is " + shown(got) + ", and should be " + shown(want));
}

void expect_equal(const std::string& what, const Tensor& got, const Tensor& want, double tolerance) {
    expect(got.defined(), what + " is an undefined tensor");
    expect(got.shape() == want.shape(),
           what + " has the shape " + got.shape().str() + ", and should have " + want.shape().str());
    expect(got.dtype() == want.dtype(),
           what + " holds " + name(got.dtype()) + ", and should hold " + name(want.dtype()));
    const std::vector<double> a = got.detach().to(float64).to_vector<double>(),
                              b = want.detach().to(float64).to_vector<double>();
    for (std::size_t i = 0; i < a.size(); ++i)
        expect(std::abs(a[i] - b[i]) <= tolerance || a[i] == b[i],
               (what.ends_with(",") && want.rank() > 0 ? what.substr(0, what.size() - 1) : what) +
                   position(static_cast<std::int64_t>(i), want.shape()) + " is " + shown(a[i]) +
                   ", and should be " + shown(b[i]));
}

void expect_error(const std::string& what, const std::function<void()>& call, const std::string& words) {
    try {
        call();
    } catch (const Error& error) {
        expect(std::string(error.what()).find(words) != std::string::npos,
               what + " is refused with \"" + error.what() + "\", which does not say \"" + words + "\"");
        return;
    }
    throw NotYet(what + " should be refused with an error" +
                 (words.empty() ? "" : " that says \"" + words + "\""));
}

void expect_gradient(const std::string& what, const check::Function& f, const std::vector<Tensor>& inputs) {
    const check::GradcheckReport report = check::gradcheck(what, f, inputs);
    expect(report.passed, report.message);
}

void expect_within(double seconds, const std::string& what, const std::function<void()>& work) {
    const std::clock_t start = std::clock();
    work();
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    expect(taken <= seconds || !optimised, what + " takes " + std::to_string(static_cast<int>(taken)) +
                                               " seconds, and should take less than " +
                                               std::to_string(static_cast<int>(seconds)));
}

double peak_memory() { return sanitized ? 0 : weft::training::peak_memory(); }

Exercise::Exercise(int argc, char** argv, std::string title) : title_(std::move(title)) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--brief") {
            brief_ = true;
        } else if (argument == "--as-given") {
            as_given_ = true;
        } else if (argument == "--hint") {
            hint_ = true;
        } else if (argument == "--check") {
            check_ = true;
        } else if (argument == "--untouched") {
            pristine_ = true;
        } else if (argument == "--seed" && i + 1 < argc) {
            seed_ = std::strtoull(argv[++i], nullptr, 10);
        } else if (argument == "--progress" && i + 1 < argc) {
            progress_ = argv[++i];
        } else {
            std::fprintf(stderr,
                         "usage: %s [--progress FOLDER] [--hint] [--check] [--seed N] [--untouched] [--brief] "
                         "[--as-given]\n",
                         argv[0]);
            std::exit(2);
        }
    }
    set_num_threads(1);  // exercises are small: more threads would only make times depend on the machine
    const char* no_color = std::getenv("NO_COLOR");
    colour_ = isatty(STDOUT_FILENO) && (no_color == nullptr || *no_color == '\0');
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed stays where the reader's code crashes
    if (!brief_) report_crashes();
    if (!brief_ && !hint_) std::printf("%s\n\n", title_.c_str());
}

void Exercise::predict(const std::string& name, const std::function<Answer()>& prediction,
                       const std::function<Answer()>& truth, const std::string& why, const Hints& hints,
                       double tolerance) {
    part(predict_, name, hints, "", [&] {
        const Answer predicted = prediction();  // throws Blank where there is none yet
        const Answer found = truth();
        expect(predicted.agrees(found, tolerance),
               "you predicted " + predicted.str() + "; it is " + found.str() + ". " + why);
        return "it is " + found.str() + ". " + why;
    });
}

void Exercise::mend(const std::string& name, const std::string& planted, const Hints& hints,
                    const std::function<void()>& test) {
    part(mend_, name, hints, planted, silent(test));
}

void Exercise::write(const std::string& name, const Hints& hints, const std::function<void()>& test) {
    part(write_, name, hints, "", silent(test));
}

void Exercise::paper(const std::string& name, const std::function<std::vector<double>()>& numbers,
                     const Numbers& want, const Hints& hints, double tolerance) {
    part(paper_, name, hints, "", [&] {
        const std::vector<double> got = numbers();
        std::string labels;
        for (const auto& [label, number] : want) labels += (labels.empty() ? "" : ", ") + label;
        expect(got.size() == want.size(), "you entered " + std::to_string(got.size()) + " of " +
                                              std::to_string(want.size()) + " numbers: " + labels);
        for (std::size_t i = 0; i < got.size(); ++i) {
            const auto& [label, right] = want[i];
            const std::string entered = label + ", for which you entered " + shown(got[i]) + ", ";
            if (std::abs(got[i] - right) <= tolerance * std::max(1.0, std::abs(right))) continue;
            expect(got[i] * right >= 0, entered + "has the wrong sign");
            expect(got[i] < right, entered + "is too large");
            expect(got[i] > right, entered + "is too small");
            expect(false, entered + "is not a number");
        }
        return std::string();
    });
}

void Exercise::accept(const std::string& name, const Hints& hints, const std::function<void()>& test) {
    part(project_, name, hints, "", silent(test));
}

void Exercise::fault(const Fault& fault) {
    if (check_) {
        std::printf("%s\n", fault.check().c_str());
        return;
    }
    part(fault_, "program", fault.hints, fault.look, [&] {
        if (!brief_ && !hint_ && !as_given_) fault.program(seed_);
        if (!brief_ && !hint_) std::printf("\n");
        try {
            fault.test();
        } catch (const NotYet& difference) {
            if (std::string(difference.what()).find(fault.planted) == std::string::npos) throw;
            throw NotYet((pristine_ ? "the file is as it was given. " : "") + fault.look);
        }
        return fault.why;
    });
}

void Exercise::part(Level& level, const std::string& name, const Hints& hints, const std::string& planted,
                    const std::function<std::string()>& test) {
    if (hint_ && !first_open_.empty()) return;
    std::snprintf(running, sizeof running, "%-8s %s", level.name, name.c_str());
    ++level.parts;
    std::string wrong, remark;
    bool is_blank = false;
    try {
        remark = test();
    } catch (const Blank&) {
        is_blank = true;
    } catch (const NotYet& difference) {
        wrong = difference.what();
    } catch (const std::exception& error) {
        wrong = std::string("it ended with an error: ") + error.what();
    }
    const bool passed = !is_blank && wrong.empty();
    const bool untouched = planted.empty() ? is_blank : wrong.find(planted) != std::string::npos;
    if (!untouched) as_it_should_be_ = false;
    if (passed)
        ++level.passed;
    else if (first_open_.empty())
        first_open_ = name;
    if (brief_) return;
    if (hint_) {
        if (!passed) give_hint(level, name, hints);
        return;
    }

    const std::string what = painted(dim, level.name) + std::string(9 - std::strlen(level.name), ' ') + name;
    if (&level == &fault_)
        std::printf("%s: %s\n",
                    passed ? painted(green, "Mended").c_str()
                           : painted(yellow, untouched ? "Still sick" : "Something else is broken").c_str(),
                    passed ? remark.c_str() : wrong.c_str());
    else if (passed)
        std::printf("  %s   %s%s\n", painted(green, "passed").c_str(), what.c_str(),
                    remark.empty() ? "" : (": " + remark).c_str());
    else if (is_blank)
        std::printf("  %s    %s%s\n", painted(dim, "blank").c_str(), what.c_str(),
                    &level == &predict_ ? ": write down your prediction before you run anything" : "");
    else
        std::printf("  %s  %s: %s\n", painted(yellow, "not yet").c_str(), what.c_str(), wrong.c_str());

    // Only attempts count: not a blank, not a bug as it was given, and not a prediction, which is told anyway.
    if (is_blank || (untouched && !planted.empty()) || &level == &predict_) return;
    Memory memory = recall(name);
    memory.failures = passed ? 0 : memory.failures + 1;
    if (memory.failures >= 2 && !hints.empty()) {
        memory.hints = std::max(memory.hints, 1);
        const std::string& hint = hints[static_cast<std::size_t>(memory.hints - 1) % hints.size()];
        std::printf("           %s %s\n", painted(cyan, "hint:").c_str(), hint.c_str());
    }
    remember(name, memory);
}

void Exercise::give_hint(const Level& level, const std::string& name, const Hints& hints) {
    Memory memory = recall(name);
    const int all = static_cast<int>(hints.size());
    memory.hints = std::min(memory.hints + 1, all);
    remember(name, memory);
    std::printf("%s  %s\n\n", painted(dim, level.name).c_str(), name.c_str());
    for (int i = 0; i < memory.hints; ++i) {
        const std::string number = "hint " + std::to_string(i + 1) + " of " + std::to_string(all) + ":";
        std::printf("  %s %s\n", painted(i + 1 == memory.hints ? cyan : dim, number).c_str(),
                    hints[static_cast<std::size_t>(i)].c_str());
    }
    std::printf("\n%s\n", memory.hints < all ? (hint_command() + " gives the next one").c_str()
                          : &level == &fault_
                              ? "That was the last one; docs/faults.md ends the story."
                              : "That was the last one; our solution is in exercises/solutions.");
}

int Exercise::finish() {
    int parts = 0, passed = 0;
    std::string row;
    for (const Level* level : {&predict_, &mend_, &write_, &paper_, &project_, &fault_}) {
        parts += level->parts;
        passed += level->passed;
        if (level->parts == 0) continue;
        const std::string cell =
            std::string(level->name) + " " + std::to_string(level->passed) + "/" + std::to_string(level->parts);
        row += "  " + (level->passed == level->parts ? painted(green, cell) : cell);
    }
    const bool done = parts > 0 && passed == parts;
    if (fault_.parts > 0) row = done ? "  " + painted(green, "mended") : "  sick";
    if (brief_) {
        std::printf("  %-36s%s\n", title_.c_str(), row.c_str());
    } else if (hint_) {
        if (first_open_.empty()) std::printf("Every part of %s passes.\n", title_.c_str());
        return 0;
    } else if (check_) {
        return 0;
    } else if (fault_.parts > 0) {
        if (!done) std::printf("\n%s\n", painted(dim, hint_command() + " helps").c_str());
    } else {
        std::printf("\n%d of %d passed%s\n", passed, parts,
                    done ? "" : painted(dim, "; " + hint_command() + " helps with " + first_open_).c_str());
    }
    if (as_given_) return as_it_should_be_ && parts > 0 ? 0 : 1;
    return done ? 0 : 1;
}

// A file for each part. Letters and digits only, so that any name is a file's name.
std::filesystem::path Exercise::memory_of(const std::string& name) const {
    std::string file = title_ + " " + name;
    for (char& c : file)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return progress_ / file;
}

Exercise::Memory Exercise::recall(const std::string& name) const {
    Memory memory;
    if (progress_.empty() || !std::filesystem::exists(memory_of(name))) return memory;
    std::istringstream(io::load_text(memory_of(name))) >> memory.failures >> memory.hints;
    return memory;
}

void Exercise::remember(const std::string& name, const Memory& memory) const {
    if (progress_.empty()) return;
    std::filesystem::create_directories(progress_);
    io::save_text(memory_of(name), std::to_string(memory.failures) + " " + std::to_string(memory.hints));
}

std::string Exercise::painted(const char* colour, const std::string& text) const {
    return colour_ ? colour + text + "\033[0m" : text;
}

std::string Exercise::hint_command() const {
    const std::size_t digit = title_.find_first_of("0123456789");
    const std::string number =
        digit == std::string::npos ? "" : std::to_string(std::stoi(title_.substr(digit)));
    if (title_.starts_with("Fault")) return "make fault N=" + number + " HINT=1";
    return std::string("make hint ") + (title_.starts_with("Project") ? "PROJECT=" : "N=") + number;
}
