// Nothing has changed when Weft refuses: every public function that changes something is in the name of a test
// "refused without a change: …" (see tests/support/unchanged.h), or is named below with the reason why not.
#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "catch.h"
#include "markdown.h"

namespace {

std::set<std::string> words_of(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

// The functions that the names of tests list.
std::set<std::string> tested_functions() {
    static const std::regex name(R"rx("refused without a change: ((?:[^"]|"\s+")*)",)rx"), gap(R"("\s+")");
    std::set<std::string> functions;
    for (const auto& path : markdown::files_in("tests", ".cpp")) {
        const std::string text = markdown::read(path);
        for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found)
            functions.merge(words_of(std::regex_replace((*found)[1].str(), gap, "")));
    }
    return functions;
}

// What changes something and needs no test, by reason.
const std::map<std::string, std::string> exempt = {
    {"it refuses nothing",
     "Rng::uniform Rng::normal Rng::reserve Rng::set_state Shape::begin Shape::end Tensor::bump_version "
     "Tensor::zero_grad Tensor::remove_hook Scoped::Scoped Tensor::Iterator::operator++ "
     "DataLoader::Iterator::operator++ KeyValueCache::operator= Utf8Stream::push Utf8Stream::finish "
     "read_number ErrorList::add Error::locate RngGuard::RngGuard Pace::step Pace::evaluated"},
    {"what is watched has no other way to tell it",
     "Observer::begins Observer::ends Observer::computes Observer::records Observer::names Observer::moves "
     "Observer::allocates Observer::starts Observer::passes Observer::visits"},
    {"it gives what may then be changed",
     "ModuleList::begin ModuleList::end ModuleList::operator[] Sequential::at"},
    {"it is a deduction guide", "DataLoader"},
    {"the file that it reads or writes is its own",
     "AtomicFile::write AtomicFile::commit InputFile::seek InputFile::take Profile::save_trace"},
    {"a refusal by several processes ends them all",
     "Group::all_gather Group::agree Group::barrier Group::at_step Group::transport evaluate"},
    {"it collects what is wrong, which is refused together",
     "KeyReader::KeyReader KeyReader::choice KeyReader::finish KeyReader::flag KeyReader::ignore "
     "KeyReader::number KeyReader::optional_number KeyReader::size KeyReader::take KeyReader::within "
     "KeyReader::wrong"},
    {"it prints, and what was printed stays printed",
     "Progress::step Progress::evaluated Progress::print Progress::warn"},
};

// ---- what the headers declare

std::string without_comments(const std::string& text) {
    return std::regex_replace(std::regex_replace(text, std::regex("//[^\n]*"), ""), std::regex("(^|\n)#[^\n]*"),
                              "");
}

// The names of functions that change something: member functions without const, functions that take a reference
// without const (except streams), and writers, whose names begin with "save" or "write".
class Changers {
public:
    std::set<std::string> names;

    // The declarations of a namespace or of the class `owner`.
    void read(const std::string& text, const std::string& owner, bool is_public) {
        std::string declaration;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == ';') {
                if (is_public) add(std::exchange(declaration, {}), owner);
                declaration.clear();
            } else if (text[i] == ':' && ends_in_access(declaration)) {
                is_public = declaration.find("private") == std::string::npos;
                declaration.clear();
            } else if (text[i] == '{') {
                const std::size_t end = closing(text, i);
                open(text.substr(i + 1, end - i - 1), declaration, owner, is_public);
                i = end;
            } else {
                declaration += text[i];
            }
        }
    }

private:
    static bool ends_in_access(const std::string& declaration) {
        static const std::regex access("\\s*(public|private|protected)");
        return std::regex_match(declaration, access);
    }
    static std::size_t closing(const std::string& text, std::size_t i) {
        for (int depth = 0; i < text.size(); ++i) {
            depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
            if (depth == 0) return i;
        }
        return text.size();
    }
    // Something in braces, after `declaration`: a namespace, a class, a body or a default argument.
    void open(const std::string& body, std::string& declaration, const std::string& owner, bool is_public) {
        static const std::regex type(
            R"(\s*(template\s*<[^{;]*>\s*)?(class|struct)\s+(\[\[\w+\]\]\s*)?(\w+)[^;(]*)"),
            space(R"(\s*namespace\b[^{]*)"), list(R"(\s*enum\b[^]*)");
        std::smatch found;
        if (std::count(declaration.begin(), declaration.end(), '(') !=
            std::count(declaration.begin(), declaration.end(), ')')) {
            declaration += "{}";
            return;
        }
        if (std::regex_match(declaration, space))
            read(body, owner, true);
        else if (std::regex_match(declaration, found, type)) {
            if (is_public)
                read(body, (owner.empty() ? "" : owner + "::") + found[4].str(), found[2] == "struct");
        } else if (is_public && !std::regex_match(declaration, list)) {
            add(declaration, owner);
        }
        declaration.clear();
    }
    void add(std::string text, const std::string& owner) {
        static const std::regex angles("<[^<>]*>"),
            skipped(R"(\s*(template\s*)?(using|friend|extern|static_assert|enum|concept)\b[^]*)"),
            defaulted(R"(=\s*(delete|default)\s*$)"),
            function(R"((operator\s*(\(\)|\[\]|[^\s\w(]+)|~?\w+)\s*\()"),
            changed(R"((^|,)\s*(?!const\b)([\w:]+)\s*&(?!&))");
        for (std::string shorter; (shorter = std::regex_replace(text, angles, "")) != text;) text = shorter;
        text = std::regex_replace(text, std::regex(R"(\brequires\s*\(.*?\)\s*(?=\w))"), "");
        std::smatch found;
        text.erase(0, text.find_first_not_of(" \n"));
        if (std::regex_match(text, skipped) || text.starts_with(',') || std::regex_search(text, defaulted) ||
            !std::regex_search(text, found, function))
            return;
        const std::string before = found.prefix(), rest = found.suffix();
        std::string name = found[1];
        name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
        std::size_t end = 0;
        for (int depth = 1; end < rest.size() && depth > 0; ++end)
            depth += rest[end] == '(' ? 1 : rest[end] == ')' ? -1 : 0;
        const std::string parameters = rest.substr(0, end - 1), tail = rest.substr(end);
        bool changes = name.starts_with("save") || name.starts_with("write");
        for (std::sregex_iterator at(parameters.begin(), parameters.end(), changed), last; at != last; ++at)
            changes = changes || !(*at)[2].str().ends_with("ostream");
        const bool is_constructor = name == owner.substr(owner.rfind(':') + 1);
        if (!owner.empty() && !is_constructor && name[0] != '~' && before.find("static") == std::string::npos)
            changes = changes || !std::regex_search(tail, std::regex(R"(^\s*const\b)"));
        if (changes) names.insert((owner.empty() ? "" : owner + "::") + name);
    }
};

std::set<std::string> changers() {
    Changers found;
    for (const auto& path : markdown::files_in("include/weft", ".h"))
        found.read(without_comments(markdown::read(path)), "", true);
    return found.names;
}

}  // namespace

TEST_CASE("every public function that changes something is refused in a test that watches it",
          "[fault][unchanged]") {
    const std::set<std::string> tested = tested_functions();
    std::set<std::string> known = tested;
    for (const auto& [reason, names] : exempt)
        for (const std::string& name : words_of(names)) {
            INFO(name << " needs no test because " << reason);
            CHECK(!tested.contains(name));
            known.insert(name);
        }
    const std::set<std::string> declared = changers();
    CHECK(declared.size() > 130);
    for (const std::string& name : declared) {
        INFO(name << " changes something: test it in tests/*/test_unchanged_*.cpp");
        CHECK(known.contains(name));
    }
    // A test of what the headers no longer declare, except what changes something through a handle.
    const std::set<std::string> by_handle = {"Tensor::backward",
                                             "grad",
                                             "GradientLedger",
                                             "batch_norm",
                                             "sample",
                                             "generate",
                                             "clip_grad_norm",
                                             "update",
                                             "Optimizer::Optimizer",
                                             "ParameterSlots::ParameterSlots",
                                             "OutputFolder::OutputFolder",
                                             "scaled_dot_product_attention",
                                             "KeyValueCache::KeyValueCache"};
    for (const std::string& name : known) {
        INFO(name << " is not declared, or changes nothing");
        CHECK((declared.contains(name) || by_handle.contains(name)));
    }
}
