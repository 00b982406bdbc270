// Looking inside a Decoder, by hooks on its modules: what its blocks would predict, which heads a prediction
// needs, and where in the model two prompts differ. T tokens, L layers, H heads, D = head_dim, C = d_model, V
// vocabulary. Each runs in evaluation mode and under NoGrad, and leaves no hook behind; hooks that are there
// act, too.
#pragma once

#include "weft/lm/decoder.h"
#include "weft/text/tokenizer.h"

namespace weft::lm {

// The logit lens: the logits of the token after T ids that the model would give if it ended after each of its
// blocks. Row l is lm_head(norm(h)), with the soft cap if there is one, of the last token's h (C,) out of
// layers[l] → (L, V). Row L − 1 is the model's own. (nostalgebraist, "interpreting GPT: the logit lens", 2020.)
//
//     const Tensor lens = lm::logit_lens(model, {1, 2, 0});  // (L, V)
//     const Tensor likeliest = argmax(lens, 1);              // (L,), a token for each layer
//
// ValueError for no ids; what the model refuses.
Tensor logit_lens(const Decoder& model, const text::Ids& ids);

// What the prediction of a token loses without each head, by zero ablation → (L, H), float64:
// e[l, h] = ln p(token | ids, head h of layer l switched off) − ln p(token | ids). Switched off means that the
// D columns of the head in what layers[l].self_attn.heads returns are 0 at each position. A head with e < 0
// helps. (Michel, Levy and Neubig, "Are sixteen heads really better than one?", 2019, §3.) A pass for each
// layer, over a batch of H.
//
//     const Tensor effects = lm::head_effects(model, {1, 2, 0}, 1);  // (L, H)
//     const double lost = min(effects).item();                       // by the head it needs most
//
// ValueError for no ids, IndexError for a token outside 0 … V − 1; what the model refuses.
Tensor head_effects(const Decoder& model, const text::Ids& ids, std::int64_t token);

// Where the model holds what tells two prompts apart, by activation patching → (L, T), float64. The model runs
// on `ids` with the output h[t] (C,) of layers[l] at position t replaced by that of a run on `other`. With d =
// the logit of other_token − that of token, for the token after the prompt, e[l, t] = (d(patched) − d(ids)) /
// (d(other) − d(ids)): 0 is the prediction for `ids` and 1 that for `other`, to rounding; e[L − 1, T − 1] is 1.
// (Meng et al., "Locating and editing factual associations in GPT", 2022, §2, where the run that is patched
// has noise in its embeddings.) A pass for each layer, over a batch of T.
//
//     const Tensor moved = lm::patch_effects(model, {1, 2, 0}, {1, 3, 0}, 1, 2);  // (L, T)
//     const double at_the_end = moved[-1][-1].item();                             // about 1
//
// ValueError for no ids, prompts of different lengths, and where d is the same for both; IndexError for a token
// outside 0 … V − 1; what the model refuses.
Tensor patch_effects(const Decoder& model, const text::Ids& ids, const text::Ids& other, std::int64_t token,
                     std::int64_t other_token);

}  // namespace weft::lm
