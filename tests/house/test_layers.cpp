// The rooms of the house are the folders of src and include/weft, and CMakeLists.txt says which library each
// belongs to and what that links. A file includes rooms above its own in the list below, of its own library and
// of those that it links; nothing includes a private header of another library. xtensor, BLAS and oneTBB stay
// in core, and out of every public header but the bridge; MPI stays in the sources of dist.
#include <map>
#include <set>

#include "catch.h"
#include "messages.h"

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> rooms = {"base",  "core", "ops",   "packed", "fast",    "derive",
                                        "watch", "nn",   "optim", "check",  "dist",    "io",
                                        "text",  "lm",   "viz",   "report", "training"};

int place_of(const std::string& room) {
    return static_cast<int>(std::find(rooms.begin(), rooms.end(), room) - rooms.begin());
}

struct Libraries {
    std::map<std::string, std::string> of_room;           // the library of a room
    std::map<std::string, std::set<std::string>> linked;  // what a library links, and what that links
};

// From lines such as weft_library(nn "nn;optim;check" weft_core).
Libraries libraries_of(const std::string& cmake) {
    static const std::regex line(R"re(\nweft_library\((\w+) ("?)([\w;]+)\2((?: weft_\w+)*)\))re");
    Libraries libraries;
    for (std::sregex_iterator found(cmake.begin(), cmake.end(), line), end; found != end; ++found) {
        const std::string name = (*found)[1];
        std::istringstream in(std::regex_replace((*found)[3].str(), std::regex(";"), " "));
        for (std::string room; in >> room;) libraries.of_room[room] = name;
        std::istringstream links((*found)[4]);
        for (std::string link; links >> link;) {
            link = link.substr(5);
            libraries.linked[name].insert(link);
            libraries.linked[name].insert(libraries.linked[link].begin(), libraries.linked[link].end());
        }
    }
    return libraries;
}

// The room of "src/core/attention.cpp" or "include/weft/core/mask.h"; of "include/weft/nn.h" the last of its
// library.
std::string room_of(const std::string& path, const Libraries& libraries) {
    static const std::regex place(R"((?:src|include/weft)/(?:(\w+)/.*|(\w+)\.h))");
    std::smatch match;
    if (!std::regex_match(path, match, place)) return "";
    if (match[1].matched) return libraries.of_room.contains(match[1]) ? match[1].str() : "";
    if (match[2] == "weft") return "training";
    if (match[2] == "ops" || match[2] == "xtensor") return "ops";
    std::string last;
    for (const std::string& room : rooms)
        if (libraries.of_room.at(room) == match[2]) last = room;
    return last;
}

bool is_numeric_library(const std::string& include) {
    static const std::regex pattern(
        "(xtensor|xtensor-blas|xtl|xsimd|xflens|openblas|tbb|oneapi)/.*|(cblas|lapacke|omp|openblas_config)[^/"
        "]*");
    return std::regex_match(include, pattern);
}

struct Include {
    std::string name;
    bool quoted = false;
};

std::vector<Include> includes_of(const std::string& text) {
    static const std::regex pattern(R"re(^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"])re");
    std::vector<Include> found;
    std::istringstream lines(text);
    std::smatch match;
    for (std::string line; std::getline(lines, line);)
        if (std::regex_search(line, match, pattern)) found.push_back({match[2], match[1] == "\""});
    return found;
}

// What is wrong with one file's includes, a line each. `exists` says whether a path of the project is a file.
template <class Exists>
std::vector<std::string> violations(const std::string& path, const std::string& text,
                                    const Libraries& libraries, Exists exists) {
    std::vector<std::string> found;
    const std::string room = room_of(path, libraries);
    if (room.empty()) return {path + " is in no room"};
    const std::string library = libraries.of_room.at(room);
    const bool is_public = path.starts_with("include/");
    for (const auto& [name, quoted] : includes_of(text)) {
        const std::string line = path + " includes " + name;
        if (is_numeric_library(name)) {
            if (is_public && path != "include/weft/xtensor.h")
                found.push_back(line + ": not in a public header");
            if (library != "core") found.push_back(line + ": not above core");
            continue;
        }
        if (name == "mpi.h" && !path.starts_with("src/dist/")) found.push_back(line + ": only in src/dist");
        if (!quoted && !name.starts_with("weft/")) continue;  // the standard library, nlohmann::json
        if (name.starts_with("Weft needs C++20")) continue;   // a message instead of a file
        const bool target_public = name.starts_with("weft/");
        std::string target = (target_public ? "include/" : "src/") + name;
        if (const std::string beside = path.substr(0, path.rfind('/') + 1) + name;
            !exists(target) && exists(beside))
            target = beside;
        if (!exists(target)) {
            found.push_back(line + ": no such file beside it, in src/ or as weft/…");
            continue;
        }
        const std::string of = room_of(target, libraries);
        const std::string& other = libraries.of_room.at(of);
        if (place_of(of) > place_of(room) ||
            (other != library && !libraries.linked.at(library).contains(other)))
            found.push_back(line + ": its room needs none of that");
        if (is_public && !target_public) found.push_back(line + ": a private header in a public one");
        if (other != library && !target_public) found.push_back(line + ": private to " + other);
    }
    return found;
}

