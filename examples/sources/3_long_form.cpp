// "Multi-Head Attention" by Michael Gethers, section by section.
//
// B sequences, T tokens, h = n_heads heads, d_k = d_model / h.
#include <cmath>
#include <iostream>

#include "companion.h"

using namespace weft;

namespace {

const std::vector<std::string> sentence{"the", "creek",  "was", "cold", "and",  "the", "spunky",
                                        "dog", "wanted", "to",  "jump", "over", "it"};
constexpr std::int64_t T = 13, d_model = 512, h = 8, d_k = d_model / h;
constexpr int the = 0, creek = 1, was = 2, cold = 3, the_again = 5, jump = 10, it = 12;  // positions

// ---- Implementation

// Q, K, V (…, T, d_k), mask (…, T, T) or undefined → (…, T, d_k)
Tensor scaled_dot_product_attention(const Tensor& Q, const Tensor& K, const Tensor& V, const Tensor& mask) {
    Tensor scaled = Q.matmul(K.transpose(-1, -2)) / std::sqrt(static_cast<double>(Q.size(-1)));  // (…, T, T)
    if (mask.defined()) scaled = scaled.masked_fill(mask, -INFINITY);
    return scaled.softmax(-1).matmul(V);
}

struct MultiHeadAttention : nn::Module {
    // Static components
    std::int64_t d_model, n_heads, d_k;
    // Learnable components
    nn::Linear w_q, w_k, w_v, w_o;

    explicit MultiHeadAttention(std::int64_t d_model = 512, std::int64_t n_heads = 8)
        : Module("MultiHeadAttention"),
          d_model(d_model),
          n_heads(n_heads),
          d_k(nn::head_dim(d_model, n_heads, "MultiHeadAttention")),
          w_q(register_module("w_q", nn::Linear(d_model, d_model))),
          w_k(register_module("w_k", nn::Linear(d_model, d_model))),
          w_v(register_module("w_v", nn::Linear(d_model, d_model))),
          w_o(register_module("w_o", nn::Linear(d_model, d_model))) {}

    Tensor forward(const Tensor& X, Tensor mask = {}) const {
        const std::int64_t B = X.size(0), T = X.size(-2);
        const Tensor q_full = w_q(X), k_full = w_k(X), v_full = w_v(X);  // (B, T, d_model)

        const Tensor q = q_full.view(B, T, n_heads, d_k).permute(0, 2, 1, 3);  // (B, h, T, d_k)
        const Tensor k = k_full.view(B, T, n_heads, d_k).permute(0, 2, 1, 3);  // (B, h, T, d_k)
        const Tensor v = v_full.view(B, T, n_heads, d_k).permute(0, 2, 1, 3);  // (B, h, T, d_k)

        if (mask.defined()) mask = mask.unsqueeze(1);                           // (B, 1, T, T)
        const Tensor sdpa = scaled_dot_product_attention(q, k, v, mask);        // (B, h, T, d_k)
        const Tensor concat = sdpa.permute(0, 2, 1, 3).reshape(B, T, d_model);  // (B, T, d_model)
        return w_o(concat);                                                     // (B, T, d_model)
    }
};

// ---- what the sections share

void print(const char* name, const Tensor& x) { std::printf("%-9s %s\n", name, x.shape().str().c_str()); }

bool close(const Tensor& a, const Tensor& b) { return allclose(a, b, 1e-5, 1e-5); }

// The library's module with the weights of ours: w_q is W_q there, and w_o is W_out.
nn::MultiHeadAttention library_module(const MultiHeadAttention& attention) {
    nn::NamedTensors state;
    for (const auto& [name, value] : attention.state_dict())
        state.emplace_back((name[2] == 'o' ? "W_out" : std::string("W_") + name[2]) + name.substr(3), value);
    nn::MultiHeadAttention library(attention.d_model, attention.n_heads, {.bias = true, .fused = false});
    library.to(attention.w_q.weight.dtype());
    library.load_state_dict(state);
    return library;
}

// One head's own weights, of the three Linears: (d_model, d_k) and (d_k,).
std::pair<Tensor, Tensor> head(const nn::Linear& w, std::int64_t i) {
    return {w.weight.T().slice(1, i * d_k, (i + 1) * d_k), w.bias.slice(0, i * d_k, (i + 1) * d_k)};
}

// The sentence, and what is made of it on the way through forward.
struct Walk {
    Tensor X;  // (T, d_model): a random vector for each word, the same for both "the"
    MultiHeadAttention attention;
    Tensor q_full, k_full, v_full, q, k, v, sdpa, concat, output;

