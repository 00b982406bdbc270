// The sizes at which the fast kernels switch. Work is cut where sizes say, never where threads are, so that the
// bits do not depend on the number of threads (docs/performance.md has the measurements).
#pragma once

#include <cstdint>

namespace weft::kernels::fast {

constexpr std::int64_t run_length = 512;        // elements of one gathered run
constexpr std::int64_t parallel_grain = 16384;  // elements of one task
constexpr std::int64_t row_grain = 8192;        // elements of one task of rows
constexpr std::int64_t norm_group = 16;  // rows whose contributions to dweight and dbias are summed first

constexpr std::int64_t reduce_grain = 8192;            // elements of one task
constexpr std::int64_t sum_strip = 64, sum_rows = 64;  // columns and rows of one block of a sum
// A longer sum is cut into parts of so many elements, or rows if it is over columns.
constexpr std::int64_t sum_part = 32768, rows_part = 512;

constexpr std::int64_t index_bytes = 131072;  // bytes of one task of index_select
constexpr std::int64_t index_strip = 64;      // columns of one task of index_add
constexpr std::int64_t index_grain = 8192;    // elements of one task of the others

// A tile of scores has at most tile_queries queries, or tile_max_queries from tile_many_keys keys on, and at
// most tile_keys_per_query times as many keys.
constexpr std::int64_t tile_queries = 64, tile_max_queries = 128, tile_many_keys = 2048,
                       tile_keys_per_query = 4, tile_max_keys = tile_keys_per_query * tile_max_queries;
constexpr std::int64_t attention_grain = 1 << 16;  // multiply-adds of the scores of one task
constexpr std::int64_t attention_tasks = 128;      // number of tasks of backward, where the sizes allow

// Rows of a product in bfloat16 from which it is worth a primitive of oneDNN's, which takes a third of a
// millisecond to make; that of fewer rows has often a length of its own, as that of a cache.
constexpr std::int64_t least_half_rows = 8;
constexpr double cost_of_half = 4;    // of copying, in multiply-adds of bfloat16 instead of float32
constexpr std::int64_t few_rows = 4;  // as many rows meet weights of fewer bits in registers
constexpr std::int64_t dot_grain = 1 << 16, batch_grain = 1 << 18;  // multiply-adds of one task
constexpr std::int64_t least_parallel = 1 << 21;  // multiply-adds of products that several threads share
constexpr std::int64_t least_block = 3 << 20;     // multiply-adds of one block of a product
constexpr std::int64_t most_blocks = 64, block_multiple = 16;  // the sides are multiples, except the last
constexpr std::int64_t largest_part = 1 << 18;  // elements of c where the sum may be cut, which takes memory
// What twice as many blocks are worth, over their number and as a share of the product. More for products of
// medium size (GPT-2's layers with 256 tokens): measured, it costs two threads nothing there.
constexpr double gain_of_tasks = 0.4, gain_of_medium = 0.75;
constexpr std::int64_t medium_product = 1 << 27, large_product = 1 << 30;  // multiply-adds

}  // namespace weft::kernels::fast
