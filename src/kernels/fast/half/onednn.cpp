// oneDNN, which has products in bfloat16 for AVX-512 and AMX.
#include <cstddef>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>

#include "kernels/fast/blas/one_thread.h"
#include "kernels/fast/half/half_gemm.h"

namespace weft::kernels::fast {
namespace {

constexpr std::size_t most_primitives = 512;  // that a thread keeps, by the sizes of their product

// Never destroyed, because threads may outlive it.
const dnnl::engine& engine() {
    static const auto* const instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
    return *instance;
}

dnnl::memory memory_of(const dnnl::memory::desc& desc) { return {desc, engine(), nullptr}; }

// A product of these sizes, ready to run. It belongs to one thread.
class Primitive {
public:
    explicit Primitive(const HalfProduct& p) : Primitive(description(p)) {}

    void run(const BFloat16* a, const BFloat16* b, float* c) {
        a_.set_data_handle(const_cast<BFloat16*>(a));
        b_.set_data_handle(const_cast<BFloat16*>(b));
        c_.set_data_handle(c);
        matmul_.execute(stream_, arguments_);
    }

private:
    using Description = dnnl::matmul::primitive_desc;

    static Description description(const HalfProduct& p) {
        using dnnl::memory;
        const auto matrix = [](int rows, int columns, bool transposed, int stride, memory::data_type type) {
            return memory::desc({rows, columns}, type,
                                transposed ? memory::dims{1, stride} : memory::dims{stride, 1});
        };
        dnnl::primitive_attr how;
        how.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // oneDNN's own would be that of one thread
        if (p.adds) {
            dnnl::post_ops then;
            then.append_sum(1);
            how.set_post_ops(then);
        }
        return {{matrix(p.m, p.k, p.a_transposed, p.lda, memory::data_type::bf16),
                 matrix(p.k, p.n, p.b_transposed, p.ldb, memory::data_type::bf16),
                 matrix(p.m, p.n, false, p.ldc, memory::data_type::f32)},
                how,
                engine()};
    }

    explicit Primitive(const Description& made)
        : a_(memory_of(made.src_desc())),
          b_(memory_of(made.weights_desc())),
          c_(memory_of(made.dst_desc())),
          scratch_(made.scratchpad_desc(), engine()),
          matmul_(made),
          arguments_{
              {DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}, {DNNL_ARG_SCRATCHPAD, scratch_}} {
    }

    dnnl::memory a_, b_, c_, scratch_;
    dnnl::matmul matmul_;
    dnnl::stream stream_{engine()};
    std::unordered_map<int, dnnl::memory> arguments_;
};

struct Hash {
    std::size_t operator()(const HalfProduct& p) const {
        std::size_t hash = p.a_transposed + 2 * p.b_transposed + 4 * p.adds;
        for (const int size : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc})
            hash = hash * 1000003 + static_cast<std::size_t>(size);
        return hash;
    }
};

}  // namespace

bool has_half_gemm() {
    static const bool has = [] {
        constexpr unsigned needed = dnnl_cpu_isa_avx512_core_bf16;  // a bit for each set of instructions
        return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
    }();
    return has;
}

void half_gemm(const HalfProduct& product, const BFloat16* a, const BFloat16* b, float* c) {
    thread_local std::unordered_map<HalfProduct, Primitive, Hash> primitives;
    const OneThread while_it_runs;
    auto found = primitives.find(product);
    if (found == primitives.end()) {
        if (primitives.size() == most_primitives) primitives.clear();
        found = primitives.emplace(product, product).first;
    }
    found->second.run(a, b, c);
}

}  // namespace weft::kernels::fast