    Walk() {
        Tensor ids = arange(T);
        ids[the_again].fill_(the);
        X = embedding(randn({T, d_model}), ids);
    }
};

// ---- the concepts

void introduction(Chapter& chapter, const Walk& walk) {
    chapter.section("Introduction");
    const nn::MultiHeadAttention attention = library_module(walk.attention);
    const Tensor Y = randn({5, d_model});  // the decoder's sequence
    const auto encoder = attention.with_weights(walk.X), decoder = attention.with_weights(Y, walk.X, walk.X);
    std::printf("encoder: Q = K = V = X  output %s, weights %s\n", encoder.output.shape().str().c_str(),
                encoder.weights.shape().str().c_str());
    std::printf("decoder: Q = Y, K = V = X  output %s, weights %s\n", decoder.output.shape().str().c_str(),
                decoder.weights.shape().str().c_str());
}

void intuition(Chapter& chapter, const Walk& walk) {
    chapter.section("The intuition");
    const Tensor weights = library_module(walk.attention).with_weights(walk.X).weights;  // (h, T, T)
    for (std::int64_t i = 0; i < h; ++i) {
        const auto [values, words] = weights[i][it].topk(2);
        std::printf("head %d: \"it\" attends to %-6s %.2f  %-6s %.2f\n", static_cast<int>(i + 1),
                    sentence[static_cast<std::size_t>(words[0].item())].c_str(), values[0].item(),
                    sentence[static_cast<std::size_t>(words[1].item())].c_str(), values[1].item());
    }
}

// "cold" and "it" each have two questions: what they speak of (the creek), and what their verb is. A token is
// three numbers, which differ in every sample, and its position; an answer is the three numbers of another one.
void single_head(Chapter& chapter) {
    chapter.section("Limitations of a single head");
    const Tensor asking = tensor({cold, it}), nouns = tensor({creek, creek}), verbs = tensor({was, jump});
    std::vector<double> losses;
    for (const std::int64_t n_heads : {1, 2}) {
        manual_seed(1);
        MultiHeadAttention attention(16, n_heads);
        attention.to(float64);
        Tensor X;  // (B, T, 16)
        const auto loss_of = [&](std::int64_t B) {
            const Tensor numbers = randn({B, T, 3}, float64);
            X = cat({numbers, eye(T, float64).expand(B, T, T)}, -1);
            const Tensor answers = cat({index_select(numbers, 1, nouns), index_select(numbers, 1, verbs)}, -1);
            return mse_loss(index_select(attention.forward(X), 1, asking).slice(-1, 0, 6), answers);
        };
        optim::Adam optimizer(attention, {.lr = 1e-2});
        for (int step = 0; step < 500; ++step) {
            optimizer.zero_grad();
            loss_of(32).backward();
            optimizer.step();
        }
        const NoGrad off;
        losses.push_back(loss_of(1000).item());
        std::printf("%d head%s, %d parameters: loss %.2f\n", static_cast<int>(n_heads), n_heads == 1 ? "" : "s",
                    static_cast<int>(attention.num_parameters()), losses.back());
        const Tensor weights = library_module(attention).with_weights(X).weights.mean(0);  // (n_heads, T, T)
        const Tensor q = nn::split_heads(attention.w_q(X), n_heads);  // (B, n_heads, T, d_k)
        const auto unit = [](const Tensor& x) { return x / x.norm(2, -1, keepdim); };
        const Tensor cosines = (unit(q.select(2, cold)) * unit(q.select(2, it))).sum(-1).mean(0);  // (n_heads,)
        for (std::int64_t i = 0; i < n_heads; ++i)
            std::printf(
                "  head %d: \"cold\" creek %.2f was %.2f   \"it\" creek %.2f jump %.2f   cosine of their "
                "queries %.2f\n",
                static_cast<int>(i + 1), weights.at(i, cold, creek), weights.at(i, cold, was),
                weights.at(i, it, creek), weights.at(i, it, jump), cosines[i].item());
    }
    claim("one head mixes the two answers, two heads give both", losses[0] > 0.3 && losses[1] < 0.02);
}

void function(Chapter& chapter, const Walk& walk) {
    chapter.section("The function");
    const std::int64_t d_v = 32;  // may differ from d_k
    const nn::MultiHeadAttention library(d_model, h, {.fused = false, .d_v = d_v});
    const Tensor W_Q = library.W_q->weight.T(), W_K = library.W_k->weight.T(), W_V = library.W_v->weight.T();
    const Tensor W_O = library.W_out.weight.T();
    const Tensor Q = walk.X, K = walk.X, V = walk.X;
    std::vector<Tensor> heads;
    for (std::int64_t i = 0; i < h; ++i) {
        const Tensor W_i_Q = W_Q.slice(1, i * d_k, (i + 1) * d_k), W_i_K = W_K.slice(1, i * d_k, (i + 1) * d_k);
        const Tensor W_i_V = W_V.slice(1, i * d_v, (i + 1) * d_v);
        heads.push_back(
            scaled_dot_product_attention(Q.matmul(W_i_Q), K.matmul(W_i_K), V.matmul(W_i_V), Tensor()));
        if (i == 0) print("W_1^Q", W_i_Q), print("W_1^K", W_i_K), print("W_1^V", W_i_V);
    }
    const Tensor multi_head = cat(heads, -1).matmul(W_O);
    print("head_1", heads[0]), print("Concat", cat(heads, -1)), print("W^O", W_O);
    print("MultiHead", multi_head);
    claim("as nn::MultiHeadAttention", close(multi_head, library(Q, K, V)));
}

void inputs(Chapter& chapter) {
    chapter.section("The inputs to the function");
    const Tensor X = tensor({{0.1, 0.0, 0.0, 0.2, 0.0, 0.1, 0.0},
                             {0.0, 0.2, 0.1, 0.0, 0.3, 0.5, 0.2},
                             {0.1, 0.1, 0.0, 0.0, 0.0, 0.2, 0.1},
                             {0.0, 0.3, 0.2, 0.1, 0.0, 0.4, 0.2},
                             {0.1, 0.0, 0.1, 0.0, 0.1, 0.0, 0.1},
                             {0.1, 0.0, 0.0, 0.2, 0.0, 0.1, 0.0},
                             {0.2, 0.1, 0.3, 0.0, 0.2, 0.1, 0.0},
                             {0.3, 0.2, 0.1, 0.0, 0.1, 0.2, 0.1},
                             {0.0, 0.1, 0.2, 0.3, 0.1, 0.0, 0.2},
                             {0.1, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0},
                             {0.2, 0.3, 0.1, 0.0, 0.2, 0.1, 0.3},
                             {0.0, 0.1, 0.2, 0.1, 0.3, 0.2, 0.1},
                             {0.1, 0.2, 0.1, 0.0, 0.2, 0.3, 0.2}});  // (T, 7)
    const MultiHeadAttention attention(7, 1);
    const Tensor Y = attention.forward(X.unsqueeze(0))[0];  // (T, 7)
    const Tensor placed = attention.forward((X + randn({T, 7})).unsqueeze(0))[0];
    for (std::int64_t t = 0; t < T; ++t)
        std::printf("%-7s %s\n", sentence[static_cast<std::size_t>(t)].c_str(), X[t].str().c_str());
    claim("both \"the\" have one row of X", difference(X[the], X[the_again]) == 0);
    claim("and one row of the output", difference(Y[the], Y[the_again]) < 1e-7);
    claim("with a vector for each position added, two", difference(placed[the], placed[the_again]) > 1e-3);
}

void linear_transformations(Chapter& chapter, const Walk& walk) {
    chapter.section("Linear transformations");
    std::size_t transformed = 0;
    double largest = 0;
    for (const nn::Linear& w : {walk.attention.w_q, walk.attention.w_k, walk.attention.w_v})
        for (std::int64_t i = 0; i < h; ++i, ++transformed) {
            const auto parts = head(w, i);
            const Tensor projected = walk.X.matmul(parts.first) + parts.second;  // (T, d_k)
            const Tensor columns = w(walk.X).slice(-1, i * d_k, (i + 1) * d_k);
            largest = std::max(largest, difference(projected, columns));
            if (transformed == 0)
                print("W_1", parts.first), print("b_1", parts.second), print("XW + b", projected);
        }
    std::printf(
        "%zu transformations; the largest difference from the columns of one d_model x d_model "
        "transformation is %.6f\n",
        transformed, largest);
    claim("they are equal", largest < 1e-5);
}

void dimensionality_reduction(Chapter& chapter, const Walk& walk) {
    chapter.section("On dimensionality reduction");
    for (const std::int64_t width : {d_k, d_model}) {
        const nn::MultiHeadAttention attention(d_model, h, {.fused = false, .d_k = width, .d_v = width});
        const CountMultiplyAdds counter;
        const auto heads = attention.project(walk.X, walk.X, walk.X);  // q, k and v, (h, T, width)
        const std::int64_t before = counter.count();
        const Tensor sdpa = scaled_dot_product_attention(heads[0], heads[1], heads[2], Tensor());
        const std::int64_t products = counter.count() - before;  // QKᵀ and weights V
        const Tensor output = attention.W_out(nn::merge_heads(sdpa));
        std::printf("heads of %3d: %7d parameters; multiply-adds: attention %7d, projections %9d\n",
                    static_cast<int>(width), static_cast<int>(attention.num_parameters()),
                    static_cast<int>(products), static_cast<int>(counter.count() - products));
        held = held && products == h * 2 * T * T * width && close(output, attention(walk.X));
    }
}

void scaled_dot_product(Chapter& chapter, Walk& walk) {
    chapter.section("Scaled dot-product attention");
    std::vector<Tensor> q, k, v, outputs;
    for (std::int64_t i = 0; i < h; ++i) {
        for (auto [w, list] :
             {std::pair{&walk.attention.w_q, &q}, {&walk.attention.w_k, &k}, {&walk.attention.w_v, &v}})
            list->push_back(walk.X.matmul(head(*w, i).first) + head(*w, i).second);  // (T, d_k)
        outputs.push_back(scaled_dot_product_attention(q.back(), k.back(), v.back(), Tensor()));
    }
    print("Q_1", q[0]), print("QK^T", q[0].matmul(k[0].T())), print("output", outputs[0]);
    const Tensor weights = (q[0].matmul(k[0].T()) / std::sqrt(64.0)).softmax(-1);
    claim("the rows of softmax sum to 1", close(weights.sum(-1), ones({T})));
    walk.sdpa = stack(outputs);
    claim("as the library's attention of all heads at once",
          close(walk.sdpa, weft::scaled_dot_product_attention(stack(q), stack(k), stack(v))));
}

void concatenation(Chapter& chapter, Walk& walk) {
    chapter.section("Concatenation");
    std::vector<Tensor> heads;
    for (const Tensor& head : walk.sdpa) heads.push_back(head);  // (T, d_k)
    walk.concat = cat(heads, -1);
    std::printf("%zu of %s, side by side: %s\n", heads.size(), heads[0].shape().str().c_str(),
                walk.concat.shape().str().c_str());
    claim("columns 64 to 127 are head 2", difference(walk.concat.slice(1, 64, 128), heads[1]) == 0);
    claim("as nn::merge_heads", difference(walk.concat, nn::merge_heads(walk.sdpa)) == 0);
}

void final_projection(Chapter& chapter, const Walk& walk) {
    chapter.section("The final linear projection of W^O");
    const NoGrad off;
    Tensor other = walk.concat.clone();
    Tensor third = other.slice(1, 2 * d_k, 3 * d_k);
    third += 1;  // another third head
    const auto changed = [](const Tensor& a, const Tensor& b) {
        return static_cast<int>((a != b).to(int64).max(0).values.sum().item());  // columns
    };
    const nn::Linear& w_o = walk.attention.w_o;
    std::printf("another third head changes %d columns of the concatenation and %d of the output\n",
                changed(walk.concat, other), changed(w_o(walk.concat), w_o(other)));
    Tensor sum = w_o.bias;
    for (std::int64_t i = 0; i < h; ++i)
        sum = sum + walk.sdpa[i].matmul(w_o.weight.T().slice(0, i * d_k, (i + 1) * d_k));
    claim("the output is b plus the sum of head_i times its 64 rows of W^O", close(sum, w_o(walk.concat)));
}

// ---- the implementation, line by line

void implementation(Chapter& chapter, const Walk& walk) {
    chapter.section("Implementation");
    print("X", walk.X.unsqueeze(0)), print("output", walk.attention.forward(walk.X.unsqueeze(0)));
    std::printf("parameters: %d\n", static_cast<int>(walk.attention.num_parameters()));
}

void init(Chapter& chapter, const Walk& walk) {
    chapter.section("__init__");
    struct Forgetful : nn::Module {
        nn::Linear w_q{4, 4};  // a member, but not registered
        Forgetful() : Module("Forgetful") {}
    };
    std::printf("parameters of a Module that registers nothing: %zu\n", Forgetful().parameters().size());
    std::printf("parameters of MultiHeadAttention: %zu\n", walk.attention.parameters().size());
    held = held && Forgetful().parameters().empty() && walk.attention.parameters().size() == 8;
}

void static_components(Chapter& chapter) {
    chapter.section("Static components");
    const MultiHeadAttention attention;
    std::printf("d_model %d, n_heads %d, d_k %d\n", static_cast<int>(attention.d_model),
                static_cast<int>(attention.n_heads), static_cast<int>(attention.d_k));
    std::printf("int(512 / 3) = %d, and 3 * %d = %d\n", 512 / 3, 512 / 3, 3 * (512 / 3));
    std::cout << refusal([] { MultiHeadAttention(512, 3); }) << "\n";
}

void learnable_components(Chapter& chapter, const Walk& walk) {
    chapter.section("Learnable components");
    for (const auto& [name, value] : walk.attention.named_parameters())
        std::printf("%s %s%s", name.c_str(), value.shape().str().c_str(), name.ends_with("bias") ? "\n" : "  ");
    std::printf("numbers in w_q.weight: %d; in %d matrices of %d x %d: %d; in Q of this sentence: %d\n",
                static_cast<int>(walk.attention.w_q.weight.numel()), static_cast<int>(h),
                static_cast<int>(d_model), static_cast<int>(d_k), static_cast<int>(h * d_model * d_k),
                static_cast<int>(walk.attention.w_q(walk.X).numel()));
}

void forward(Chapter& chapter, const Walk& walk) {
    chapter.section("forward");
    const Tensor batch = stack({walk.X, walk.X});
    for (const Tensor& X : {walk.X, batch})
        std::printf("X %-13s T = X.size(-2) = %d\n", X.shape().str().c_str(), static_cast<int>(X.size(-2)));
}

void initial_transforms(Chapter& chapter, Walk& walk) {
    chapter.section("Initial d_model × d_model transforms");
    const auto& [w_q, w_k, w_v] = std::tie(walk.attention.w_q, walk.attention.w_k, walk.attention.w_v);
    walk.q_full = w_q(walk.X), walk.k_full = w_k(walk.X), walk.v_full = w_v(walk.X);
    print("q_full", walk.q_full), print("k_full", walk.k_full), print("v_full", walk.v_full);
    claim("w_q(X) is X W + b", close(walk.q_full, walk.X.matmul(w_q.weight.T()) + w_q.bias));
}

void reshaping(Chapter& chapter, Walk& walk) {
    chapter.section("Reshaping to h × T × d_k");
    const auto heads = [](const Tensor& full) {
        return full.view(T, h, d_k).permute(1, 0, 2);  // (T, d_model) → (T, h, d_k) → (h, T, d_k)
    };
    walk.q = heads(walk.q_full), walk.k = heads(walk.k_full), walk.v = heads(walk.v_full);
    print("q_full", walk.q_full), print("view", walk.q_full.view(T, h, d_k)), print("permute", walk.q);
    claim("q lies in the memory of q_full", walk.q.shares_storage(walk.q_full));
    claim("q[i] is columns i * d_k to (i + 1) * d_k of q_full",
          difference(walk.q[2], walk.q_full.slice(1, 2 * d_k, 3 * d_k)) == 0);

    std::printf("\nT = 2, h = 2, d_k = 2:\n\n");
    const Tensor full = tensor({{111, 112, 121, 122}, {211, 212, 221, 222}});  // token, head, column
    viz::StorageMovie movie;
    movie.show("q_full", full);
    movie.show("view(T, h, d_k).permute(1, 0, 2)", full.view(2, 2, 2).permute(1, 0, 2));
    movie.show("view(h, T, d_k): wrong", full.view(2, 2, 2)).print();
}

void performing_attention(Chapter& chapter, Walk& walk) {
    chapter.section("Performing scaled dot product attention");
    const Tensor sdpa = scaled_dot_product_attention(walk.q, walk.k, walk.v, Tensor());
    print("q", walk.q), print("QK^T", walk.q.matmul(walk.k.transpose(-1, -2))), print("sdpa", sdpa);
    claim("as the heads one by one, above", close(sdpa, walk.sdpa));
    walk.sdpa = sdpa;
}

void concatenation_again(Chapter& chapter, Walk& walk) {
    chapter.section("Concatenation");
    const Tensor concat = walk.sdpa.permute(1, 0, 2).reshape(T, d_model);
    claim("as the heads side by side, above", close(concat, walk.concat));

    const Tensor wrong = walk.sdpa.reshape(T, d_model);  // without permute
    claim("without permute, row 0 is the first 8 tokens of head 1",
          difference(wrong[0], walk.sdpa[0].slice(0, 0, 8).reshape(d_model)) == 0);
    std::printf("and the largest difference from the right rows is %.2f\n\n", difference(wrong, concat));

    const Tensor permuted = walk.sdpa.permute(1, 0, 2);  // (T, h, d_k)
    std::cout << refusal([&] { return permuted.view(T, d_model); }) << "\n";
    claim("reshape is contiguous().view()", difference(concat, permuted.contiguous().view(T, d_model)) == 0);
    claim("it copied", !concat.shares_storage(walk.sdpa));
    const Tensor halves = permuted.reshape(T, h, 2, d_k / 2);
    claim("reshape to (T, h, 2, d_k / 2) did not, and contiguous() would have",
          halves.shares_storage(walk.sdpa) && !permuted.contiguous().shares_storage(walk.sdpa));
    walk.concat = concat;
}

void final_transform(Chapter& chapter, Walk& walk) {
    chapter.section("Final linear transform with W^O");
    walk.output = walk.attention.w_o(walk.concat);
    print("concat", walk.concat), print("output", walk.output);
    std::printf("nn::MultiHeadAttention with the same weights: the largest difference is %.6f\n",
                difference(walk.output, library_module(walk.attention)(walk.X)));
    claim("they are equal", close(walk.output, library_module(walk.attention)(walk.X)));
}

void batches(Chapter& chapter, const Walk& walk) {
    chapter.section("Adding batches B back in");
    const Tensor X = stack({walk.X, flip(walk.X, 0), randn({T, d_model})});  // (B, T, d_model)
    const Tensor output = walk.attention.forward(X);
    print("X", X), print("output", output);
    claim("the first sequence has the output that it has alone", close(output[0], walk.output));
    const nn::MultiHeadAttention library = library_module(walk.attention);
    claim("as nn::MultiHeadAttention", close(output, library(X)));
    std::cout << "without a batch: " << refusal([&] { return walk.attention.forward(walk.X); }) << "\n";
    claim("nn::MultiHeadAttention takes both", close(library(walk.X), walk.output));
}

// ---- masks

// The data pipeline: ids (B, T), 0 is <pad> → (B, T, T), true = blocked.
Tensor mask_of(const Tensor& ids, bool causal) {
    const Tensor pad = ids == 0;                               // (B, T)
    const Tensor mask = pad.unsqueeze(1) || pad.unsqueeze(2);  // (B, 1, T) keys, (B, T, 1) queries
    return causal ? mask || triu(ones({ids.size(1), ids.size(1)}), 1) == 1 : mask;
}

void masking(Chapter& chapter) {
    chapter.section("Masking");
    const std::vector<std::string> five{"this", "is", "a", "sample", "sequence"};
    std::vector<std::string> seven = five;
    seven.insert(seven.end(), {"<pad>", "<pad>"});
    const Tensor ids =
        tensor({{1, 2, 3, 4, 5, 0, 0}, {6, 7, 8, 9, 10, 11, 12}, {6, 3, 0, 0, 0, 0, 0}});  // (B, T)
    const Tensor mask = mask_of(ids, true), encoder_mask = mask_of(ids, false);            // (B, T, T)

    std::cout << viz::mask_grid(Mask::causal(), 1, 1, 5, 5, {.queries = five}) << "\n"
              << viz::mask_grid(Mask::blocked(mask[0]), 1, 1, 7, 7, {.queries = seven}) << "\n"
              << viz::mask_grid(Mask::blocked(encoder_mask[0]), 1, 1, 7, 7, {.queries = seven}) << "\n";
    print("ids", ids), print("mask", mask), print("used as", mask.unsqueeze(1));

    const MultiHeadAttention attention;
    nn::MultiHeadAttention library = library_module(attention);
    const Tensor table = randn({13, d_model}), X = embedding(table, ids);  // (B, T, d_model)
    const Tensor Y = attention.forward(X, mask);
    claim("forward(X, mask) as nn::MultiHeadAttention", close(Y, library(X, Mask::blocked(mask))));
    Tensor other = table.clone();
    other[0].fill_(1000);                          // another vector for <pad>
    const Tensor real = (ids != 0).unsqueeze(-1);  // (B, T, 1)
    const Tensor moved = attention.forward(embedding(other, ids), mask) - Y;
    std::printf("another vector for <pad> moves the real tokens by %g\n",
                moved.masked_fill(!real, 0).abs().max().item());
    held = held && all(moved.masked_fill(!real, 0) == 0);

    // softmax as PyTorch's, which gives 0 / 0 where every score is −∞
    const auto rows = [](const Tensor& scores, bool plain) {
        const Tensor e = (scores - scores.max(-1, keepdim).values.detach()).exp();
        return plain ? e / e.sum(-1, keepdim) : scores.softmax(-1);
    };
    for (const bool plain : {true, false}) {
        library.zero_grad();
        const auto [q, k, v] = library.project(X, X, X);  // (B, h, T, d_k)
        const Tensor scores =
            (q.matmul(k.transpose(-1, -2)) / std::sqrt(64.0)).masked_fill(mask.unsqueeze(1), -INFINITY);
        const Tensor output = library.W_out(nn::merge_heads(rows(scores, plain).matmul(v)));  // (B, T, d_model)
        output.masked_fill(!real, 0).sum().backward();  // a loss of the real tokens alone
        int spoiled = 0;
        for (const Tensor& parameter : library.parameters()) spoiled += any(isnan(parameter.grad()));
        const int lost = static_cast<int>(isnan(output).to(int64).max(-1).values.sum().item());
        std::printf(
            "%s softmax: NaN in %d of %d rows of the output, and in the gradients of %d of %zu parameters\n",
            plain ? "plain" : "Weft's", lost, static_cast<int>(ids.numel()), spoiled,
            library.parameters().size());
        held = held && (plain ? lost == 7 && spoiled > 0 : lost == 0 && spoiled == 0);
    }
    const Tensor weights = library.with_weights(X, Mask::blocked(mask)).weights;  // (B, h, T, T)
    std::cout << "Weft's weights of the first <pad>: " << weights[0][0][5] << "\n";
}

// Both rules of broadcasting, axis by axis from the right.
void walk_through(const Shape& mask, const Shape& scores) {
    std::printf("%s against %s:", mask.str().c_str(), scores.str().c_str());
    for (int axis = 1; axis <= scores.rank(); ++axis) {
        const int a = axis <= mask.rank() ? static_cast<int>(mask[mask.rank() - axis]) : 1,
                  b = static_cast<int>(scores[scores.rank() - axis]);
        std::printf("  %d and %d %s", a, b, a == b ? "match" : a == 1 ? "stretch" : "FAIL");
        if (a != b && a != 1) break;
    }
    std::printf("\n");
}

void broadcasting(Chapter& chapter) {
    chapter.section("A note on broadcasting");
    const std::int64_t B = 4, T = 7;
    const Tensor scores = randn({B, h, T, T}), mask = randn({B, T, T}) > 0;
    walk_through({B, 1, T, T}, scores.shape());
    walk_through(mask.shape(), scores.shape());
    print("unsqueeze", scores.masked_fill(mask.unsqueeze(1), -INFINITY));
    std::cout << refusal([&] { return scores.masked_fill(mask, -INFINITY); }) << "\n"
              << refusal([&] { return where(mask, -INFINITY, scores); }) << "\n\n";

    const auto report = [](const char* what, const Tensor& silent, const Tensor& right, bool agree) {
        const auto blocked = [](const Tensor& x) { return static_cast<int>(x.sum().item()); };
        std::printf("%s: %d of %d blocked, right are %d\n", what, blocked(silent),
                    static_cast<int>(right.numel()), blocked(right));
        held = held && all(silent == right) == agree;
    };
    const auto block = [](const Shape& scores, const Tensor& mask) {
        return zeros(scores).masked_fill(mask, -INFINITY) == -INFINITY;  // what is blocked in the scores
    };
    const Tensor samples = Mask::padding({7, 6, 5, 4, 3, 2, 1, 7}).materialize(h, 1, T, T).reshape({h, T, T});
    const Tensor causal = triu(ones({h, h}), 1) == 1;  // (T, T) with T = h
    report("B = h, sample 1, head 7", block({h, h, T, T}, samples)[0][6], samples[0], false);
    report("B = 1, head 7", block({1, h, T, T}, samples.slice(0, 4, 5))[0][6], samples[4], true);
    report("T = h, (T, T) after unsqueeze(1), head 1", block({1, h, h, h}, causal.unsqueeze(1))[0][0], causal,
           false);
    report("T = h, (T, T) after unsqueeze(1), head 8", block({1, h, h, h}, causal.unsqueeze(1))[0][7], causal,
           false);
    std::printf("\n");

    const nn::MultiHeadAttention library(16, h);
    const Tensor X = randn({h, T, 16}), Y = library(X, Mask::blocked(samples));
    bool alone = true;
    for (std::int64_t b = 0; b < h; ++b) alone = alone && close(Y[b], library(X[b], Mask::blocked(samples[b])));
    claim("Mask::blocked (B, T, T) with B = h: each sample has its own mask", alone);
    const Tensor Z = randn({1, h, 16});
    claim("Mask::blocked (T, T) with T = h: as Mask::causal()",
          close(library(Z, Mask::blocked(causal)), library(Z, Mask::causal())));
    std::cout << refusal([&] { return library(X.slice(0, 0, 1), Mask::blocked(samples)); }) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
    Chapter chapter(argc, argv);
    set_num_threads(1);  // the operations are too small to share among threads
    manual_seed(1);
    Walk walk;
    introduction(chapter, walk);
    intuition(chapter, walk);
    single_head(chapter);
    function(chapter, walk);
    inputs(chapter);
    linear_transformations(chapter, walk);
    dimensionality_reduction(chapter, walk);
    scaled_dot_product(chapter, walk);
    concatenation(chapter, walk);
    final_projection(chapter, walk);
    implementation(chapter, walk);
    init(chapter, walk);
    static_components(chapter);
    learnable_components(chapter, walk);
    forward(chapter, walk);
    initial_transforms(chapter, walk);
    reshaping(chapter, walk);
    performing_attention(chapter, walk);
    concatenation_again(chapter, walk);
    final_transform(chapter, walk);
    batches(chapter, walk);
    masking(chapter);
    broadcasting(chapter);
    return held ? 0 : 1;
}
