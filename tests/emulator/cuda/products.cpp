// wgmma: operands decoded from the real 64-bit descriptors, products by float tiles, fences, groups and waits.
#include "emulator/cuda/products.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/matrix.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {

bool ProductForm::same(const ProductForm& other) const {
  return n == other.n && sums == other.sums && type == other.type && b_type == other.b_type && a == other.a && b == other.b &&
         accumulate == other.accumulate && mn_a == other.mn_a && mn_b == other.mn_b && from_registers == other.from_registers && sparse == other.sparse;
}

namespace {

constexpr uint32_t kPoisonBits = 0xffffffff;

WarpgroupProducts& own(Gpu& gpu) { return *gpu.products[gpu.self().warp / 4]; }
WarpgroupProducts::PerWarp& own_warp(Gpu& gpu) { return own(gpu).warps[gpu.self().warp % 4]; }

// Room for operands and a product; on the heap, since a library opened at run time gets little thread-local memory.
struct Scratch {
  alignas(64) float a[64 * 32], b[64 * 256];  // A by row, B by place along K
  int places[64 * 32];                        // along K, of a sparse A's elements
  alignas(64) float tile[64 * 256];
  static Scratch& own() {
    static thread_local const std::unique_ptr<Scratch> room(new Scratch);
    return *room;
  }
};

// The fields of a matrix descriptor, in bytes.
struct Descriptor {
  uint32_t start, leading, stride;
  int swizzle;  // as in TensorMap
  explicit Descriptor(uint64_t d)
      : start(static_cast<uint32_t>(d & 0x3fff) << 4), leading(static_cast<uint32_t>(d >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(d >> 32 & 0x3fff) << 4), swizzle(0) {
    static const int kSwizzle[] = {0, 3, 2, 1};  // the field: none, 128, 64, 32 bytes
    swizzle = kSwizzle[d >> 62];
  }
};

// One operand tile as numbers, each step along its rows and along K so far apart. K-major: groups of 8 rows `stride` apart, rows as wide as the swizzle; without a
// swizzle, core matrices of 8 rows x 16 bytes, `leading` apart along K. MN-major: spans of the swizzle's width along MN
// `leading` apart, groups of 8 along K `stride` apart; without a swizzle the two change places.
template <class Touch>
bool decode(const Gpu& gpu, const Block& block, uint64_t bits, Number type, int rows, int depth, bool mn_major, float* out, int row_step, int k_step, Touch&& touch) {
  const Descriptor d(bits);
  const uint32_t size = static_cast<uint32_t>(number_bits(type)) / 8, span = d.swizzle ? 16u << d.swizzle : 16u;
  const int per = static_cast<int>(16 / size);  // elements of a chunk of 16 bytes, which no layout tears apart
  const int outer = mn_major ? depth : rows, inner = mn_major ? rows : depth;
  for (int o = 0; o < outer; ++o)
    for (int i = 0; i < inner; i += per) {
      const uint32_t at = static_cast<uint32_t>(i) * size, line = static_cast<uint32_t>(o);
      uint32_t address = d.start;
      if (!mn_major && d.swizzle) address += line / 8 * d.stride + line % 8 * span + at;
      else if (!mn_major) address += line / 8 * d.stride + line % 8 * 16 + at / 16 * d.leading;
      else if (d.swizzle) address += at / span * d.leading + at % span + line % 8 * span + line / 8 * d.stride;
      else address += at / 16 * d.stride + line % 8 * 16 + line / 8 * d.leading;
      // The field holds 18 bits of the address; the window's start is not part of the arena.
      address = (swizzled(address, d.swizzle) - kWindow) & 0x3ffff;
      if (address + 16 > gpu.launch().shared_bytes) return false;
      const uint8_t* const chunk = block.arena + address;
      touch(chunk, 16);
      const int count = std::min(per, inner - i);
      if (mn_major) decode_elements(type, chunk, count, out + i * row_step + o * k_step, row_step);
      else decode_elements(type, chunk, count, out + o * row_step + i * k_step, k_step);
    }
  return true;
}

// A from registers: as mma.sync's A of each warp's 16 rows.
void decode_registers(const Product& product, int depth, float* out) {
  const int width = number_bits(product.form.type), per = 32 / width;
  for (int t = 0; t < 128; ++t)
    for (int r = 0; r < 4; ++r)
      for (int e = 0; e < per; ++e) {
        const int lane = t % 32, row = 16 * (t / 32) + lane / 4 + 8 * (r % 2), k = (lane % 4) * per + e + 4 * per * (r / 2);
        const uint32_t raw = width == 32 ? product.lanes[t].registers[r] : product.lanes[t].registers[r] >> (e * width) & ((1u << width) - 1);
        out[row * depth + k] = number_value(product.form.type, raw);
      }
}

struct Half {
  uint16_t bits;
};
Half add(Half d, float x) { return {float_to_f16(f16_to_float(d.bits) + x)}; }  // rounded once an issue
float add(float d, float x) { return d + x; }
int32_t add(int32_t d, float x) { return static_cast<int32_t>(static_cast<uint32_t>(d) + static_cast<uint32_t>(static_cast<int32_t>(x))); }

// The sums of one issue, over k in its order, are added to the accumulators. Those of 8-bit integers are exact in floats.
template <class T>
void add_products(Product& product, int depth) {  // of A
  const int n = product.form.n;
  Scratch& room = Scratch::own();
  const float* const b = room.b;
  float* const tile = room.tile;
  for (int j = 0; j < n; j += 8)
    for (int i = 0; i < 64; ++i) {
      float sums[8] = {};
      for (int k = 0; k < depth; ++k) {
        const float x = room.a[i * depth + k];
        const int at = product.form.sparse ? room.places[i * depth + k] : k;
        if (at < 0) continue;
        for (int e = 0; e < 8; ++e) sums[e] += x * b[at * n + j + e];
      }
      std::memcpy(&tile[i * n + j], sums, sizeof sums);
    }
  for (int t = 0; t < 128; ++t) {
    uint8_t* const values = reinterpret_cast<uint8_t*>(product.lanes[t].accumulator->values.data());
    const int lane = t % 32;
    const float* const row = tile + (16 * (t / 32) + lane / 4) * n + 2 * (lane % 4);
    for (int v = 0; v < n / 2; v += 4) {
      const float x[4] = {row[2 * v], row[2 * v + 1], row[8 * n + 2 * v], row[8 * n + 2 * v + 1]};
      T d[4] = {};
      if (product.form.accumulate) std::memcpy(d, values + static_cast<size_t>(v) * sizeof(T), sizeof d);
      for (int e = 0; e < 4; ++e) d[e] = add(d[e], x[e]);
      std::memcpy(values + static_cast<size_t>(v) * sizeof(T), d, sizeof d);
    }
  }
}

// Each warp's lanes say where the elements of its 16 rows stand.
void place_elements(const Product& product, int depth) {
  uint32_t metadata[32];
  for (int w = 0; w < 4; ++w) {
    for (int lane = 0; lane < 32; ++lane) metadata[lane] = product.lanes[32 * w + lane].metadata;
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < depth; ++k) Scratch::own().places[(16 * w + i) * depth + k] = sparse_place(metadata, number_bits(product.form.type), i, k);
  }
}

// Empty, or what is wrong.
std::string execute(Gpu& gpu, Product& product) {
  product.done = true;
  const ProductForm& form = product.form;
  const int depth = 256 / number_bits(form.type), b_depth = form.sparse ? 2 * depth : depth;
  if (form.sparse) place_elements(product, depth);
  float *const a = Scratch::own().a, *const b = Scratch::own().b;
  const Block& block = *product.lanes[0].thread->block;
  const auto untouched = [](const void*, size_t) {};
  if (form.from_registers) decode_registers(product, depth, a);
  else if (!decode(gpu, block, form.a, form.type, 64, depth, form.mn_a, a, depth, 1, untouched))
    return "the descriptor of A reaches beyond shared memory";
  if (!decode(gpu, block, form.b, form.b_type, form.n, b_depth, form.mn_b, b, 1, form.n, untouched))
    return "the descriptor of B reaches beyond shared memory";
  if (form.sums == Sums::s32) add_products<int32_t>(product, depth);
  else if (form.sums == Sums::f16) add_products<Half>(product, depth);
  else add_products<float>(product, depth);
  return {};
}

// The engine reads its operands from the issue, which all lanes take part in, until somebody has waited for it. Empty,
// or the race in words.
std::string note_reads(Gpu& gpu, WarpgroupProducts& of, const Product& product, uint64_t number) {
  Races& races = *gpu.races();
  if (!of.component) of.component = races.add_component();
  Clock clock;
  for (const ProductLane& lane : product.lanes) clock.join(races.clock(*lane.thread));
  const ProductForm& form = product.form;
  const int depth = 256 / number_bits(form.type);
  float* const values = Scratch::own().b;
  std::string wrong;
  const auto touch = [&](const uint8_t* address, size_t bytes) {
    if (wrong.empty())
      wrong = races.engine_access(clock, address, bytes, false, Proxy::async, of.component, static_cast<uint32_t>(number) + 1, form.line);
  };
  const Block& block = *product.lanes[0].thread->block;
  if (!form.from_registers) decode(gpu, block, form.a, form.type, 64, depth, form.mn_a, values, depth, 1, touch);
  decode(gpu, block, form.b, form.b_type, form.n, form.sparse ? 2 * depth : depth, form.mn_b, values, 1, form.n, touch);
  return wrong.empty() ? wrong : "the product " + wrong;
}

// Null, or the rule of the instruction that the form breaks.
const char* not_a_form(const ProductForm& form) {
  const auto eight_bit_float = [](Number type) { return type == Number::e4m3 || type == Number::e5m2; };
  const auto integer = [](Number type) { return type == Number::s8 || type == Number::u8; };
  const bool integers = integer(form.type);
  if (form.n < 8 || form.n > 256 || form.n % 8 || (integers && form.n > 32 && form.n % 16)) return "a warpgroup product that there is not";
  if (form.type != form.b_type && !(integers && integer(form.b_type)) && !(eight_bit_float(form.type) && eight_bit_float(form.b_type)))
    return "a warpgroup product of types that do not go together";
  if ((form.mn_a || form.mn_b) && number_bits(form.type) != 16) return "only 16-bit operands may be MN-major: a product";
  if (integers != (form.sums == Sums::s32)) return "8-bit integers, and they alone, are summed in s32: a product";
  if (form.sums == Sums::f16 && form.type != Number::f16 && !eight_bit_float(form.type)) return "only f16 and 8-bit floats are summed in f16: a product";
  return nullptr;
}

struct Issue {
  ProductForm form;
  uint32_t* d;
  const uint32_t* registers;
  uint32_t metadata = 0;
};

// Whether ordinary code wrote the accumulator after its last product, without a fence since.
bool lacks_fence(const WarpgroupProducts& of, const WarpgroupProducts::PerWarp& warp, const Issue& issue) {
  if (warp.fences == 0) return true;
  if (issue.registers && warp.fences == warp.fences_at_commit) return true;
  const auto found = of.accumulators.find(issue.d);
  if (found == of.accumulators.end() || found->second.under_way) return false;
  const auto words = static_cast<size_t>(issue.form.words());
  const Accumulator& left = found->second;
  return warp.fences == left.fences && (left.values.size() != words || std::memcmp(left.values.data(), issue.d, 4 * words) != 0);
}

// A warp has issued a product: its lanes join that of the other warps; the last of the four starts it.
void issue(Machine& machine, Group& group) {
  Gpu& gpu = static_cast<Gpu&>(machine);
  const uint32_t warp_number = group.members[0]->warp;
  WarpgroupProducts& of = *gpu.products[warp_number / 4];
  const uint32_t w = warp_number % 4;
  WarpgroupProducts::PerWarp& warp = of.warps[w];
  const Issue& first = *static_cast<Issue*>(group.arguments[0]);
  const auto wrong = [&](Fault fault, const std::string& what) { gpu.record(fault, group.members[0], what); };
  if (lacks_fence(of, warp, first))
    return wrong(Fault::protocol, "a product whose registers ordinary code wrote, with no wgmma_fence in between");
  const uint64_t number = warp.issued++;
  while (of.first + of.queue.size() <= number) {
    of.queue.emplace_back();
    of.queue.back().form = first.form;
  }
  Product& product = of.queue[number - of.first];
  const ProductForm& its = product.form;
  if (!its.same(first.form))
    return wrong(Fault::divergence, "the warps of a warpgroup issue different products: the other at " + gpu.place(its.line));
  product.issued |= 1u << w;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const Issue& one = *static_cast<Issue*>(group.arguments[lane]);
    Accumulator& accumulator = of.accumulator_at(32 * w + lane, one.d);
    product.lanes[32 * w + lane] = {group.members[lane], one.d, one.registers, one.metadata, &accumulator};
    const auto count = static_cast<size_t>(its.words());
    if (accumulator.under_way++ == 0) {
      accumulator.values.assign(one.d, one.d + count);
      std::fill_n(one.d, count, kPoisonBits);
    } else if (accumulator.values.size() != count) {
      return wrong(Fault::protocol, "products of different widths write one accumulator at a time");
    }
  }
  if (product.issued != 15) return;
  if (gpu.races())
    if (const std::string race = note_reads(gpu, of, product, number); !race.empty()) return wrong(Fault::race, race);
  if (gpu.schedule().products == Timing::early)
    if (const std::string what = execute(gpu, product); !what.empty()) return wrong(Fault::out_of_bounds, what);
  gpu.wake(of.waiting);
}

