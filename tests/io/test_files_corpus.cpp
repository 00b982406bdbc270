// Every file of the fuzzers' corpus through its reader: what once did harm stays a refusal.
#include <map>

#include "catch.h"
#include "fuzz/readers.h"
#include "places.h"
#include "programs.h"

using namespace weft;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> corpus(const std::string& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(places::source()) / "tests/fuzz/corpus" / folder))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

// A part of what is said about a file; nothing where it is good.
const std::map<std::string, std::string> said = {
    {"npy/float32.npy", ""},
    {"npy/float16.npy", ""},
    {"npy/no_comma.npy", "has a number as its shape"},
    {"npy/leading_zero.npy", "should have a size at position"},
    {"npy/minus_zero.npy", "should have a size at position"},
    {"npy/overflow.npy", "overflows"},
    {"npy/overflow_wide.npy", "overflows"},
    {"npy/escape.npy", "\\x1b[2J"},
    {"npz/savez_compressed.npz", ""},
    {"npz/zip64.npz", ""},
    {"npz/zero_byte.npz", "a name with a zero byte"},
    {"npz/not_utf8.npz", "a name that is not UTF-8"},
    {"npz/bomb.npz", "unpack to tensors of 32000000"},
    {"npz/no_array.npz", "\\x1b[2J.txt\" is not an array"},
    {"safetensors/python.safetensors", ""},
    {"safetensors/half.safetensors", ""},
    {"safetensors/spaces.safetensors", ""},
    {"safetensors/types.safetensors", ""},
    {"safetensors/zero_byte.safetensors", "a zero byte"},
    {"safetensors/mark.safetensors", "does not begin with"},
    {"safetensors/nested.safetensors", "nested too deeply"},
    {"safetensors/twice.safetensors", "has \"x\" twice"},
    {"safetensors/overflow.safetensors", "overflows"},
    {"safetensors/escape.safetensors", "tensor \"\\x1b[2J\\x00\""},
    {"safetensors/huge_number.safetensors", "a number that is too large: 1e999"},
    {"gguf/metadata.gguf", ""},
    {"gguf/tensors.gguf", ""},
    {"gguf/blocks.gguf", ""},
    {"gguf/version2.gguf", ""},
    {"gguf/big_endian.gguf", "it is big-endian"},
    {"gguf/many_keys.gguf", "it claims 9223372036854775808 entries of metadata"},
    {"gguf/many_elements.gguf", "it claims 2305843009213693952 elements"},
    {"gguf/long_string.gguf", "it claims 18446744073709551608 bytes of a string"},
    {"gguf/nested.gguf", "it is an array of arrays"},
    {"gguf/twice.gguf", "\"general.architecture\": it is there twice"},
    {"gguf/overflow.gguf", "its dimensions overflow"},
    {"gguf/far.gguf", "at 18446744073709551584 reach past the file's end"},
    {"gguf/overlap.gguf", "\"b\": its values overlap"},
    {"gguf/alignment.gguf", "its general.alignment is 24"},
    {"gguf/no_columns.gguf", ""},
    {"gguf/escape.gguf", "key \"\\x1b[2J\\x00\": its type is 13"},
    {"gguf/rank.gguf", "it has 4294967295 dimensions"},
    {"index/two.json", ""},
    {"index/one.json", ""},
    {"index/empty.json", ""},
    {"index/parent.json", "\"../b.safetensors\", which is no name"},
    {"index/zero_byte.json", "which is no name"},
    {"index/no_map.json", "it has no object"},
    {"index/number.json", "whose file is not a string"},
    {"index/missing.json", "c.safetensors: no such file"},
    {"index/other.json", "tensor \"y\" should be in"},
    {"index/unnamed.json", "tensor \"y\" is not in the index"},
    {"index/lacks.json", "it lacks tensor \"w\""},
    {"index/itself.json", "it is not a safetensors file, or is damaged"},
    {"index/escape.json", "tensor \"\\x1b[2J\", whose file"},
    {"config/gpt2.json", "0 tensors are too few for 2 layers"},  // compared with no tensors at all
    {"config/mark.json", "0 tensors are too few for 2 layers"},
    {"config/many_layers.json", "0 tensors are too few for 10000 layers"},
    {"config/zero_byte.json", "a zero byte"},
    {"config/nested.json", "nested too deeply"},
    {"config/twice.json", "has \"n_embd\" twice"},
    {"config/escape.json", "model_type is \"\\u001b[2J\\u202e\""},
    {"config/list.json", "is not a JSON object"},
    {"byte_pairs/bytes.txt", ""},
    {"byte_pairs/merges.txt", ""},
    {"byte_pairs/unmade.txt", "neither bytes nor special nor made by a merge"},
    {"byte_pairs/twice.txt", "the merge is repeated"},
    {"byte_pairs/escape.txt", "the token \"\\x1b[2J\" is empty or has a character"},
    {"utf8/utf8", ""},
    {"utf8/broken", "not UTF-8"},
    {"tokenizer/broken", "the text is not UTF-8"},
    {"report/trained.json", ""},
    {"report/stride.json", "it has 4611686018427387904 instead of a whole number"},
    {"report/no_bins.json", "it has 0 instead of a whole number"},
    {"report/steps_back.json", "steps that do not fit their bins"},
    {"report/many_heads.json", "it has 4611686018427387904 instead of a whole number"},
    {"report/no_heads.json", "the number of weights does not fit the sentence"},
    {"report/end_far.json", "it has 9223372036854775807 instead of a whole number"},
    {"report/nested.json", "nested too deeply"},
    {"report/nested_format.json", "nested too deeply"},
    {"report/nested_whole.json", "nested too deeply"},
    {"report/twice.json", "has \"format\" twice"},
    {"report/zero_byte.json", "a zero byte"},
    {"page_model/small.json", ""},
    {"page_model/decoder.json", ""},
    {"page_model/option.json", "it has \"\\x1b[2J\" as norm, which is none of the options"},
    {"page_model/scaling.json", "the factor is 0; it must be finite and above 0"},
    {"page_model/left_out.json", "the page carries no weights"},
    {"page_model/format.json", "its format is \"weft model 9\""},
    {"page_model/cut.json", "6 bytes instead of 6 numbers"},
    {"page_model/overflow.json", "bytes instead of"},
    {"page_model/many_layers.json", "too few for 1000000 layers"},
    {"page_model/vocabulary.json", "the tokenizer has 4 characters"},
    {"page_model/escape.json", "\\x1b[2J"},
    {"pretrained/bytes.json", ""},
    {"pretrained/metaspace.json", ""},
    {"pretrained/gemma.json", ""},
    {"pretrained/steps.json", "takes too many steps on this text"},
    {"pretrained/pattern.json", "uses \\1, which is not supported"},
    {"pretrained/merge.json", "is not of two tokens that make a third"},
    {"pretrained/twice.json", "has the id 1, which another token has"},
    {"pretrained/far.json", "the id of \"<s>\" is 1099511627776"},
    {"pretrained/escape.json", "\\x1b[2J"},
    {"gzip/text.gz", ""},
    {"gzip/two.gz", ""},
    {"gzip/plain", ""},
    {"gzip/cut.gz", "was cut short"},
    {"gzip/more.gz", "a damaged gzip file"},
    {"gzip/checksum.gz", "a damaged gzip file"},
    {"checkpoint/trained.safetensors", ""},
    {"checkpoint/many_layers.safetensors", "too few for 1000 layers"},
    {"checkpoint/wide.safetensors", "but the module's is (3, 1000000)"},
    {"checkpoint/long.safetensors", "but the module's is (1000000, 2)"},
    {"checkpoint/no_step.safetensors", "it does not say its step"},
    {"checkpoint/bias.safetensors", "\"maybe\" is neither true nor false"},
    {"checkpoint/escape.safetensors", "\\x1b[2J\\x00"},
    {"checkpoint/no_metadata.safetensors", "it contains none of a run's settings"},
    {"history/trained.csv", ""},
    {"history/nan.csv", ""},
    {"history/escape.csv", "\\x1b[2J\\x00"},
    {"history/not_a_number.csv", "line "},
};

