// Writing a file whole or not at all, when the disk, the folder or another writer is in the way.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "environment.h"
#include "refusal.h"
#include "weft/core.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

std::atomic<int> failing_syncs{0}, failing_modes{0};

// The system's function of a name that this program takes.
template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// In this program fsync and fchmod are these functions, so that a disk can be made to fail.
extern "C" int fchmod(int file, mode_t mode) {
    if (failing_modes > 0) {
        --failing_modes;
        errno = EPERM;
        return -1;
    }
    return next<int (*)(int, mode_t)>("fchmod")(file, mode);
}
extern "C" int fsync(int file) {
    if (failing_syncs > 0) {
        --failing_syncs;
        errno = EIO;
        return -1;
    }
    return next<int (*)(int)>("fsync")(file);
}

namespace {

std::ptrdiff_t files_in(const Scratch& scratch) {
    return std::distance(fs::directory_iterator(scratch.folder()), {});
}

// The exit code of `action` as a user who may not write everywhere.
template <class Action>
int as_nobody(Action action) {
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
        _exit(action());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a full disk leaves the old file also without standard input, whose number the file takes",
          "[fault][io]") {
    const Scratch scratch;
    fs::permissions(scratch.folder(), fs::perms::all);
    const int code = as_nobody([&] {
        ::close(0);
        const SmallDisk disk(1);
        try {
            io::save_text(scratch / "a", "two");
            return 1;
        } catch (const IoError&) {
            return files_in(scratch) == 0 ? 0 : 2;
        }
    });
    CHECK(code == 0);
}

TEST_CASE("a sync that fails leaves the old file, and nothing of the new one", "[fault][io]") {
    const Scratch scratch;
    io::save_text(scratch / "a", "old");
    failing_syncs = 1;
    refuses<IoError>("/a: could not sync: Input/output error", [&] { io::save_text(scratch / "a", "new"); });
    CHECK(failing_syncs == 0);
    CHECK(io::load_text(scratch / "a") == "old");
    CHECK(files_in(scratch) == 1);
    io::save_text(scratch / "a", "new");
    CHECK(io::load_text(scratch / "a") == "new");
}

TEST_CASE("permissions that cannot be kept, and a name that is taken before the end, change nothing",
          "[fault][io]") {
    const Scratch scratch;
    io::save_text(scratch / "a", "old");
    failing_modes = 1;
    refuses<IoError>("/a: could not keep its permissions: Operation not permitted",
                     [&] { io::save_text(scratch / "a", "new"); });
    CHECK(io::load_text(scratch / "a") == "old");
    CHECK(files_in(scratch) == 1);
    {
        io::AtomicFile file(scratch / "b");
        file.write("new");
        fs::create_directory(scratch / "b");
        refuses<IoError>("/b: could not rename the temporary file: Is a directory", [&] { file.commit(); });
    }
    CHECK(files_in(scratch) == 2);
}

TEST_CASE("a thousand names of temporary files that are taken end the search for one", "[fault][io]") {
    const Scratch scratch;
    std::string start;
    unsigned count = 0;
    {
        const io::AtomicFile file(scratch / "a");  // shows how they are named: a.PROCESS.COUNT.part
        const std::string name = fs::directory_iterator(scratch.folder())->path().filename().string();
        const std::size_t number = name.rfind('.', name.size() - 6) + 1;
        start = name.substr(0, number);
        count = static_cast<unsigned>(std::stoul(name.substr(number)));
    }
    // Links to nothing: neither free, nor abandoned files.
    for (unsigned i = 1; i <= 1000; ++i)
        fs::create_symlink("nothing", scratch / (start + std::to_string(count + i) + ".part"));
    refuses<IoError>("/a: could not open a temporary file beside it: File exists",
                     [&] { io::save_text(scratch / "a", "new"); });
    CHECK(files_in(scratch) == 1000);
    io::save_text(scratch / "a", "new");  // the next name is free
    CHECK(io::load_text(scratch / "a") == "new");
}

TEST_CASE("a symbolic link that leads nowhere, or in a circle, is neither replaced nor read", "[io]") {
    const Scratch scratch;
    fs::create_symlink("self", scratch / "self");
    fs::create_symlink("there", scratch / "back");
    fs::create_symlink("back", scratch / "there");
    fs::create_symlink("chain49", scratch / "chain");  // more links than the system follows
    for (int i = 1; i < 50; ++i)
        fs::create_symlink("chain" + std::to_string(i - 1), scratch / ("chain" + std::to_string(i)));
    const auto entries = files_in(scratch);
    for (const char* name : {"self", "back", "there", "chain"}) {
        INFO(name);
        const fs::path path = scratch / name, leads_to = fs::read_symlink(path);
        refuses<IoError>("cannot write " + path.string() + ": could not follow its symbolic links: Too many",
                         [&] { io::save_text(path, "new"); });
        CHECK(fs::read_symlink(path) == leads_to);
        refuses<IoError>("cannot read " + path.string() + ": it cannot be opened: Too many levels",
                         [&] { io::load_text(path); });
        refuses<IoError>("it cannot be opened: Too many", [&] { io::load_npy(path); });
    }
    CHECK(files_in(scratch) == entries);
}

TEST_CASE("what killed writers left is removed, and what living ones are at is not", "[fault][io]") {
    const Scratch scratch;
    for (const char* left : {"a.17.0.part", "a.17.1.part"}) std::ofstream(scratch / left) << "half";
    for (const char* other : {"a.17.0", "b.17.0.part", "a.old.part", "a.17.0.part.bak", "a..part.x"})
        std::ofstream(scratch / other) << "somebody's";
    io::AtomicFile living(scratch / "a");
    living.write("whole");
    CHECK_FALSE(fs::exists(scratch / "a.17.0.part"));
    CHECK_FALSE(fs::exists(scratch / "a.17.1.part"));
    io::save_text(scratch / "a", "another's");
    CHECK(io::load_text(scratch / "a") == "another's");
    living.commit();
    CHECK(io::load_text(scratch / "a") == "whole");
    CHECK(files_in(scratch) == 6);
}

TEST_CASE("a writer that opens while another looks for abandoned files keeps its own", "[fault][io]") {
    const Scratch scratch;
    std::atomic<int> lost{0};
    const auto writer = [&] {
        for (int i = 0; i < 400; ++i) try {
                io::AtomicFile(scratch / "a").commit();
            } catch (const IoError&) {
                ++lost;
            }
    };
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i) writers.emplace_back(writer);
    for (std::thread& each : writers) each.join();
    CHECK(lost == 0);
    CHECK(files_in(scratch) == 1);
}

