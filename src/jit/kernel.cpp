// The table of variants of a kernel, and loading them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "arith/prover.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "jit/generate.h"
#include "jit/jit.h"
#include "support/refusal.h"

namespace tilert::jit {
namespace {

using passes::DimChoice;

constexpr size_t kMaxVariants = 64;

struct DimOptions {
  std::vector<DimChoice> choices;
};

// What a dynamic dim must be a multiple of so that the rows whose stride it sets start on 16 bytes: the least power of two
// that is enough by itself, 1 where rows start there anyway.
int64_t row_divisor(const ir::Program& program, const ir::Dim& dim, const arith::Facts& facts) {
  int64_t divisor = 1;
  for (const ir::Buffer& b : program.buffers) {
    if (b.scope != ir::Scope::global) continue;
    const int64_t unit = 128 / std::gcd(128, dtype_bits(b.dtype));
    for (size_t d = 0; d + 1 < b.strides.size(); ++d) {
      if (!ir::uses_var(b.strides[d], dim.var)) continue;
      const auto enough = [&](int64_t n) {
        arith::Facts with = facts;
        with.set_multiple(dim.var, std::lcm(n, dim.divisible));
        return arith::multiple_of(b.strides[d], unit, with);
      };
      while (divisor < unit && !enough(divisor)) divisor *= 2;
    }
  }
  return divisor;
}

// What is declared of all the dim's values holds in each of its buckets.
DimChoice from_bucket(const ir::Bucket& bucket, int64_t divisible) {
  DimChoice choice;
  choice.divisor = divisible;
  if (bucket.kind == ir::Bucket::Kind::divisor) {
    choice.divisor = std::lcm(bucket.divisor, divisible);
  } else {
    choice.low = bucket.low;
    choice.high = bucket.high;
  }
  return choice;
}

// All combinations of the dims' own buckets; dims that set strides are aligned all together or not at all.
Result<std::vector<std::vector<DimChoice>>> combinations(const ir::Program& program, const KernelOptions& options) {
  std::vector<DimOptions> dims(program.dims.size());
  std::vector<int64_t> row(program.dims.size(), 1);
  bool by_rows = false;
  arith::Facts facts(program);
  for (const DimBinding& b : options.dims)
    if (b.value && b.dim < dims.size()) facts.set_range(program.dims[b.dim].var, *b.value, *b.value);
  for (size_t i = 0; i < dims.size(); ++i) {
    const ir::Dim& dim = program.dims[i];
    std::vector<ir::Bucket> buckets = dim.buckets;
    std::optional<int64_t> value = dim.value;
    for (const DimBinding& b : options.dims) {
      if (b.dim != i) continue;
      if (b.value) value = b.value;
      if (!b.buckets.empty()) buckets = b.buckets;
    }
    DimChoice promised;
    promised.divisor = dim.divisible;
    if (value) {
      if (*value < 0) return make_error(Code::kInvalidArgument, "dim '{}' cannot be {}", program.vars[dim.var].name, *value);
      if (*value % dim.divisible != 0)
        return make_error(Code::kInvalidArgument, "dim '{}' is declared a multiple of {}, and {} is not", program.vars[dim.var].name, dim.divisible, *value);
      dims[i].choices.push_back({value, 1, *value, *value});
    } else if (!buckets.empty()) {
      for (const ir::Bucket& b : buckets) dims[i].choices.push_back(from_bucket(b, dim.divisible));
    } else {
      dims[i].choices.push_back(promised);
      row[i] = row_divisor(program, dim, facts);
      if (row[i] > 1 && dim.divisible % row[i] != 0) by_rows = true;
    }
  }
  std::vector<std::vector<DimChoice>> all{{}};
  for (const DimOptions& d : dims) {
    std::vector<std::vector<DimChoice>> next;
    for (const auto& prefix : all)
      for (const DimChoice& c : d.choices) {
        next.push_back(prefix);
        next.back().push_back(c);
      }
    if (next.size() > kMaxVariants)
      return refusal(fmt::format("program '{}': its buckets make more than {} variants", program.name, kMaxVariants), "bind some dims", "; ");
    all = std::move(next);
  }
  if (!by_rows) return all;
  std::vector<std::vector<DimChoice>> both;
  for (const auto& choices : all) {
    both.push_back(choices);
    for (size_t i = 0; i < choices.size(); ++i)
      if (row[i] > 1) both.back()[i].divisor = std::lcm(both.back()[i].divisor, row[i]);
  }
  both.insert(both.end(), all.begin(), all.end());
  return both;
}

std::string conditions(const ir::Program& program, const std::vector<DimChoice>& choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    const std::string& name = program.vars[program.dims[i].var].name;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (choices[i].value) add(fmt::format("{} = {}", name, *choices[i].value));
    else if (choices[i].divisor > 1) add(fmt::format("{} % {} == 0", name, choices[i].divisor));
    if (!choices[i].value && choices[i].is_range()) add(fmt::format("{} <= {} <= {}", choices[i].low, name, choices[i].high));
  }
  return text;
}

bool takes(const std::vector<DimChoice>& choices, std::span<const int64_t> dims) {
  for (size_t i = 0; i < choices.size() && i < dims.size(); ++i) {
    if (dims[i] < 0) continue;
    const DimChoice& c = choices[i];
    if (c.value ? dims[i] != *c.value : dims[i] % c.divisor != 0 || dims[i] < c.low || dims[i] > c.high) return false;
  }
  return true;
}

RequestKey key_of(const std::string& canonical, const ir::Program& program, const std::vector<DimChoice>& choices,
                  const Target& target, const DeviceClass& device) {
  RequestFields fields;
  fields.program = canonical;
  fields.target = target.text;
  fields.device_class = device.text();
  for (size_t i = 0; i < choices.size(); ++i) {
    // Dims are known by position: names are labels.
    if (choices[i].value) fields.bound_dims.emplace_back(fmt::format("{:04}", i), *choices[i].value);
    else fields.options.emplace_back(fmt::format("dim {:04}", i), fmt::format("{} {} {}", choices[i].divisor, choices[i].low, choices[i].high));
  }
  (void)program;
  return request_key(fields);
}

}  // namespace

