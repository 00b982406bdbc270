// Runs Graphviz without a shell, on files in a temporary folder.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "weft/models/io.h"
#include "weft/viz/pictures.h"

extern char** environ;

namespace weft::viz {
namespace {

namespace fs = std::filesystem;

// Removes its folder at the end of its scope.
struct Folder {
    fs::path path;
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

Folder temporary_folder() {
    std::error_code failure;
    const fs::path temporary = fs::temp_directory_path(failure);
    if (failure) throw IoError("save_svg: no folder for temporary files: ", failure.message());
    std::string name = (temporary / "weft-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw IoError("save_svg: cannot make the folder ", name, ": ", std::strerror(errno));
    return {name};
}

// The exit code of `dot -Tsvg -o out in`, or −1 if it was killed; its messages go to the file `errors`.
int run_dot(const fs::path& in, const fs::path& out, const fs::path& errors) {
    std::string program = "dot", format = "-Tsvg", option = "-o", to = out.string(), from = in.string();
    char* arguments[] = {program.data(), format.data(), option.data(), to.data(), from.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int failure = posix_spawnp(&child, program.c_str(), &files, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure != 0)
        throw IoError(
            "save_svg: cannot run the program dot (", std::strerror(failure),
            "). Install Graphviz (on Debian: apt-get install graphviz), or save the DOT text and draw it "
            "elsewhere");
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

void save_svg(const fs::path& path, const std::string& dot) {
    const Folder folder = temporary_folder();
    const fs::path in = folder.path / "graph.dot", out = folder.path / "graph.svg",
                   errors = folder.path / "errors";
    io::save_text(in, dot);
    if (const int code = run_dot(in, out, errors); code != 0)
        throw IoError("save_svg: dot refused the graph (exit code ", code, "): ", io::load_text(errors));
    io::save_text(path, io::load_text(out));
}

}  // namespace weft::viz