// The lanes' accumulators of all products that the warp has now waited for become readable.
void release(Gpu& gpu, uint32_t warp_number, uint64_t end) {
  WarpgroupProducts& of = *gpu.products[warp_number / 4];
  const uint32_t w = warp_number % 4;
  WarpgroupProducts::PerWarp& warp = of.warps[w];
  for (; warp.released < end; ++warp.released) {
    Product& product = of.queue[warp.released - of.first];
    product.waited |= 1u << w;
    for (uint32_t lane = 32 * w; lane < 32 * w + 32; ++lane) {
      uint32_t* const d = product.lanes[lane].d;
      Accumulator& accumulator = *product.lanes[lane].accumulator;
      if (--accumulator.under_way) continue;
      std::copy(accumulator.values.begin(), accumulator.values.end(), d);
      accumulator.fences = warp.fences;
    }
  }
  while (!of.queue.empty() && of.queue.front().waited == 15) {
    of.queue.pop_front();
    ++of.first;
  }
}

void count_fence(Machine& machine, Group& group) {
  Gpu& gpu = static_cast<Gpu&>(machine);
  const uint32_t warp = group.members[0]->warp;
  ++gpu.products[warp / 4]->warps[warp % 4].fences;
}

void count_commit(Machine& machine, Group& group) {
  Gpu& gpu = static_cast<Gpu&>(machine);
  const uint32_t number = group.members[0]->warp;
  WarpgroupProducts::PerWarp& warp = gpu.products[number / 4]->warps[number % 4];
  warp.groups.push_back(warp.issued);
  warp.committed = warp.issued;
  warp.fences_at_commit = warp.fences;
}

}  // namespace
}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_wgmma_fence(int line) { at(line).meet_warp("wgmma_fence", static_cast<uint64_t>(line), nullptr, &count_fence); }
void tlemu_wgmma_commit(int line) { at(line).meet_warp("wgmma_commit", static_cast<uint64_t>(line), nullptr, &count_commit); }

