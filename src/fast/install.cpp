// What stands in the slots of the primitives. Those of the operations are beside their kernels.
#include "ops/common.h"
#include "packed/formats.h"

namespace weft::kernels {

namespace fast {
template <class Slot>
using Like = typename Slot::Type;

Like<decltype(kernels::run_tasks)> run_tasks;
Like<decltype(kernels::for_runs)> for_runs;
Like<decltype(kernels::fill_dropout)> fill_dropout;
Like<decltype(kernels::exp)> exp, log, sigmoid;
Like<decltype(kernels::matmul)> matmul;
Like<decltype(kernels::masked_matmul)> masked_matmul;
Like<decltype(kernels::widen_rows)> widen_rows;
Like<decltype(kernels::sum)> sum;
Like<decltype(kernels::min_max)> min_max;
Like<decltype(kernels::cumsum)> cumsum;
Like<decltype(kernels::cumprod_backward)> cumprod_backward;
Like<decltype(kernels::softmax)> softmax, log_softmax;
Like<decltype(kernels::index_select)> index_select;
Like<decltype(kernels::index_add)> index_add;
Like<decltype(kernels::gather)> gather;
Like<decltype(kernels::scatter_add)> scatter_add;
void* acquire(std::size_t& bytes);
void release(void* block, std::size_t bytes) noexcept;
int default_threads();
bool has_half_gemm();
}  // namespace fast

constinit const Installed installed{.acquire = fast::acquire,
                                    .release = fast::release,
                                    .run_tasks = fast::run_tasks,
                                    .for_runs = fast::for_runs,
                                    .fill_dropout = fast::fill_dropout,
                                    .exp = fast::exp,
                                    .log = fast::log,
                                    .sigmoid = fast::sigmoid,
                                    .matmul = fast::matmul,
                                    .masked_matmul = fast::masked_matmul,
                                    .widen_rows = fast::widen_rows,
                                    .sum = fast::sum,
                                    .softmax = fast::softmax,
                                    .log_softmax = fast::log_softmax,
                                    .index_select = fast::index_select,
                                    .index_add = fast::index_add,
                                    .gather = fast::gather,
                                    .scatter_add = fast::scatter_add,
                                    .default_threads = fast::default_threads,
                                    .has_half_products = fast::has_half_gemm};

constinit const InstalledInOps installed_in_ops{
    .min_max = fast::min_max, .cumsum = fast::cumsum, .cumprod_backward = fast::cumprod_backward};

}  // namespace weft::kernels
