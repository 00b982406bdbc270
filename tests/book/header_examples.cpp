// Writes a test for each example of some public headers: header_examples TABLE OUT ROOT HEADER…, with the paths
// of headers from ROOT/include. What the comments say is checked (header_comments.h); what an example needs
// before and what else is checked after it stands in TABLE, header_examples.txt.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "header_comments.h"

namespace {

using Lines = std::vector<std::string>;

std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error(path + " cannot be read");
    return {std::istreambuf_iterator<char>(in), {}};
}

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

struct Entry {
    Lines before, after;
};

// By the names of examples, and by those of variables.
struct Table {
    std::map<std::string, Entry> entries;
    std::vector<std::pair<std::string, std::string>> variables;  // in order
};

Table read_table(const std::string& path) {
    Table table;
    std::string name;
    int number = 0;
    for (const std::string& line : lines_of(read(path))) {
        ++number;
        if (line.empty() || line.starts_with("#")) continue;
        if (!line.starts_with("    ")) {
            name = line;
            const bool variable = name.find('/') == std::string::npos;
            if (variable) table.variables.emplace_back(name, "");
            if (!variable && !table.entries.try_emplace(name).second)
                throw std::runtime_error(name + " is there twice");
        } else if (name.find('/') == std::string::npos) {
            table.variables.back().second += line + "\n";
        } else if (line == "    ...") {
            table.entries[name].before.swap(table.entries[name].after);
        } else {
            table.entries[name].after.push_back("#line " + std::to_string(number) + " \"header_examples.txt\"");
            table.entries[name].after.push_back(line);
        }
    }
    return table;
}

struct Example {
    std::string header, name;  // weft/ops/shapes.h, "weft/ops/shapes.h: split", by what is declared below
    std::size_t line;          // of the header, where it begins
    Lines lines;
};

// The name of what is declared at a line, or "".
std::string declared_at(const Lines& lines, std::size_t at) {
    static const std::regex type(R"(^ *(?:class|struct|enum class|namespace|using)(?: \[\[\w+\]\])? (\w+))"),
        function(R"((operator\(\)|operator[^\w( ]+|\b(?!decltype|requires)\w+)\()");
    while (at < lines.size() && lines[at].find("//") == lines[at].find_first_not_of(' ') && !lines[at].empty())
        ++at;
    if (at < lines.size() && lines[at].find("template <") != std::string::npos) ++at;
    std::smatch found;
    const bool has_name =
        at < lines.size() && !lines[at].starts_with("#") &&
        (std::regex_search(lines[at], found, type) || std::regex_search(lines[at], found, function));
    return has_name ? found[1].str() : "";
}

std::vector<Example> examples_of(const std::string& header, const std::string& root) {
    static const std::regex example_line("^ *//     (.*)$");
    std::vector<Example> examples;
    std::map<std::string, int> times;
    const Lines lines = lines_of(read(root + "/include/" + header));
    bool inside = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::smatch found;
        const bool is_example = std::regex_match(lines[i], found, example_line);
        if (is_example && !inside) examples.push_back({header, "", i + 1, {}});
        if (is_example) examples.back().lines.push_back(found[1]);
        if (inside && !is_example) {
            std::string& name = examples.back().name;
            const std::string declared = declared_at(lines, i);
            name = header + ": " + (declared.empty() ? "text" : declared);
            if (const int number = ++times[name]; number > 1) name += " " + std::to_string(number);
        }
        inside = is_example;
    }
    return examples;
}