void tlemu_wgmma_wait(int pending, int line) {
  Gpu& gpu = at(line);
  gpu.meet_warp("wgmma_wait", static_cast<uint64_t>(line) << 8 | static_cast<uint64_t>(pending), nullptr, nullptr);
  WarpgroupProducts& of = own(gpu);
  WarpgroupProducts::PerWarp& warp = own_warp(gpu);
  if (warp.groups.size() <= static_cast<size_t>(pending)) return;
  const uint64_t end = warp.groups[warp.groups.size() - static_cast<size_t>(pending) - 1];
  // All four warps must have issued what this one waits for; then it is done for all of them.
  for (uint64_t number = warp.released; number < end; ++number) {
    while (number >= of.first && of.queue[number - of.first].issued != 15) gpu.wait(of.waiting, "wgmma_wait, for the other warps of its warpgroup,");
    if (number < of.first) continue;
    Product& product = of.queue[number - of.first];
    if (product.done) continue;
    if (const std::string what = execute(gpu, product); !what.empty()) gpu.fail(Fault::out_of_bounds, what + " in the product of " + gpu.place(product.form.line));
  }
  // The last lane of the warp ends the groups.
  gpu.meet_warp("wgmma_wait", static_cast<uint64_t>(line) << 8 | static_cast<uint64_t>(pending), nullptr, [](Machine& machine, Group& group) {
    Gpu& self = static_cast<Gpu&>(machine);
    const uint32_t number = group.members[0]->warp;
    WarpgroupProducts::PerWarp& waited = self.products[number / 4]->warps[number % 4];
    const auto keep = static_cast<size_t>(group.tag & 0xff);
    if (waited.groups.size() <= keep) return;
    const uint64_t last = waited.groups[waited.groups.size() - keep - 1];
    release(self, number, last);
    waited.groups.erase(waited.groups.begin(), waited.groups.end() - static_cast<int64_t>(keep));
    const uint32_t component = self.products[number / 4]->component;
    if (self.races() && component)
      for (const Thread* member : group.members) self.races()->tell(*member, component, static_cast<uint32_t>(last));
  });
}

