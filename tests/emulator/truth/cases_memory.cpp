// Kernels of memory.def and sync.def, on random bits.
#include <iterator>

#include "emulator/truth/case.h"

namespace tilert::truth {
namespace {

struct Row {
  const char* name;
  uint32_t blocks, cluster, threads, shared_bytes;
  size_t in_words, out_words;
  const char* body;
};
#define TRUTH_KERNEL(name, blocks, cluster, threads, shared_bytes, in_words, out_words, body) \
  {#name, blocks, cluster, threads, shared_bytes, in_words, out_words, body},
constexpr Row kMemory[] = {
#include "emulator/truth/memory.def"
};
#define TRUTH_KERNEL(name, blocks, cluster, threads, shared_bytes, in_words, out_words, body) \
  {#name, blocks, cluster, threads, shared_bytes, in_words, out_words, body},
constexpr Row kSync[] = {
#include "emulator/truth/sync.def"
};

Case kernel_case(const std::string& name, const Row& row, uint8_t before) {
  Case one;
  one.name = name;
  one.grid[0] = row.blocks;
  one.cluster = row.cluster;
  one.threads = row.threads;
  one.shared_bytes = row.shared_bytes;
  one.cooperative = std::string_view(row.name).find("grid") == 0;
  one.input.resize(row.in_words * 4);
  one.output.resize(row.out_words * 4, before);
  Random random(one.name);
  random.fill(one.input.data(), one.input.size());
  one.text = kernel(row.threads, row.body + 1);  // behind the first line's end
  return one;
}

}  // namespace

void add_memory_cases(std::vector<Case>& out) {
  for (const Row& row : kMemory) out.push_back(kernel_case(std::string("memory/") + row.name, row, 0xff));
  // Blocks along each axis, besides those of the table.
  Case ids = *(out.end() - static_cast<int64_t>(std::size(kMemory)));
  ids.name += "_3d";
  ids.grid[0] = 3, ids.grid[1] = 2, ids.grid[2] = 2;
  ids.output.resize(12 * 64 * 16, 0xff);
  const std::string sum = "(tl_block_x() + tl_block_y() + tl_block_z())";
  ids.text.replace(ids.text.find(sum), sum.size(), "(tl_block_x() + tl_block_y() * 3 + tl_block_z() * 6)");
  out.push_back(std::move(ids));
  for (const Row& row : kSync) out.push_back(kernel_case(std::string("sync/") + row.name, row, 0));
}

}  // namespace tilert::truth