// The example's own lines, in C++, each on a line.
std::string code_of(const Example& example) {
    std::ostringstream out;
    out << "#line " << example.line << " \"" << example.header << "\"\n";
    bool in_class = false;
    std::string printed;
    for (std::size_t i = 0; i < example.lines.size(); ++i) {
        const std::string& line = example.lines[i];
        const std::size_t at = comments::comment_at(line);
        std::string code = line.substr(0, at);
        code.erase(code.find_last_not_of(' ') + 1);
        const std::string comment = at + 3 < line.size() ? line.substr(at + 3) : "";
        in_class = (in_class || code.starts_with("struct")) && !line.starts_with("};");
        const bool prints = i > 0 && example.lines[i - 1].find("std::cout") != std::string::npos;
        if (code.empty() && (prints || !printed.empty())) {
            printed += comment + "\n";
            out << "\n";
            continue;
        }
        const std::string checks = in_class ? "" : comments::checks_of(code, comment);
        if (!checks.empty() && !code.empty() && !code.ends_with(";"))
            throw std::runtime_error("only after a statement: " + comment);
        static const std::regex error(R"((\w+Error): (.*))");
        std::smatch thrown;
        if (std::regex_match(comment, thrown, error))
            out << "CHECK(message_of<" << thrown[1] << ">([&] { " << code << " }) == R\"(" << thrown[2]
                << ")\");\n";
        else
            out << code << checks << "\n";
    }
    if (!printed.empty()) out << "CHECK(printed.str() == R\"(" << printed << ")\");\n";
    return out.str();
}

bool has_word(const std::string& text, const std::string& word) {
    return std::regex_search(text, std::regex("\\b" + word + "\\b"));
}

class Writer {
public:
    Writer(const Table& table, const std::vector<Example>& examples) : table_(table), examples_(examples) {}

    void write(const Example& example, std::ostream& out) const {
        static const std::regex function(R"(\n[\w:<>*& ]+ \w+\([^=\[\n]*\) \{)");
        std::string code = code_of(example);
        const Entry entry = entry_of(example.name);
        std::string test = before(entry);
        if (std::regex_search(code, function))  // which has to be outside of a test
            out << "namespace {\n" << code << "}  // namespace\n";
        else
            test += code;
        for (const std::string& line : entry.after) test += line + "\n";
        std::string variables;
        for (auto variable = table_.variables.rbegin(); variable != table_.variables.rend(); ++variable)
            if (has_word(test + variables, variable->first)) variables = variable->second + variables;
        out << "TEST_CASE(\"example: " << example.name << "\", \"[header-examples]\") {\n"
            << variables << "    {\n"
            << test << "    }\n}\n";
    }

private:
    Entry entry_of(const std::string& name) const {
        const auto found = table_.entries.find(name);
        return found == table_.entries.end() ? Entry{} : found->second;
    }
    // "... NAME" is another example, with what that needs before.
    std::string before(const Entry& entry) const {
        std::string text;
        for (const std::string& line : entry.before) {
            if (!line.starts_with("    ... ")) {
                text += line + "\n";
                continue;
            }
            const std::string name = line.substr(8);
            for (const Example& other : examples_)
                if (other.name == name) text += before(entry_of(name)) + code_of(other);
        }
        return text;
    }

    const Table& table_;
    const std::vector<Example>& examples_;
};

void run(const std::string& table_path, const std::string& out_path, const std::string& root,
         const Lines& headers) {
    const Table table = read_table(table_path);
    std::vector<Example> examples;
    for (const std::string& header : headers)
        for (const Example& example : examples_of(header, root)) examples.push_back(example);
    std::set<std::string> names, files(headers.begin(), headers.end());
    for (const Example& example : examples) names.insert(example.name);
    for (const auto& [name, entry] : table.entries) {
        const std::string header = name.substr(0, name.find(": "));
        if (!std::filesystem::exists(root + "/include/" + header) ||
            (files.contains(header) && !names.contains(name)))
            throw std::runtime_error(table_path + ": no header has the example " + name);
    }
    std::ostringstream out;
    out << "#include \"book/header_examples.h\"\n";
    for (const std::string& header : headers) out << "#include \"" << header << "\"\n";
    out << "using namespace example;\n";
    for (const Example& example : examples) {
        try {
            Writer(table, examples).write(example, out);
        } catch (const std::exception& error) {
            throw std::runtime_error(example.name + ": " + error.what());
        }
    }
    if (std::filesystem::exists(out_path) && read(out_path) == out.str())
        return;  // so nothing is compiled again
    std::ofstream(out_path, std::ios::binary) << out.str();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    try {
        run(argv[1], argv[2], argv[3], {argv + 4, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
