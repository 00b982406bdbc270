// oneDNN, which has products in bfloat16 for AVX-512 and AMX. It is loaded at the first of them: a program that
// was linked with it would give it 40 MB of addresses, and OpenMP, whatever it computes.
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fast/blas/blas.h"

static_assert(DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR >= 6);

namespace weft::kernels::fast {
namespace {

constexpr std::size_t most_primitives = 512;  // that a thread keeps, by the sizes of their product
// More than the code of a product takes, which oneDNN also writes to where it was refused the memory.
constexpr std::size_t code_size = 32 << 20;

// What is called of it. Never unloaded, because threads may outlive main.
class Library {
    void* const handle_ = ::dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    struct Symbol {  // becomes a pointer to the function that it is assigned to
        void* address;
        template <class Function>
        operator Function*() const {
            return reinterpret_cast<Function*>(address);
        }
    };
    Symbol find(const char* name) const { return {handle_ == nullptr ? nullptr : ::dlsym(handle_, name)}; }

public:
    const OpenMP openmp{handle_};
    decltype(dnnl_memory_desc_init_by_strides)* const describe = find("dnnl_memory_desc_init_by_strides");
    decltype(dnnl_matmul_desc_init)* const describe_matmul = find("dnnl_matmul_desc_init");
    decltype(dnnl_primitive_attr_create)* const create_attributes = find("dnnl_primitive_attr_create");
    decltype(dnnl_primitive_attr_destroy)* const destroy_attributes = find("dnnl_primitive_attr_destroy");
    decltype(dnnl_primitive_attr_set_scratchpad_mode)* const set_scratchpad =
        find("dnnl_primitive_attr_set_scratchpad_mode");
    decltype(dnnl_primitive_attr_set_post_ops)* const set_post_ops = find("dnnl_primitive_attr_set_post_ops");
    decltype(dnnl_post_ops_create)* const create_post_ops = find("dnnl_post_ops_create");
    decltype(dnnl_post_ops_destroy)* const destroy_post_ops = find("dnnl_post_ops_destroy");
    decltype(dnnl_post_ops_append_sum)* const append_sum = find("dnnl_post_ops_append_sum");
    decltype(dnnl_primitive_desc_create)* const create_description = find("dnnl_primitive_desc_create");
    decltype(dnnl_primitive_desc_destroy)* const destroy_description = find("dnnl_primitive_desc_destroy");
    decltype(dnnl_primitive_desc_query_md)* const query = find("dnnl_primitive_desc_query_md");
    decltype(dnnl_primitive_create)* const create = find("dnnl_primitive_create");
    decltype(dnnl_primitive_destroy)* const destroy = find("dnnl_primitive_destroy");
    decltype(dnnl_primitive_execute)* const execute = find("dnnl_primitive_execute");
    decltype(dnnl_memory_create)* const create_memory = find("dnnl_memory_create");
    decltype(dnnl_memory_destroy)* const destroy_memory = find("dnnl_memory_destroy");
    decltype(dnnl_memory_set_data_handle)* const set_memory = find("dnnl_memory_set_data_handle");

    // What every product needs; null where products in bfloat16 are not to be had: no library, one of another
    // edition or with a team of its own, or a processor without the instructions.
    dnnl_engine_t engine = nullptr;
    dnnl_stream_t stream = nullptr;