TEST_CASE("a folder that may not be written to is named with the reason", "[fault][io]") {
    const Scratch scratch;
    fs::create_directory(scratch / "folder");
    io::save_text(scratch / "folder/a", "old");
    fs::permissions(scratch.folder(), fs::perms::owner_all | fs::perms::others_exec);
    fs::permissions(scratch / "folder", fs::perms(0555));
    CHECK(as_nobody([&] {
              try {
                  io::save_text(scratch / "folder/a", "new");
              } catch (const IoError& error) {
                  return contains(error.what(),
                                  "folder/a: could not open a temporary file beside it: Permission denied")
                             ? 0
                             : 2;
              }
              return 1;
          }) == 0);
    CHECK(io::load_text(scratch / "folder/a") == "old");
    fs::permissions(scratch / "folder", fs::perms(0755));
}

TEST_CASE("a file that is written again keeps its permissions, and links stay links", "[fault][io]") {
    const Scratch scratch;
    io::save_text(scratch / "real", "old");
    for (const int mode : {0600, 0640, 0755, 0444}) {
        fs::permissions(scratch / "real", fs::perms(mode));
        io::save_text(scratch / "real", "new");
        CHECK(static_cast<int>(fs::status(scratch / "real").permissions()) == mode);
    }
    fs::permissions(scratch / "real", fs::perms(0644));
    fs::create_directory(scratch / "folder");
    fs::create_symlink("real", scratch / "link");                // a link
    fs::create_symlink(scratch / "link", scratch / "to link");   // to a link
    fs::create_symlink("folder/later", scratch / "early link");  // to a file that is not there yet
    io::save_text(scratch / "to link", "newer");
    io::save_text(scratch / "early link", "first");
    CHECK(io::load_text(scratch / "real") == "newer");
    CHECK(io::load_text(scratch / "folder/later") == "first");
    for (const char* link : {"link", "to link", "early link"}) CHECK(fs::is_symlink(scratch / link));
}

TEST_CASE("of two savers on one path, each reader sees one whole file", "[fault][io]") {
    const Scratch scratch;
    const fs::path path = scratch / "a";
    const auto of = [](float value) {
        return io::NamedTensors{{"x", full({20'000 + static_cast<int>(value)}, value)}};
    };
    io::save_safetensors(path, of(0));
    std::atomic<int> savers{2};
    const auto saver = [&](float value) {
        for (int i = 0; i < 25; ++i) io::save_safetensors(path, of(value));
        --savers;
    };
    std::thread one(saver, 1.0F), two(saver, 2.0F);
    int read = 0, whole = 0;
    while (savers > 0) {
        const std::vector<float> x = io::load_safetensors(path).at("x").to_vector<float>();
        ++read;
        whole += std::all_of(x.begin(), x.end(), [&](float value) { return value == x[0]; }) ? 1 : 0;
    }
    one.join();
    two.join();
    CHECK(read > 0);
    CHECK(whole == read);
    CHECK(files_in(scratch) == 1);
}
