#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Listener = Catch::EventListenerBase;
constexpr auto no_match = Catch::WarnAbout::UnmatchedTestSpec;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
constexpr auto no_match = Catch::WarnAbout::NoTests;
#endif

#include <cxxabi.h>
#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <set>
#include <string>
#include <typeinfo>

#include "catch.h"
#include "environment.h"
#include "messages.h"
#include "refusal.h"

// Under AddressSanitizer an allocation that is too large is refused as it is without: by std::bad_alloc, which
// is tested.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace {

std::set<std::string>& thrown() {
    static auto* const messages = new std::set<std::string>;  // exceptions may come early and late
    return *messages;
}

}  // namespace

std::string test_program;

// In this program every throw comes by here, and its message is kept. (Under its own name GCC knows it with
// other types.) libc++ has no way to ask what is thrown.
#ifdef __GLIBCXX__
using Destroy = void (*)(void*);
[[noreturn]] void watched_throw(void* object, std::type_info* type, Destroy destroy) __asm__("__cxa_throw");
void watched_throw(void* object, std::type_info* type, Destroy destroy) {
    void* as_exception = object;
    if (typeid(std::exception).__do_catch(type, &as_exception, 1)) {
        static std::mutex mutex;
        const std::lock_guard lock(mutex);
        thrown().insert(static_cast<const std::exception*>(as_exception)->what());
    }
    using Throw = void (*)(void*, std::type_info*, Destroy);
    static const auto real = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
    real(object, type, destroy);
    std::terminate();
}
#endif

namespace {

// Whether the messages of a file are thrown in processes of their own; none.cpp is for builds without MPI.
bool is_of_processes(const std::filesystem::path& path) {
    return path.string().find("/dist/") != std::string::npos && path.filename() != "none.cpp";
}
// The others, but for those that only stand in a check's report.
bool is_of_this_process(const std::filesystem::path& path) {
    return path.string().find("/dist/") == std::string::npos && path.filename() != "gradcheck.cpp";
}

// The sections that were entered, of all tests.
std::set<std::string>& sections() {
    static std::set<std::string> names;
    return names;
}
struct SectionNames : Listener {
    using Listener::Listener;
    void sectionStarting(const Catch::SectionInfo& section) override {
        Listener::sectionStarting(section);
        sections().insert(section.name);
    }
};
CATCH_REGISTER_LISTENER(SectionNames)

// The sections asked for by -c that no test has; 0 or 1 for main to return.
int missing_sections(const std::vector<std::string>& wanted) {
    int missing = 0;
    for (const std::string& name : wanted) {
        if (sections().contains(name)) continue;
        std::cout << "No test has the section '" << name << "'\n";
        missing = 1;
    }
    return missing;
}

// Those of the wanted messages that no test of this run has reached; 0 or 1 for main to return.
int report(std::set<std::string> wanted) {
    std::vector<std::string> found = markdown::lines_of(printed_by_programs());
    for (const std::string& message : thrown()) found.push_back(messages::spaced(message));
    // Only an archive of 4 GiB reaches the first, in the last bytes of its directory; an MPI of another kind, a
    // broken network, and 2 GiB on the way the others.
    wanted.erase("save_npz: the archive would reach 4 GiB; save_safetensors has no such limit");
    wanted.erase("Group: this MPI does not let several threads of a process send (MPI_THREAD_MULTIPLE)");
    wanted.erase("MPI reports: …");
    wanted.erase("…: the processes exchange … bytes; 2147483647 is the most at once");
    int missing = 0;
    for (const std::string& pattern : wanted) {
        const auto reaches = [&](const std::string& message) { return occurs(pattern, message); };
        if (std::any_of(found.begin(), found.end(), reaches)) continue;
        if (missing++ == 0) std::cout << "No test reaches these refusals:\n";
        std::cout << "  " << pattern << "\n";
    }
    std::cout << wanted.size() - static_cast<std::size_t>(missing) << " of " << wanted.size()
              << " refusals are reached by tests\n";
    return missing > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    test_program = std::filesystem::absolute(argv[0]).string();
    Catch::Session session;
    if (const int wrong = session.applyCommandLine(argc, argv)) return wrong;
    // A filter that matches nothing is a mistake in what was typed, and a failure.
    auto& config = session.configData();
    config.warnings = static_cast<Catch::WarnAbout::What>(config.warnings | no_match);
    int failed = session.run();
    if (config.listTests || config.listTags || config.listReporters) return 0;  // Catch2 2 returns their number
    failed = std::max(failed, missing_sections(config.sectionsToRun));
    for (const std::string& check : skipped_checks()) std::cout << "Skipped: " << check << "\n";
    const std::vector<std::string>& tests = session.configData().testsOrTags;
    int unreached = 0;  // where CMakeLists.txt says that the run is a whole one
    if (tests == std::vector<std::string>{WEFT_LIBRARY_TESTS})
        unreached = report(messages::of_files(is_of_this_process));
    if (tests == std::vector<std::string>{WEFT_PROCESSES_TESTS})
        unreached = report(messages::of_files(is_of_processes));
    return std::max(failed, unreached);
}
