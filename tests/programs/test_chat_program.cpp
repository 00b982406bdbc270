// The programs chat, evaluate and generate, with a small random model in a folder as published ones are.
#include <nlohmann/json.hpp>

#include "markdown.h"
#include "places.h"
#include "programs.h"
#include "weft/weft.h"

#ifdef WEFT_PROGRAMS

using namespace weft;

namespace {

struct Published {
    Scratch scratch;
    text::PreTrainedTokenizer tokenizer = text::PreTrainedTokenizer::load(tokens());
    lm::Decoder model;

    Published() : model(made(tokenizer.vocab_size() + 90)) {  // as Qwen's, of more ids than tokens
        lm::save_pretrained(folder(), model);
        std::filesystem::copy(tokens(), scratch / "model/tokenizer.json");
        const nlohmann::json config = {
            {"chat_template", io::load_text(std::filesystem::path(places::golden()) / "chatml.jinja")},
            {"eos_token", "<|im_end|>"}};
        io::save_text(scratch / "model/tokenizer_config.json", config.dump());
    }
    static std::filesystem::path tokens() {
        return std::filesystem::path(places::golden()) / "tokenizers/qwen2.json";
    }
    static lm::Decoder made(std::int64_t V) {
        Rng rng(8);
        const lm::Decoder model({.vocab_size = V, .block_size = 64, .num_layers = 2, .d_model = 16}, rng);
        const NoGrad off;
        for (auto& [name, p] : model.named_parameters()) Tensor(p).add_(randn(p.shape(), rng), 0.3);
        return model;
    }
    std::filesystem::path folder() const { return scratch / "model"; }
    // chat, which reads these lines.
    Result chat(const std::string& lines,
                const std::string& arguments = "--temperature 0 --max_new_tokens 4") const {
        io::save_text(scratch / "lines", lines);
        return run("chat --model " + folder().string() + " " + arguments + " <" + (scratch / "lines").string());
    }
    std::string answer(const std::vector<lm::ChatMessage>& chat) const {
        const text::Ids prompt = lm::ChatTemplate::named("chatml").encode(tokenizer, chat);
        const text::Ids ids = lm::generate(
            model, prompt,
            {.max_new_tokens = 4, .sampling = {.temperature = 0}, .end_ids = tokenizer.end_token_ids()});
        text::Utf8Stream characters;
        std::string text;
        for (const std::int64_t id : ids)
            if (std::ranges::count(tokenizer.end_token_ids(), id) == 0)
                text += characters.push(tokenizer.piece(id));
        return text + characters.finish();
    }
};

}  // namespace

