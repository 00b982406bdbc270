// Reads back what an SVG picture shows: a strict little reader of tags, so that a picture that is not
// well-formed fails.
#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct SvgTag {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string text;  // directly within, unescaped
    std::vector<SvgTag> children;
    double number(const std::string& attribute) const {
        const std::string& value = attributes.at(attribute);
        std::size_t used = 0;
        const double number = std::stod(value, &used);
        if (used != value.size()) throw std::runtime_error(attribute + " is no number: " + value);
        return number;
    }
    bool has(const std::string& attribute, const std::string& value) const {
        const auto found = attributes.find(attribute);
        return found != attributes.end() && found->second == value;
    }
    // Every tag of this name below, in the order of the file.
    std::vector<const SvgTag*> all(const std::string& wanted) const& {
        std::vector<const SvgTag*> found;
        for (const SvgTag& child : children) {
            if (child.name == wanted) found.push_back(&child);
            for (const SvgTag* deeper : child.all(wanted)) found.push_back(deeper);
        }
        return found;
    }
    std::vector<const SvgTag*> all(const std::string&) && = delete;  // they would point into what is gone
};

class SvgReader {
public:
    explicit SvgReader(const std::string& text) : text_(text) {}
    SvgTag read() {
        SvgTag tag = element();
        skip_space();
        if (at_ != text_.size()) fail("something after the last tag");
        return tag;
    }

private:
    const std::string& text_;
    std::size_t at_ = 0;

    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error(what + " near \"" + text_.substr(at_, 60) + "\"");
    }
    bool next_is(const std::string& part) const { return text_.compare(at_, part.size(), part) == 0; }
    void expect(const std::string& part) {
        if (!next_is(part)) fail("expected " + part);
        at_ += part.size();
    }
    void skip_space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    std::string word() {
        const std::size_t from = at_;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' || text_[at_] == ':'))
            ++at_;
        if (at_ == from) fail("expected a name");
        return text_.substr(from, at_ - from);
    }
    std::string unescaped(char end) {
        static const std::map<std::string, char> entities = {
            {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
        std::string result;
        for (; at_ < text_.size() && text_[at_] != end; ++at_) {
            if (text_[at_] == '<') fail("a bare <");
            if (static_cast<unsigned char>(text_[at_]) < 0x20 && text_[at_] != '\n')
                fail("a control character");
            if (text_[at_] != '&') {
                result += text_[at_];
                continue;
            }
            const std::size_t semicolon = text_.find(';', at_);
            const auto found = entities.find(text_.substr(at_ + 1, semicolon - at_ - 1));
            if (found == entities.end()) fail("a bare &");
            result += found->second;
            at_ = semicolon;
        }
        return result;
    }
    SvgTag element() {
        expect("<");
        SvgTag tag;
        tag.name = word();
        for (skip_space(); !next_is(">") && !next_is("/>"); skip_space()) {
            const std::string attribute = word();
            expect("=\"");
            if (!tag.attributes.emplace(attribute, unescaped('"')).second) fail("twice " + attribute);
            expect("\"");
        }
        if (next_is("/>")) {
            at_ += 2;
            return tag;
        }
        expect(">");
        while (!next_is("</")) {
            if (at_ >= text_.size()) fail(tag.name + " is not closed");
            if (next_is("<"))
                tag.children.push_back(element());
            else
                tag.text += unescaped('<');
        }
        expect("</" + tag.name + ">");
        return tag;
    }
};

inline SvgTag read_svg(const std::string& text) { return SvgReader(text).read(); }