Libraries the_libraries() { return libraries_of(markdown::read(markdown::root / "CMakeLists.txt")); }

// The lines of a file at depth 0 of its named namespaces, those of unnamed ones left out.
std::vector<std::string> named_lines(const fs::path& path) {
    std::vector<std::string> lines;
    bool unnamed = false;
    for (const std::string& line : markdown::lines_of(messages::code_of(markdown::read(path)))) {
        if (line == "namespace {") unnamed = true;
        if (!unnamed) lines.push_back(line);
        if (line.starts_with("}  //") || line == "}  ") unnamed = false;
    }
    return lines;
}

// The names that headers of a room declare, the public ones or all of them.
std::set<std::string> declared_in(const std::string& room, const std::regex& pattern, bool public_only) {
    std::set<std::string> names;
    for (const char* top : {"include/weft/", "src/"})
        for (const fs::path& path : markdown::files_in(top + room, ".h")) {
            if (public_only && top[0] == 's') continue;
            const std::string code = messages::code_of(markdown::read(path));
            for (std::sregex_iterator found(code.begin(), code.end(), pattern), end; found != end; ++found)
                names.insert((*found)[1]);
        }
    return names;
}

}  // namespace

TEST_CASE("the folders of src and include/weft are the rooms, each in one library", "[house]") {
    const Libraries libraries = the_libraries();
    std::set<std::string> folders;
    for (const char* top : {"src", "include/weft"})
        for (const auto& entry : fs::directory_iterator(markdown::root / top))
            if (entry.is_directory()) folders.insert(entry.path().filename().string());
    CHECK(folders == std::set<std::string>(rooms.begin(), rooms.end()));
    CHECK(libraries.of_room.size() == rooms.size());
    for (const std::string& room : rooms) CHECK(libraries.of_room.contains(room));
    CHECK(libraries.linked.at("dist") == std::set<std::string>{"core", "nn"});
}

TEST_CASE("every file includes only its own room and those above it, of libraries that are linked", "[house]") {
    const fs::path root = markdown::root;
    const Libraries libraries = the_libraries();
    std::vector<std::string> found;
    int files = 0;
    for (const char* folder : {"src", "include/weft"})
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp") continue;
            const std::string path = fs::relative(entry.path(), root).generic_string();
            const auto wrong = violations(path, markdown::read(entry.path()), libraries,
                                          [&](const std::string& target) { return fs::exists(root / target); });
            found.insert(found.end(), wrong.begin(), wrong.end());
            ++files;
        }
    for (const std::string& line : found) FAIL_CHECK(line);
    CHECK(files > 100);
}

TEST_CASE("few files outside the kernels touch memory", "[house]") {
    static const std::regex memory(R"(\bdata<|->data\b|\bbytes_at)"),
        kernels("src/core/(kernels|plain_|element|expression|formula|parallel).*|src/(fast|packed)/.*");
    std::vector<std::string> touching;
    for (const char* folder : {"src", "include/weft"})
        for (const auto& entry : fs::recursive_directory_iterator(markdown::root / folder)) {
            const std::string path = fs::relative(entry.path(), markdown::root).generic_string();
            if (entry.is_regular_file() && !std::regex_match(path, kernels) &&
                std::regex_search(markdown::read(entry.path()), memory))
                touching.push_back(path);
        }
    INFO(Catch::StringMaker<std::vector<std::string>>::convert(touching));
    CHECK(touching.size() <= 16);  // what a device would have to look at, see docs/rooms.md
}

TEST_CASE("Module includes nothing that watches it", "[house]") {
    CHECK_FALSE(contains(markdown::read(markdown::root / "include/weft/nn/module.h"), "weft/watch/"));
}