TEST_CASE("chat answers as the library does, keeps what it has read, and obeys its commands", "[programs]") {
    const Published published;
    const std::string hello = published.answer({{"user", "Hello"}});
    const Result one = published.chat("Hello\n");
    CHECK(one.code == 0);
    CHECK(contains(one.output, "keys and values of 64 tokens"));
    CHECK(one.output.ends_with("\n" + hello + "\n"));
    // With another message of the system, after a reset, and what it prints of an answer.
    const std::string told = published.answer({{"system", "Sing"}, {"user", "Hello"}});
    const Result commands = published.chat(
        "Hello\n/reset\n/system Sing\nHello\n/tokens\n/temperature 0.5\n/temperature x\n/sing\n/quit\nHello\n");
    CHECK(contains(commands.output, hello + "\n(a new talk)\n(the model is told: Sing)\n" + told + "\n"));
    CHECK(contains(commands.output, " %  \""));
    CHECK(contains(commands.output, "(temperature 0.5)\n/temperature: "));
    CHECK(
        commands.output.ends_with("commands: /system TEXT  /reset  /temperature X  /tokens  /attention [FILE]  "
                                  "/quit\nCtrl-C stops an answer\n"));
    // The second turn computes what is new alone; when the context is full, the oldest turns go.
    const Result turns =
        published.chat("Hello\nHello\nHello\nHello\nHello\n", "--temperature 0 --max_new_tokens 4 --stats");
    CHECK(contains(turns.output, "of which 0 were kept"));
    CHECK(contains(turns.output, "(the context is full: the oldest 1 turns are dropped)"));
    // A message that is too long changes nothing. CR LF ends a line, too.
    const Result wide = published.chat("Hello\r\n" + std::string(300, 'x') + "\nHello\r\n/quit\r\nHello\n",
                                       "--temperature 0 --max_new_tokens 4 --stats");
    CHECK(contains(wide.output, "tokens, and the context 64: write a shorter one)"));
    const auto turn = [](const Result& talk, int i) {  // what --stats prints after the i-th answer
        std::size_t at = 0;
        while (i-- > 0) at = talk.output.find("tokens, of which ", at + 1);
        return at == std::string::npos ? "none" : talk.output.substr(at, talk.output.find(';', at) - at);
    };
    CHECK(turn(wide, 2) == turn(turns, 2));
    CHECK(turn(wide, 3) == "none");
    // The explorer's page.
    const std::string page = (published.scratch / "page.html").string();
    const Result attention =
        published.chat("/attention\nHello\n/attention " + page + "\n/attention /no/such/folder/page.html\n");
    CHECK(contains(attention.output, "(nothing has been said yet)\n"));
    CHECK(contains(attention.output,
                   "(wrote " + page + ": what each head of 2 layers looked at)\n(cannot write "));
    CHECK(contains(markdown::read(page), "im_start"));

    CHECK(published.chat("Hello\n", "--form chatml --temperature 0 --max_new_tokens 4").output == one.output);
    const Result unknown = published.chat("Hello\n", "--form alpaca");
    CHECK(unknown.code == 1);
    CHECK(contains(unknown.output, "\"alpaca\" is none of chatml, hermes, "));
    const Result unfit = published.chat("Hello\n", "--form llama3");
    CHECK(unfit.code == 1);
    CHECK(contains(unfit.output, "the tokeniser has no token <|start_header_id|>, which llama3 needs"));
    const Result nowhere = published.chat("/system Sing\nHello\n", "--form mistral-v0.2 --max_new_tokens 4");
    CHECK(contains(nowhere.output, "(ChatTemplate: mistral-v0.2 has no place for a message of the system"));
    CHECK(nowhere.code == 0);
    CHECK(published.chat("Hello\n", "--form mistral-v0.2 --system Sing").code == 1);
    io::save_text(published.folder() / "chat_template.jinja", "{{ messages }}");
    const Result foreign = published.chat("Hello\n");
    CHECK(foreign.code == 1);
    CHECK(contains(foreign.output, "is none of those whose form is known"));
    CHECK(contains(foreign.output, "--form NAME): " + lm::ChatTemplate::names()));
    CHECK(published.chat("Hello\n", "--form chatml --temperature 0 --max_new_tokens 4").output == one.output);
    std::filesystem::remove(published.folder() / "chat_template.jinja");
    CHECK(published.chat("Hello\n", "--cache int8").code == 2);
    const std::string config = io::load_text(published.folder() / "config.json");
    io::save_text(published.folder() / "config.json",
                  "{\"chunks\": true," + config.substr(config.find('{') + 1));
    CHECK(contains(published.chat("Hello\n").output, "chunks is true, and Decoder does not know this key"));
    CHECK(published.chat("Hello\n", "--ignore_keys chunks --temperature 0 --max_new_tokens 4").output ==
          one.output);
    io::save_text(published.folder() / "config.json", config);
    CHECK(published.chat("Hello\n", "--precision high").code == 2);
    std::filesystem::remove(published.folder() / "tokenizer_config.json");
    const Result none = published.chat("Hello\n");
    CHECK(none.code == 2);
    CHECK(contains(none.output,
                   "has no template for chats, or none of the name default; if it was trained for "
                   "them, set --form to one of chatml, "));
    // What memory it takes is printed before the weights are read, which are not these.
    io::save_safetensors(published.folder() / "model.safetensors", {{"w", ones({256, 1024})}});
    const Result before = published.chat("Hello\n", "--context 32 --cache float16");
    CHECK(before.code == 1);
    CHECK(before.output.starts_with("weights 1.0 MiB; keys and values of 32 tokens 0.0 MiB\n"));
    CHECK(contains(before.output, "cannot load"));
    const Result planned = run("generate --stats --prompt x --model " + published.folder().string());
    CHECK(planned.output.starts_with(
        "weights   1.0 MiB in the types of the file, and 0.0 MiB for keys and values of 64 tokens\n"));
}