    Library() {
        decltype(dnnl_version)* const version = find("dnnl_version");
        decltype(dnnl_get_effective_cpu_isa)* const isa = find("dnnl_get_effective_cpu_isa");
        if (version == nullptr || isa == nullptr || version()->major != 2 || version()->minor < 6) return;
        constexpr unsigned needed = dnnl_cpu_isa_avx512_core_bf16;  // a bit for each set of instructions
        if ((static_cast<unsigned>(isa()) & needed) != needed) return;
        if (version()->cpu_runtime != DNNL_RUNTIME_OMP && version()->cpu_runtime != DNNL_RUNTIME_SEQ) return;
        decltype(dnnl_engine_create)* const make_engine = find("dnnl_engine_create");
        decltype(dnnl_stream_create)* const make_stream = find("dnnl_stream_create");
        if (make_engine(&engine, dnnl_cpu, 0) == dnnl_success)
            make_stream(&stream, engine, dnnl_stream_default_flags);
    }
};
const Library& library() {
    static const Library* const instance = new Library;
    return *instance;
}

// A thing of oneDNN's, with what destroys it.
template <class T>
using Owned = std::unique_ptr<T, dnnl_status_t (*)(T*)>;

Owned<dnnl_memory> memory_of(const dnnl_memory_desc_t* description, void* where) {
    dnnl_memory_t made = nullptr;
    library().create_memory(&made, description, library().engine, where);
    return {made, library().destroy_memory};
}

// A product of these sizes, ready to run, or nothing where oneDNN cannot make it. It belongs to one thread.
class Primitive {
public:
    explicit Primitive(const HalfProduct& p) {
        const Library& dnnl = library();
        const auto matrix = [&](int rows, int columns, bool transposed, int stride, dnnl_data_type_t type) {
            dnnl_memory_desc_t made;
            const dnnl_dims_t sizes = {rows, columns},
                              strides = {transposed ? 1 : stride, transposed ? stride : 1};
            dnnl.describe(&made, 2, sizes, type, strides);
            return made;
        };
        const dnnl_memory_desc_t a = matrix(p.m, p.k, p.a_transposed, p.lda, dnnl_bf16),
                                 b = matrix(p.k, p.n, p.b_transposed, p.ldb, dnnl_bf16),
                                 c = matrix(p.m, p.n, false, p.ldc, dnnl_f32);
        dnnl_primitive_attr_t how = nullptr;
        dnnl.create_attributes(&how);
        const Owned<dnnl_primitive_attr> attributes(how, dnnl.destroy_attributes);
        dnnl.set_scratchpad(how, dnnl_scratchpad_mode_user);  // oneDNN's own would be that of one thread
        if (p.adds) {
            dnnl_post_ops_t then = nullptr;
            dnnl.create_post_ops(&then);
            const Owned<dnnl_post_ops> owned(then, dnnl.destroy_post_ops);
            dnnl.append_sum(then, 1);
            dnnl.set_post_ops(how, then);
        }
        dnnl_matmul_desc_t matmul;
        dnnl_primitive_desc_t made = nullptr;
        dnnl.describe_matmul(&matmul, &a, &b, nullptr, &c);
        check_room(code_size);
        if (dnnl.create_description(&made, &matmul, how, dnnl.engine, nullptr) != dnnl_success) return;
        const Owned<dnnl_primitive_desc> description(made, dnnl.destroy_description);
        dnnl_primitive_t primitive = nullptr;
        if (dnnl.create(&primitive, made) != dnnl_success) return;
        primitive_ = {primitive, dnnl.destroy};
        memory_.push_back(memory_of(&a, nullptr));
        memory_.push_back(memory_of(&b, nullptr));
        memory_.push_back(memory_of(&c, nullptr));
        memory_.push_back(memory_of(dnnl.query(made, dnnl_query_scratchpad_md, 0), DNNL_MEMORY_ALLOCATE));
    }

    bool run(const BFloat16* a, const BFloat16* b, float* c) const {
        const Library& dnnl = library();
        for (const auto& memory : memory_)
            if (!memory) return false;
        if (!primitive_) return false;
        dnnl.set_memory(memory_[0].get(), const_cast<BFloat16*>(a));
        dnnl.set_memory(memory_[1].get(), const_cast<BFloat16*>(b));
        dnnl.set_memory(memory_[2].get(), c);
        const std::array<dnnl_exec_arg_t, 4> arguments{{{DNNL_ARG_SRC, memory_[0].get()},
                                                        {DNNL_ARG_WEIGHTS, memory_[1].get()},
                                                        {DNNL_ARG_DST, memory_[2].get()},
                                                        {DNNL_ARG_SCRATCHPAD, memory_[3].get()}}};
        return dnnl.execute(primitive_.get(), dnnl.stream, 4, arguments.data()) == dnnl_success;
    }

private:
    Owned<dnnl_primitive> primitive_{nullptr, nullptr};
    std::vector<Owned<dnnl_memory>> memory_;
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

bool has_half_gemm() { return library().stream != nullptr; }

bool half_gemm(const HalfProduct& product, const BFloat16* a, const BFloat16* b, float* c) {
    thread_local std::unordered_map<HalfProduct, Primitive, Hash> primitives;
    const OneThread while_it_runs(library().openmp);
    auto found = primitives.find(product);
    if (found == primitives.end()) {
        if (primitives.size() == most_primitives) primitives.clear();
        found = primitives.emplace(product, product).first;
    }
    return found->second.run(a, b, c);
}

}  // namespace weft::kernels::fast
