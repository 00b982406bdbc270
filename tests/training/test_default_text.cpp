// The default text of train_gpt, and texts that gzip packed.
#include <zlib.h>

#include <algorithm>
#include <set>

#include "../examples/default_text.h"
#include "catch.h"
#include "environment.h"
#include "markdown.h"
#include "places.h"
#include "weft/io/files.h"
#include "weft/io/npy.h"
#include "weft/io/safetensors.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

std::string packed(const std::string& text) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string bytes(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(bytes.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    bytes.resize(stream.total_out);
    deflateEnd(&stream);
    return bytes;
}

// In the form of the Jargon File: its headings, lists, entries, tables and code.
const std::string dictionary = R"(                        The Weaver's File

   Table of Contents

   1. Of looms

Chapter 1. Of looms

   A loom holds the warp under tension, and the weaver passes the {weft}
   through it — row by row, as “every apprentice” knows.

   • selvedge

   :shuttle: /shuh´tl/, n.

   1. [very common; from ‘to shoot’] n. A tool that carries the {weft} from one
   side of the {loom} to the other and back.

   2. vt.,obs. [dialect] To move to and fro without any rest,
   as weavers' shuttles do all day.

   See {loom}.

   throw(shuttle, &loom) if it is at rest and nobody looks at the cloth;

     This block is indented further than the paragraphs around it are, so it is left out.

   ┌──────┬──────────────────────────────────────────────────────────┐
   │ ends │ This is a row of a table, although it ends like a sentence. │
   └──────┴──────────────────────────────────────────────────────────┘

   A paragraph with a formula, 2 + 2 = 4, is left out for its characters.
)";

const std::string paragraphs =
    "A loom holds the warp under tension, and the weaver passes the weft through it - row by row, as \"every "
    "apprentice\" knows.\n"
    "A tool that carries the weft from one side of the loom to the other and back.\n"
    "To move to and fro without any rest, as weavers' shuttles do all day.\n";

const std::string page = R"(# A heading that is as long as a sentence, and that even ends like one.

The [weft](https://example.org/weft) is **the thread** that `weave()` passes
through the *whole* cloth.

| a table | A row of it that is long enough, and that ends like a sentence. |
|---|---|

```cpp
This line of code is long enough, begins like a sentence and ends like one, too.
```
    This line is indented by four spaces, so it is code as well, although it ends so.
- The first item of a list is a sentence of its own, long enough to learn from.
- The second one goes on in the line that follows,
  to its end.

<!-- A comment is not a part of the text, however long it is and however it may end. -->
![A picture is not a part of the text, however long what it shows may be described.](a.svg)
)";

const std::string page_text =
    "The weft is the thread that weave() passes through the whole cloth.\n"
    "The first item of a list is a sentence of its own, long enough to learn from.\n"
    "The second one goes on in the line that follows, to its end.\n";

}  // namespace

TEST_CASE("of the Jargon File its prose is kept, one paragraph a line, in ASCII", "[train]") {
    CHECK(default_text::jargon_prose(dictionary) == paragraphs);
    CHECK(default_text::jargon_prose("").empty());
}

TEST_CASE("of a page in Markdown its prose is kept", "[train]") {
    CHECK(default_text::markdown_prose(page) == page_text);
}

TEST_CASE("the default text is the first Jargon File that exists, packed or not, or the project's pages",
          "[train]") {
    const Scratch scratch;
    io::save_text(scratch / "jargon.gz", packed(dictionary));
    const default_text::Source jargon =
        default_text::load(scratch.folder(), {scratch / "missing", scratch / "jargon.gz"});
    CHECK(jargon.title == "The Jargon File");
    CHECK(jargon.text == paragraphs);
    CHECK(jargon.warning.empty());

    fs::create_directories(scratch / "docs" / "more");
    io::save_text(scratch / "README.md", page);
    io::save_text(scratch / "docs" / "more" / "b.md", page);
    io::save_text(scratch / "docs" / "a.svg", page);
    const default_text::Source pages = default_text::load(scratch.folder(), {scratch / "missing"});
    CHECK(pages.title == "Weft's book");
    CHECK(pages.text == page_text + page_text);
    CHECK(contains(pages.warning, "install Debian's package jargon-text"));
}

TEST_CASE("the project's own pages, and the Jargon File where it is, leave enough clean prose", "[train]") {
    const auto marks = [](const std::string& text) { return text.find_first_of("|`*#<>{}_=$\\\t\x80"); };
    const default_text::Source pages = default_text::load(places::source(), {});
    CHECK(pages.text.size() > 80'000);
    CHECK(marks(pages.text) == std::string::npos);
    for (const fs::path& path : default_text::places(places::source()))
        if (fs::exists(path)) {
            const default_text::Source jargon = default_text::load(places::source(), {path});
            CHECK(jargon.text.size() > 1'000'000);
            CHECK(marks(jargon.text) == std::string::npos);
            CHECK(text::Characters(jargon.text).vocab_size() < 90);
            CHECK(contains(jargon.text,
                           "\nOriginally, a quick job that produces what is needed, but not well.\n"));
            CHECK_FALSE(contains(jargon.text, ":hack:"));
        }
}

TEST_CASE("a text that gzip packed is unpacked, and one that is damaged refused", "[train][fault]") {
    const Scratch scratch;
    const fs::path path = scratch / "text.gz";
    const auto read = [&](const std::string& bytes) {
        io::save_text(path, bytes);
        return training::read_text({path});
    };
    const auto refusal = [&](const std::string& bytes) {
        return message_of<IoError>([&] { (void)read(bytes); });
    };
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += std::to_string(i % 997 * i % 7919) + (i % 9 == 0 ? ".\r\n" : " ");
    std::string unix_text = text;
    std::erase(unix_text, '\r');
    const std::string bytes = packed(text);
    CHECK(read(bytes) == unix_text);
    CHECK(read(packed("one ") + packed("two")) == "one two");
    CHECK(read("\x1F") == "\x1F");

    std::string damaged = bytes;
    damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // in the checksum
    CHECK(contains(refusal(damaged), "text.gz: it is a damaged gzip file; fetch it again"));
    CHECK(contains(refusal("\x1F\x8B text"), "damaged gzip file"));
    CHECK(contains(refusal(bytes + "more"), "damaged gzip file"));
    for (const std::size_t size : {std::size_t{2}, std::size_t{9}, bytes.size() / 2, bytes.size() - 1})
        CHECK(contains(refusal(bytes.substr(0, size)), "a gzip file that was cut short; fetch it again"));
    CHECK(contains(refusal(packed(std::string(8 << 20, 'a'))),
                   "unpacks to more than 200 times its size; unpack it with gunzip first"));
    CHECK(contains(refusal(packed("")), "it is empty"));
    CHECK(contains(refusal(packed("\xFF")), "not UTF-8"));
}
