#include "exercise.h"

#include <cmath>
#include <cstdio>

namespace {

// A file per part: how often it failed. Letters and digits only, so that any name is a file's name.
std::filesystem::path counter(const std::filesystem::path& folder, const std::string& title,
                              const std::string& part) {
    std::string name = title + " " + part;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return folder / name;
}

std::string shown(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.6g", value);
    return buffer;
}

// ", element (1, 0)," of a tensor of this shape; nothing where there is only one.
std::string place(std::int64_t at, const Shape& shape) {
    std::string index;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index = std::to_string(at % shape[axis]) + (index.empty() ? "" : ", ") + index;
        at /= shape[axis];
    }
    return shape.rank() == 0 ? "" : ", element (" + index + "),";
}

}  // namespace

AnyValue blank(const std::string& what) { throw Blank("not filled in: " + what); }

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
               what + place(static_cast<std::int64_t>(i), want.shape()) + " is " + shown(a[i]) +
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
    throw NotYet(what + " should be refused with an error that says \"" + words + "\"");
}

void expect_gradient(const std::string& what, const check::Function& f, const std::vector<Tensor>& inputs) {
    const check::GradcheckReport report = check::gradcheck(what, f, inputs);
    expect(report.passed, report.message);
}

Exercise::Exercise(int argc, char** argv, std::string title) : title_(std::move(title)) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--brief") {
            brief_ = true;
        } else if (argument == "--as-given") {
            as_given_ = true;
        } else if (argument == "--progress" && i + 1 < argc) {
            progress_ = argv[++i];
        } else {
            std::fprintf(stderr, "usage: %s [--progress FOLDER] [--brief] [--as-given]\n", argv[0]);
            std::exit(2);
        }
    }
    if (!brief_) std::printf("%s\n\n", title_.c_str());
}

int Exercise::failures_of(const std::string& name, bool failed) {
    if (progress_.empty()) return 0;
    const std::filesystem::path file = counter(progress_, title_, name);
    int failures = 0;
    if (failed && std::filesystem::exists(file)) failures = std::stoi(io::load_text(file));
    if (failed) ++failures;
    std::filesystem::create_directories(progress_);
    io::save_text(file, std::to_string(failures));
    return failures;
}

void Exercise::part(const std::string& name, const std::string& hint, const std::function<void()>& test) {
    ++parts_;
    std::string wrong;
    bool blank = false;
    try {
        test();
    } catch (const Blank& nothing) {
        blank = true;
        ++blank_;
        wrong = nothing.what();
    } catch (const NotYet& difference) {
        wrong = difference.what();
    } catch (const std::exception& error) {
        wrong = std::string("it ended with an error: ") + error.what();
    }
    if (wrong.empty()) ++passed_;
    if (brief_) return;
    if (wrong.empty()) {
        std::printf("  passed   %s\n", name.c_str());
    } else {
        std::printf("  not yet  %s: %s\n", name.c_str(), wrong.c_str());
        // A blank is no attempt: it neither counts nor is given a hint, which would say too much too soon.
        if (!blank && failures_of(name, true) >= 2) std::printf("           hint: %s\n", hint.c_str());
        return;
    }
    failures_of(name, false);
}

int Exercise::finish() {
    if (brief_)
        std::printf("  %d of %d   %s\n", passed_, parts_, title_.c_str());
    else
        std::printf("\n%d of %d passed\n", passed_, parts_);
    if (as_given_) return blank_ == parts_ && parts_ > 0 ? 0 : 1;
    return passed_ == parts_ && parts_ > 0 ? 0 : 1;
}