namespace {

void issue_product(Issue own_issue) {
  Gpu& gpu = at(own_issue.form.line);
  const ProductForm& form = own_issue.form;
  if (gpu.threads_per_block() % 128 && gpu.self().index / 128 == gpu.threads_per_block() / 128)
    gpu.fail(Fault::protocol, "a warpgroup product in a warpgroup that is not whole");
  if (const char* const why = not_a_form(form)) gpu.fail(Fault::protocol, std::string(why) + ", of width " + std::to_string(form.n));
  const int types = static_cast<int>(form.type) * 8 + form.accumulate, others = static_cast<int>(form.b_type) * 4 + static_cast<int>(form.sums);
  const uint64_t tag = (form.a * 31 + form.b) * 31 + static_cast<uint64_t>((form.n * 64 + types) * 32 + others) * 65536 + static_cast<uint64_t>(form.line);
  gpu.meet_warp("wgmma", tag, &own_issue, &issue);
}

}  // namespace

void tlemu_wgmma(void* d, int n, int sums, int a_type, int b_type, uint64_t a, const uint32_t* registers, uint64_t b, int accumulate,
                 int mn_a, int mn_b, int line) {
  issue_product({{n, line, static_cast<Sums>(sums), static_cast<Number>(a_type), static_cast<Number>(b_type), registers ? 0 : a, b, accumulate != 0,
                  mn_a != 0, mn_b != 0, registers != nullptr}, static_cast<uint32_t*>(d), registers});
}