TEST_CASE("the test of the rooms finds each kind of violation", "[house]") {
    const auto exists = [](const std::string& path) {
        return !path.ends_with("gone.h") && path != "src/registry.h";
    };
    const Libraries libraries = the_libraries();
    const auto all = [&](const std::string& path, const std::string& text) {
        return violations(path, text, libraries, exists);
    };
    const auto one = [&](const std::string& path, const std::string& text) {
        const auto found = all(path, text);
        return found.size() == 1 ? found[0] : std::to_string(found.size()) + " violations";
    };
    CHECK(contains(one("src/core/array.cpp", "#include \"fast/gemm.h\"\n"), "needs none of that"));
    CHECK(contains(one("src/core/array.cpp", "#include \"weft/watch/trace.h\"\n"), "needs none of that"));
    CHECK(contains(one("src/dist/group.cpp", "#include \"weft/io/npy.h\"\n"), "needs none of that"));
    CHECK(contains(one("src/viz/plot.cpp", "#include \"weft/lm/gpt.h\"\n"), "needs none of that"));
    CHECK(contains(one("src/nn/layers.cpp", "  #  include \"fast/gemm.h\"\n"), "private to core"));
    CHECK(contains(one("src/lm/gpt.cpp", "#include \"io/zip.h\"\n"), "private to io"));
    CHECK(contains(one("src/io/npy.cpp", "#include <xtensor/xnpy.hpp>\n"), "not above core"));
    CHECK(contains(one("include/weft/ops.h", "#include <omp.h>\n"), "not in a public header"));
    CHECK(contains(one("include/weft/core/tensor.h", "#include <cblas.h>\n"), "not in a public header"));
    CHECK(contains(one("src/nn/layers.cpp", "#include <tbb/parallel_for.h>\n"), "not above core"));
    CHECK(contains(one("include/weft/dist/data_parallel.h", "#include <mpi.h>\n"), "only in src/dist"));
    CHECK(contains(one("include/weft/core/tensor.h", "#include \"core/array.h\"\n"),
                   "a private header in a public one"));
    CHECK(contains(one("src/fast/gemm.cpp", "#include \"fast/gone.h\"\n"), "no such file"));
    CHECK(contains(one("src/cellar/wine.cpp", ""), "is in no room"));

    CHECK(all("include/weft/xtensor.h", "#include <xtensor/xadapt.hpp>\n#include \"weft/core/tensor.h\"\n")
              .empty());
    CHECK(all("src/fast/linear.cpp", "#include \"fast/gemm.h\"\n#include <cblas.h>\n").empty());
    CHECK(all("src/nn/module.cpp", "#include \"registry.h\"\n").empty());
    CHECK(all("src/io/safetensors.cpp", "#include <nlohmann/json.hpp>\n#include \"io/zip.h\"\n").empty());
}

// The functions of a source's unnamed namespaces, or of a private header, each with the namespace around it:
// "weft::lm shown".
std::set<std::string> own_functions(const std::string& text, bool header) {
    static const std::regex function(R"(^(?:template.*> )?[A-Za-z_][\w:<>,&* ]*[ &*](\w+)\()");
    std::set<std::string> found;
    std::string around;
    bool inside = header;
    for (const std::string& line : markdown::lines_of(text)) {
        if (line == "namespace {") inside = true;
        if (line == "}  // namespace") inside = header;
        if (line.starts_with("namespace weft")) around = line.substr(10, line.find(" {") - 10);
        std::smatch match;
        if (inside && !line.starts_with("return") && std::regex_search(line, match, function))
            found.insert(around + " " + match[1].str());
    }
    return found;
}

TEST_CASE("a function of one source has a name of its own in its library, whose pieces hold several sources",
          "[house]") {
    CHECK(own_functions("namespace weft::lm {\nnamespace {\n\nint f(int x) {\n    return g(x);\n}\ntemplate "
                        "<class T> T g(T);"
                        "\n\n}  // namespace\n\nint h() { return 1; }\n",
                        false) == std::set<std::string>{"weft::lm f", "weft::lm g"});
    const Libraries libraries = libraries_of(markdown::read(markdown::root / "CMakeLists.txt"));
    std::map<std::string, std::map<std::string, std::string>> files;  // by library and function
    int functions = 0;
    for (const char* extension : {".h", ".cpp"})
        for (const fs::path& path : markdown::files_in("src", extension)) {
            const bool header = path.extension() == ".h";
            const std::string file = fs::relative(path, markdown::root).string();
            auto& known = files[libraries.of_room.at(room_of(file, libraries))];
            for (const std::string& name : own_functions(markdown::read(path), header)) {
                const auto [entry, added] = known.emplace(name, file);
                INFO(name << " is in " << file << " and in " << entry->second);
                CHECK((added || header));
                ++functions;
            }
        }
    CHECK(functions > 500);
}

