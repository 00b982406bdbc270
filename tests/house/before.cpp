// A program of the edition before: every header that moved and every name that changed, as they were.
// tests/CMakeLists.txt compiles it without the warnings that these names give, and tests/house/test_before.cpp
// runs it and reads which of them are here.
#include "weft/core/autograd.h"
#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/core/heads.h"
#include "weft/core/ledger.h"
#include "weft/core/mask.h"
#include "weft/core/more.h"
#include "weft/core/ops.h"
#include "weft/core/random.h"
#include "weft/core/shape.h"
#include "weft/core/tensor.h"
#include "weft/core/text.h"
#include "weft/core/threads.h"
#include "weft/core/trace.h"
#include "weft/dist/evaluate.h"
#include "weft/models.h"
#include "weft/models/generate.h"
#include "weft/models/gpt.h"
#include "weft/models/gpt2.h"
#include "weft/models/io.h"
#include "weft/models/sample.h"
#include "weft/models/tokenizer.h"
#include "weft/nn/check.h"
#include "weft/nn/check/attention.h"
#include "weft/nn/check/mask_oracle.h"
#include "weft/nn/optim.h"
#include "weft/train.h"
#include "weft/train/checkpoint.h"
#include "weft/train/corpus.h"
#include "weft/train/data.h"
#include "weft/train/folder.h"
#include "weft/train/history.h"
#include "weft/train/interrupt.h"
#include "weft/train/loop.h"
#include "weft/train/numbers.h"
#include "weft/train/progress.h"
#include "weft/train/report.h"
#include "weft/train/terminal.h"
#include "weft/viz/report.h"

using namespace weft;

std::string names_before();

std::string names_before() {
    const text::Characters tokenizer("ab ba");
    const nn::GPTConfig config{
        .vocab_size = tokenizer.vocab_size(), .block_size = 4, .num_layers = 1, .num_heads = 1, .d_model = 4};
    Rng rng(1);
    const nn::GPT model(config, rng);
    const nn::MultiHeadAttentionOptions heads{.bias = true, .fused = false, .dropout = 0.1, .num_kv_heads = 1};
    const nn::CausalMultiHeadAttentionOptions causal{.max_seq_len = 4, .bias = true, .dropout = 0.1};
    if (nn::MultiHeadAttention(4, 2, heads).dropout != nn::CausalMultiHeadAttention(4, 2, causal).dropout)
        return "dropout";
    nn::check_state_dict(config, model.state_dict());
    Rng draws(2);
    const nn::SampleOptions sampling{.temperature = 1, .rng = &draws};
    const nn::GenerateOptions options{.max_new_tokens = 3, .sampling = sampling};
    const text::Ids ids = nn::generate(model, tokenizer.encode("ab"), options);
    const nn::GenerateTextOptions text_options{.generate = options};
    const nn::GeneratedText generated = nn::generate_text(model, tokenizer, "ab", text_options);
    std::string said = text::chars(nn::sample(ones({3}), {.temperature = 0})) + " " + text::number(0.25) + " " +
                       text::index(2, {2, 2}) + " " + text::excerpt("one\ntwo") + " " +
                       std::to_string(ids.size() + generated.ids.size());
    double read = 0;
    if (text::read(std::string_view("0.5,"), read).ptr == nullptr) said += "?";
    text::append_utf8(said, U'β');
    const text::Decoded last = text::decode_at(said, said.size() - 2);
    std::size_t at = 0;
    if (!text::is_utf8(said) || text::is_hidden(last.value) || text::displayed(said, at).empty()) said += "?";
    int threads = 0;
    said += training::read_number("8", 1, 64, threads) +
            std::to_string(training::number_of<std::int64_t>("n", "3"));

    viz::Report report("before");
    report.loss(1, viz::ReportLoss{.training = 0.5});
    report.run(viz::ReportRun{.steps = 1});
    report.model(model, tokenizer);
    const viz::PageModel page = report.model();
    if (page.decoder.num_parameters() != model.num_parameters()) said += "?";

    dist::Group group;
    const std::vector<training::Batch> batches{{tensor({{0, 1}}), tensor({{1, 0}})}};
    const auto loss_of = [&](const training::Batch& b) { return cross_entropy(model(b.inputs), b.targets); };
    if (dist::evaluate(batches, loss_of, group) != training::evaluate(batches, loss_of)) said += "?";

    const std::filesystem::path nowhere = "no such folder";
    for (const auto& refused : std::vector<std::function<void()>>{
             [&] { (void)nn::load_gpt2(nowhere, nn::GPT2Options()); }, [&] { (void)nn::gpt2_config(nowhere); },
             [&] { (void)nn::from_gpt2({}, config); }})
        try {
            refused();
            said += "?";
        } catch (const Error&) {
        }
    return said;
}
