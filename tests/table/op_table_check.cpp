// Run by the build: every function declared in weft/ops, and every member of Tensor that
// returns a Tensor in the graph, must have a row in the table of operations, and every row must belong to a
// declaration. Every operation must be among the random programs and the rows of hostile inputs, too.
//
//     op_table_check path/to/HEADERS path/to/tensor.h
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <set>

#include "op_table.h"
#include "random/program.h"

namespace {

std::string read_without_comments(const char* path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(std::string("cannot read ") + path);
    std::string text, line;
    while (std::getline(file, line))
        if (!line.starts_with('#')) text += line.substr(0, line.find("//")) + ' ';
    return text;
}

std::string replace_all(const std::string& text, const char* pattern, const char* by) {
    return std::regex_replace(text, std::regex(pattern), by);
}

// "const Tensor& x, int axis = 0" → "Tensor, int"
std::string types_of(std::string parameters) {
    parameters = replace_all(parameters, R"(\s*=\s*(\{\}|[^,]*))", "");
    parameters = replace_all(parameters, R"(\bconst\b|\bstd::|&)", "");
    parameters = replace_all(parameters, R"((\S)\s+\w+\s*(,|$))", "$1$2");
    return replace_all(replace_all(parameters, R"(^\s+|\s+$)", ""), R"(\s*,\s*)", ", ");
}

// Every "Type name(parameters);" at the level of the namespace: bodies in braces go first, innermost to
// outermost. Functions of weights in blocks, which have neither float64 nor golden gradients of the weight, are
// in tests/packed/test_packed.cpp.
std::set<std::string> functions_of(std::string text) {
    text = replace_all(text, R"(=\s*(\{\}|\w+\(\)))", "");  // default arguments
    text = replace_all(text, R"(namespace weft\s*\{)", "");
    for (std::string shorter; (shorter = replace_all(text, R"(\{[^{}]*\})", " ")) != text;) text = shorter;
    std::set<std::string> found;
    const std::regex declaration(R"(([\w:<>]+)\s+(operator\s*[^\s(]+|\w+)\(([^()]*)\)\s*;)");
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
        found.insert((*at)[2].str() + "(" + types_of((*at)[3]) + ")");
    return found;
}

// Every "Tensor name(parameters) const" of class Tensor, except the two that leave the graph, those that only
// pass sizes on one by one (reshape(Sizes... sizes)), and the methods of functions: x.sum() is sum(x).
std::set<std::string> members_of(const std::string& text, const std::set<std::string>& functions) {
    const std::set<std::string> outside_the_graph = {"Tensor::grad()", "Tensor::detach()"};
    std::set<std::string> found;
    const std::regex declaration(R"(\sTensor\s+(operator\[\]|\w+)\(([^()]*)\)\s*const)");
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
        const std::string types = types_of((*at)[2]), name = "Tensor::" + (*at)[1].str() + "(" + types + ")";
        const std::string function = (*at)[1].str() + "(Tensor" + (types.empty() ? "" : ", ") + types + ")";
        if (!outside_the_graph.count(name) && !functions.count(function) && !name.ends_with("...)"))
            found.insert(name);
    }
    return found;
}

// Whether a function makes its result from numbers or memory alone, so that no gradient passes.
bool of_numbers(const std::string& name) {
    static const std::regex creation(
        R"((zeros|ones|full|empty|zeros_like|ones_like|eye|arange|randn|rand|randint|tensor|from_vector|from_blob)\(.*)");
    return std::regex_match(name, creation);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 3) throw std::runtime_error("usage: op_table_check HEADERS tensor.h");
    std::set<std::string> declared;
    for (int i = 1; i < argc - 1; ++i)
        if (const std::string path = argv[i]; !path.ends_with("/heads.h") && !path.ends_with("/mask.h"))
            declared.merge(functions_of(read_without_comments(argv[i])));
    std::erase_if(declared, [](const std::string& name) { return of_numbers(name); });
    declared.merge(members_of(read_without_comments(argv[argc - 1]), declared));
    if (declared.size() < 90)
        throw std::runtime_error("read fewer declarations than there are: check the patterns");

    std::set<std::string> rows;
    for (const OpEntry& op : op_table()) rows.insert(op.declaration);
    int wrong = 0;
    for (const auto& name : declared)
        if (!rows.count(name))
            ++wrong, std::cerr << "declared, but not in tests/op_table_*.cpp: " << name << '\n';
    for (const auto& name : rows)
        if (!declared.count(name))
            ++wrong, std::cerr << "in tests/op_table_*.cpp, but not declared: " << name << '\n';
    std::set<std::string> in_programs;
    for (const auto& row : random_programs::rows()) in_programs.insert(row.declaration);
    for (const auto& name : declared)
        if (!in_programs.count(name))
            ++wrong, std::cerr << "declared, but not in tests/random/rows_*.cpp: " << name << '\n';
    const Golden hostile("hostile.safetensors");
    for (const auto& name : declared) {  // what is random has no golden values: test_hostile.cpp
        bool compared = false, found = false;
        for (const OpEntry& op : op_table())
            if (op.declaration == name)
                compared |= op.compared, found |= op.compared && hostile.has(op.golden + "/float32");
        if (compared && !found)
            ++wrong, std::cerr << "declared, but not in hostile.safetensors: " << name << '\n';
    }
    if (wrong == 0) std::cout << declared.size() << " operations, " << op_table().size() << " samples\n";
    return wrong != 0;
} catch (const std::exception& error) {
    std::cerr << "op_table_check: " << error.what() << '\n';
    return 1;
}