void tlemu_wgmma_sp(void* d, int n, int sums, int a_type, int b_type, uint64_t a, uint64_t b, uint32_t metadata, int accumulate, int mn_b, int line) {
  issue_product({{n, line, static_cast<Sums>(sums), static_cast<Number>(a_type), static_cast<Number>(b_type), a, b, accumulate != 0, false, mn_b != 0,
                  false, true}, static_cast<uint32_t*>(d), nullptr, metadata});
}

namespace {

int registers_of(const Gpu& gpu, uint32_t warp) {
  if (gpu.registers[warp]) return gpu.registers[warp];
  const auto threads = static_cast<int>(gpu.threads_per_block());
  return std::min(65536 / threads / 8 * 8, 255 / 8 * 8);
}

struct Setmaxnreg {
  int registers;
  bool grow;
};

}  // namespace

// The block's registers are handed over between warps: an increase waits until enough were given back.
void tlemu_setmaxnreg(int registers, int grow, int line) {
  Gpu& gpu = at(line);
  if (registers < 24 || registers > 256 || registers % 8) gpu.fail(Fault::protocol, "setmaxnreg of " + std::to_string(registers));
  gpu.meet_warp("setmaxnreg", static_cast<uint64_t>(line), nullptr, nullptr);
  const uint32_t number = gpu.self().warp;
  if (gpu.registers[number] == registers) return;  // another lane of the warp was here
  const int now = registers_of(gpu, number);
  if (grow ? registers < now : registers > now)
    gpu.fail(Fault::protocol, "setmaxnreg from " + std::to_string(now) + " to " + std::to_string(registers) + " in the wrong direction");
  const auto free = [&] {
    const auto warps = static_cast<uint32_t>((gpu.threads_per_block() + 31) / 32);
    int total = 0, used = 0;
    const int launched = std::min(65536 / static_cast<int>(gpu.threads_per_block()) / 8 * 8, 248);
    for (uint32_t w = gpu.block().first_warp; w < gpu.block().first_warp + warps; ++w) total += launched, used += registers_of(gpu, w);
    return total - used;
  };
  while (grow && gpu.registers[number] != registers && free() < registers - now) gpu.wait(gpu.register_waiters, "setmaxnreg, for registers of other warps,");
  gpu.registers[number] = registers;
  gpu.wake(gpu.register_waiters);
}