void check_said(const std::string& name, const std::string& refusal) {
    const auto found = said.find(name);
    if (found == said.end()) return;
    INFO(refusal);
    if (found->second.empty())
        CHECK(refusal.empty());
    else
        CHECK(contains(refusal, found->second));
}

}  // namespace

TEST_CASE("every file of the corpus is read as it should be, or refused", "[io][corpus]") {
    for (const auto& [folder, read] : fuzz::readers) {
        const std::vector<fs::path> files = corpus(folder);
        CHECK(files.size() >= 5);
        for (const fs::path& file : files) {
            const std::string name = folder + ("/" + file.filename().string());
            INFO(name);
            std::string refusal;
            REQUIRE_NOTHROW(refusal = read(io::load_text(file)));
            check_said(name, refusal);
        }
    }
    for (const auto& [name, words] : said) {  // no name that stands for nothing
        INFO(name);
        CHECK(fs::exists(fs::path(places::source()) / "tests/fuzz/corpus" / name));
    }
}

#ifdef WEFT_PROGRAMS

TEST_CASE("every checkpoint and loss.csv of the corpus is gone on from, or refused",
          "[programs][train][corpus]") {
    const auto ends = [](const std::string& name, const std::string& program) {
        INFO(name);
        const Result result = run(program + " 2>&1 >/dev/null");  // what it says on standard error
        CHECK((result.code == 0 || result.code == 1));
        CHECK_NOTHROW(fuzz::checked(result.output));
        check_said(name, result.code == 0 ? "" : result.output);
    };
    const Scratch scratch;
    for (const fs::path& file : corpus("checkpoint")) {
        fs::copy_file(file, scratch / "model.safetensors", fs::copy_options::overwrite_existing);
        ends("checkpoint/" + file.filename().string(),
             "train_gpt --sample_only --max_new_tokens 1 " + in(scratch));
    }
    const Scratch data;
    std::string text;
    for (int i = 0; i < 400; ++i) text += "ab\n";
    io::save_text(data / "text", text);
    const fs::path trained = fs::path(places::source()) / "tests/fuzz/corpus/checkpoint/trained.safetensors";
    for (const fs::path& file : corpus("history")) {
        fs::copy_file(trained, scratch / "model.safetensors", fs::copy_options::overwrite_existing);
        fs::copy_file(file, scratch / "loss.csv", fs::copy_options::overwrite_existing);
        ends("history/" + file.filename().string(), "train_gpt --resume --steps 7 --max_new_tokens 0 --text " +
                                                        (data / "text").string() + " " + in(scratch));
    }
}

#endif