TEST_CASE("what a header declares is defined in its room", "[house]") {
    static const std::regex type(R"(\n(?:struct|class) (?:\[\[nodiscard\]\] )?(\w+)[^;\n]*\{)"),
        function(R"(\n(?:\[\[[^\n]*\]\] )?(?:[\w:<>&*]+ )+(\w+)\([^{]*?\);)"),
        member(R"(^(?:[\w:<>&*,]+ )*(\w+)::~?\w+\()"), free(R"(^(?:[\w:<>&*,]+ )+(\w+)\([^;]*$)");
    std::map<std::string, std::string> types, functions;  // the room that declares a name
    std::map<std::string, std::set<std::string>> own;
    for (const std::string& room : rooms) {
        for (const std::string& name : declared_in(room, type, true)) types.emplace(name, room);
        for (const std::string& name : declared_in(room, function, true)) functions.emplace(name, room);
        own[room] = declared_in(room, type, false);
        own[room].merge(declared_in(room, function, false));
    }
    int definitions = 0;
    for (const std::string& room : rooms) {
        if (room == "fast") continue;  // its functions have the names of the slots that they fill
        for (const fs::path& path : markdown::files_in("src/" + room, ".cpp"))
            for (const std::string& line : named_lines(path)) {
                std::smatch match;
                const bool is_member = std::regex_search(line, match, member);
                if (!is_member && !std::regex_search(line, match, free)) continue;
                const std::string name = match[1];
                const auto& declared = is_member ? types : functions;
                const auto found = declared.find(name);
                if (found == declared.end() || own[room].contains(name)) continue;
                if (is_member && name == "Tensor" && room == "ops") continue;  // operations as methods
                if (path.filename() == "functional.cpp") continue;  // derivatives, made of operations
                INFO(path << ": " << line);
                CHECK(found->second == room);
                ++definitions;
            }
    }
    CHECK(definitions == 0);
    CHECK(functions.at("softmax") == "core");
    CHECK(types.at("Tensor") == "core");
}

TEST_CASE(
    "a public class is derived from Module or a block, Observer, Error or from nothing; Parameter is a Tensor",
    "[house]") {
    static const std::regex derived(R"(\n *(?:struct|class) (\w+)(?: final)? : (?:public )?(?:nn::)?([\w:]+))");
    int classes = 0;
    for (const fs::path& header : markdown::files_in("include/weft", ".h")) {
        const std::string text = markdown::read(header);
        for (std::sregex_iterator found(text.begin(), text.end(), derived), end; found != end;
             ++found, ++classes) {
            INFO(header << ": " << found->str());
            const std::string base = (*found)[2];
            CHECK((base == "Module" || base == "PreNormBlock" || base == "Observer" || base == "Error" ||
                   (*found)[1] == "Error" || ((*found)[1] == "Parameter" && base == "Tensor")));
        }
    }
    CHECK(classes >= 20);
}

TEST_CASE("what the library throws is one of the types in error.h, or std::bad_alloc", "[house]") {
    static const std::regex thrown(R"(\bthrow\s+([\w:]+))"),
        allowed("(weft::)?((Shape|DType|Index|Value|Graph|Io)?Error)|std::bad_alloc");
    int throws = 0;
    for (const char* folder : {"src", "include"})
        for (const char* extension : {".cpp", ".h"})
            for (const fs::path& path : markdown::files_in(folder, extension)) {
                const std::string code = messages::code_of(markdown::read(path));
                for (std::sregex_iterator found(code.begin(), code.end(), thrown), end; found != end; ++found) {
                    INFO(path << ": " << found->str());
                    CHECK(std::regex_match((*found)[1].str(), allowed));
                    ++throws;
                }
            }
    CHECK(throws >= 200);
}

TEST_CASE("what the programs print from outside passes through one function", "[house]") {
    static const std::regex print(R"(\b(printf|fprintf|fwrite|fputs|puts)\(([^;]|";")*;)"),
        text(R"(\.(c_str|data)\(\))");
    const std::set<std::string> tame{"for_terminal", "printable",  // and by excerpt(), or a number:
                                     "quoted",       "shown",     "most_likely", "cell",
                                     "to_chars",     "decimals",  "tame",        "line"};  // of such
    int prints = 0;
    for (const char* program : {"train_gpt", "generate", "chat", "evaluate", "inside", "command_line"}) {
        const std::string source =
            markdown::read(markdown::root / "examples" / (std::string(program) + ".cpp"));
        for (std::sregex_iterator at(source.begin(), source.end(), print), end; at != end; ++at) {
            const std::string call = at->str();
            for (std::sregex_iterator part(call.begin(), call.end(), text), none; part != none;
                 ++part, ++prints) {
                auto last =
                    static_cast<std::size_t>(part->position());  // the end of a name, or of its arguments
                for (int open = 0; call[last - 1] == ')' || open > 0; --last)
                    open += (call[last - 1] == ')') - (call[last - 1] == '(');
                std::size_t first = last;
                while (std::isalnum(static_cast<unsigned char>(call[first - 1])) || call[first - 1] == '_')
                    --first;
                INFO(program << ": " << call);
                CHECK(tame.contains(call.substr(first, last - first)));
            }
        }
    }
    CHECK(prints >= 15);
}