Result<std::shared_ptr<Kernel>> Kernel::create(std::shared_ptr<Context> context, std::shared_ptr<const ir::Program> program,
                                               const KernelOptions& options) {
  if (!context->options().allow_source && ir::holds_source(*program))
    return make_error(Code::kSourceRefused, "program '{}' holds source text; give the context TILERT_ALLOW_SOURCE to compile it", program->name);
  for (const DimBinding& b : options.dims)
    if (b.dim >= program->dims.size())
      return make_error(Code::kInvalidArgument, "program '{}' has {} dims; there is no dim {}", program->name, program->dims.size(), b.dim);
  TILERT_ASSIGN(const Target target, parse_target(options.target));
  const DeviceClass device = options.device_class.value_or(target.device_class);
  TILERT_ASSIGN(const auto all, combinations(*program, options));
  const std::string canonical = ir::canonical_text(*program);
  auto kernel = std::make_shared<Kernel>();
  kernel->context_ = context;
  for (const auto& choices : all) {
    auto variant = std::make_shared<Variant>();
    variant->context_ = context;
    variant->program_ = program;
    variant->target_ = target;
    variant->device_ = device;
    variant->choices_ = choices;
    variant->key_ = key_of(canonical, *program, choices, target, device);
    variant->conditions_ = conditions(*program, choices);
    kernel->variants_.push_back(std::move(variant));
  }
  return kernel;
}

Status Kernel::compile() {
  for (const auto& v : variants_) {
    auto artifact = v->compile();
    if (!artifact) return std::move(artifact).error();
  }
  return {};
}

Result<runtime::LoadedPtr> Kernel::prepare(const std::shared_ptr<runtime::Device>& device, std::span<const int64_t> dims) {
  std::vector<runtime::ArtifactPtr> artifacts;
  for (const auto& v : variants_) {
    if (!takes(v->choices_, dims)) continue;
    TILERT_ASSIGN(runtime::ArtifactPtr artifact, v->compile());
    artifacts.push_back(std::move(artifact));
  }
  if (artifacts.empty()) return make_error(Code::kNotReady, "no variant of the kernel takes these dims");
  std::lock_guard lock(mutex_);
  std::erase_if(loaded_, [](const auto& l) { return l.first.expired(); });
  for (auto& [known, loaded] : loaded_) {
    if (known.lock() != device) continue;
    TILERT_TRY(loaded->add(artifacts));
    return loaded;
  }
  TILERT_ASSIGN(runtime::LoadedPtr loaded, device->load(artifacts));
  ++context_->counters().loads;
  loaded_.emplace_back(device, loaded);
  return loaded;
}

}  // namespace tilert::jit