TEST_CASE("evaluate and generate run a published model as the library does", "[programs]") {
    const Published published;
    const std::string text = "The weft crosses the warp, 100 times.\n";
    io::save_text(published.scratch / "text", text);
    const text::Ids ids = published.tokenizer.encode(text);
    const std::string call = " --model " + published.folder().string() + " ",
                      file = (published.scratch / "text").string();
    const std::size_t first = published.tokenizer.piece(ids[0]).size();  // which is not scored
    const auto line = [&](const lm::Likelihood& found) {
        char buffer[200];
        std::snprintf(buffer, sizeof buffer,
                      "%lld tokens, %.4f nats a token, perplexity %.2f, %.2f bits per byte\n",
                      static_cast<long long>(found.tokens), found.mean(), std::exp(found.mean()),
                      found.nats / std::log(2) / static_cast<double>(text.size() - first));
        return std::string(buffer);
    };
    CHECK(run("evaluate" + call + "--text " + file).output == line(lm::log_likelihood(published.model, ids)));
    CHECK(run("evaluate" + call + "--window 6 --stride 2 --text " + file).output ==
          line(lm::log_likelihood(published.model, ids, 6, 2)));
    {
        const Float32MatmulPrecision medium("medium");
        CHECK(contains(run("evaluate" + call + "--precision medium --text " + file).output,
                       line(lm::log_likelihood(published.model, ids))));
    }
    const std::string settings = (published.scratch / "settings").string();
    io::save_text(settings, "window = 6\nstride = 2\nmodel = \"" + published.folder().string() + "\"\n");
    CHECK(run("evaluate --config " + settings + " --text " + file).output ==
          line(lm::log_likelihood(published.model, ids, 6, 2)));
    io::save_text(settings, "window = 6\n");
    CHECK(contains(run("evaluate --config " + settings + " --text " + file).output, "--model is required"));
    CHECK(run("evaluate" + call).code == 2);
    const Result wide = run("evaluate" + call + "--window 100 --text " + file);
    CHECK(wide.code == 1);
    CHECK(contains(wide.output, "a window of 100 tokens; use 2 to 64"));

    const text::Ids more = lm::generate(published.model, published.tokenizer.encode("The"),
                                        {.max_new_tokens = 5, .sampling = {.temperature = 0}});
    text::Utf8Stream characters;
    std::string expected = "The";
    for (const std::int64_t id : more) expected += characters.push(published.tokenizer.piece(id));
    CHECK(run("generate" + call + "--prompt The --max_new_tokens 5 --temperature 0 --ignore_eos").output ==
          expected + characters.finish() + "\n");
    // Without a prompt it goes on after one token, here the end token, which is not shown.
    const text::Ids alone = lm::generate(published.model, {*published.tokenizer.id_of("<|im_end|>")},
                                         {.max_new_tokens = 5, .sampling = {.temperature = 0}});
    std::string begun = characters.push(published.tokenizer.decode(alone));
    begun += characters.finish();
    CHECK(run("generate" + call + "--max_new_tokens 5 --temperature 0 --ignore_eos").output == begun + "\n");
}

#endif
