// Expressions to bytecode and the launch recipe.
#include "jit/artifact_builder.h"

#include <unordered_map>

#include "arith/build.h"
#include "codegen/workspace.h"
#include "ir/report.h"
#include "jit/generate.h"
#include "jit/version.h"
#include "support/refusal.h"

namespace tilert::jit {
namespace {

using codegen::GeneratedKernel;
using codegen::GeneratedProgram;
using codegen::KernelParameter;
using runtime::BytecodeBuilder;

class Builder {
 public:
  Builder(const ir::Program& source, const GeneratedProgram& generated, const std::vector<passes::DimChoice>& choices)
      : source_(source), generated_(generated), program_(generated.program), choices_(choices) {
    for (uint32_t i = 0; i < program_.dims.size(); ++i) dims_[program_.dims[i].var] = i;
    for (uint32_t i = 0; i < program_.parameters.size(); ++i)
      if (program_.parameters[i].kind == ir::Parameter::Kind::scalar) scalars_[program_.parameters[i].var] = i;
  }

  Result<runtime::Artifact> run() {
    switch (generated_.language) {
      case codegen::Language::cuda: out_.kind = runtime::CodeKind::cubin; break;
      case codegen::Language::hip: out_.kind = runtime::CodeKind::code_object; break;
      case codegen::Language::llvm_ir: out_.kind = runtime::CodeKind::cpu_object; break;
    }
    out_.target = generated_.target;
    for (const ir::Parameter& p : program_.parameters) TILERT_TRY(parameter(p));
    for (size_t i = 0; i < program_.dims.size(); ++i) dim(i);
    for (const GeneratedKernel& k : generated_.kernels) TILERT_TRY(kernel(k));
    if (generated_.workspace.bytes) {
      TILERT_ASSIGN(out_.workspace.bytes, expr(generated_.workspace.bytes));
      TILERT_ASSIGN(out_.workspace.zero_bytes, expr(generated_.workspace.zero_bytes));
      if (ir::has_reports(source_)) {
        TILERT_ASSIGN(out_.diagnostics_bytes, code_.try_emit(code_.constant(ir::kReportRingBytes)));
      }
      out_.workspace.alignment = static_cast<uint32_t>(codegen::kWorkspaceAlignment);
    }
    if (const ir::Expr holds = guard()) {
      TILERT_ASSIGN(out_.guard, expr(holds));
    }
    out_.configuration = generated_.configuration.empty() ? "{}" : generated_.configuration;
    out_.provenance.library_build = kLibraryBuild;
    out_.provenance.generator_version = kGeneratorVersion;
    out_.bytecode = code_.take();
    return std::move(out_);
  }

 private:
  Result<runtime::Expr> expr(ir::Expr e) {
    TILERT_ASSIGN(BytecodeBuilder::Value v, value(e));
    return code_.try_emit(v);
  }

  Result<BytecodeBuilder::Value> value(ir::Expr e) {
    if (e->is_constant()) return code_.constant(e->as_int());
    if (e->is_variable()) {
      const auto dim = dims_.find(e->var());
      if (dim != dims_.end()) return code_.dim(dim->second);
      const auto scalar = scalars_.find(e->var());
      if (scalar != scalars_.end()) return code_.scalar(scalar->second);
      return make_error(Code::kInternal, "a launch expression of '{}' reads variable {} of the kernel; please report its dump",
                        program_.name, e->var());
    }
    BytecodeBuilder::Value operands[3];
    for (int i = 0; i < e->arity; ++i) {
      TILERT_ASSIGN(operands[i], value(e->operand[i]));
    }
    using runtime::Op;
    const auto x = operands[0], y = operands[1];
    switch (e->op) {
      case ir::Op::add: return code_.add(x, y);
      case ir::Op::sub: return code_.sub(x, y);
      case ir::Op::mul: return code_.mul(x, y);
      case ir::Op::div: return code_.floordiv(x, y);
      case ir::Op::mod: return code_.floormod(x, y);
      case ir::Op::min: return code_.min(x, y);
      case ir::Op::max: return code_.max(x, y);
      case ir::Op::neg: return code_.sub(code_.constant(0), x);
      case ir::Op::select: return code_.select(x, y, operands[2]);
      case ir::Op::eq: return code_.binary(Op::eq, x, y);
      case ir::Op::ne: return code_.binary(Op::ne, x, y);
      case ir::Op::lt: return code_.binary(Op::lt, x, y);
      case ir::Op::le: return code_.binary(Op::le, x, y);
      case ir::Op::logical_and: return code_.binary(Op::logical_and, x, y);
      case ir::Op::logical_or: return code_.binary(Op::logical_or, x, y);
      case ir::Op::logical_not: return code_.unary(Op::logical_not, x);
      case ir::Op::cast:
        if (dtype_bits(e->dtype) == 64 && !dtype_is_float(e->operand[0]->dtype)) return x;
        break;
      default: break;
    }
    return refusal(fmt::format("program '{}': '{}' is not possible in a grid, stride or parameter expression", program_.name,
                               ir::op_row(e->op).text),
                   "compute it on the host and pass a dim", "; ");
  }

  Status parameter(const ir::Parameter& p) {
    runtime::Param out;
    out.name = p.name;
    if (p.kind == ir::Parameter::Kind::scalar) {
      out.kind = runtime::ParamKind::scalar;
      out.dtype = program_.vars[p.var].dtype;
      out_.params.push_back(std::move(out));
      return {};
    }
    const ir::Buffer& b = source_.buffer(p.buffer);
    out.dtype = b.dtype;
    out.access = b.direction == ir::Direction::in ? runtime::Access::in
                 : b.direction == ir::Direction::out ? runtime::Access::out : runtime::Access::inout;
    out.alignment = static_cast<uint32_t>(b.alignment);
    out.may_alias = b.may_alias;
    if (ir::is_table(b)) out.kind = runtime::ParamKind::pointer_table;
    for (size_t d = 0; d < b.shape.size(); ++d) {
      runtime::TensorDim dim;
      TILERT_ASSIGN(dim.size, expr(b.shape[d]));
      if (d == 0 && ir::is_table(b)) {
        dim.rule = runtime::StrideRule::free;
      } else if (!b.contiguous) {
        dim.rule = runtime::StrideRule::given;
        TILERT_ASSIGN(dim.stride, expr(b.strides[d]));
      }
      out.dims.push_back(dim);
    }
    out_.params.push_back(std::move(out));
    return {};
  }

  void dim(size_t i) {
    const passes::DimChoice& choice = choices_[i];
    runtime::Dim out;
    out.name = program_.vars[program_.dims[i].var].name;
    if (choice.value) {
      out.kind = runtime::DimKind::constant;
      out.first = *choice.value;
    } else if (choice.divisor > 1 && !choice.is_range()) {
      out.kind = runtime::DimKind::divisible;
      out.first = choice.divisor;
    } else if (choice.is_range()) {
      out.kind = runtime::DimKind::range;
      out.first = choice.low;
      out.last = choice.high;
    }
    out_.dims.push_back(std::move(out));
  }

  // Besides what the code asks for: a dim's rule is a range or a divisor, and of one that is both the divisor is left.
  ir::Expr guard() {
    ir::Arena& arena = *program_.arena;
    ir::Expr all = generated_.guard;
    for (size_t i = 0; i < program_.dims.size(); ++i) {
      const passes::DimChoice& choice = choices_[i];
      if (choice.value || !choice.is_range() || choice.divisor <= 1) continue;
      const ir::Expr rest = arith::mod(arena, program_.var(program_.dims[i].var), choice.divisor);
      all = arith::logical_and(arena, all, arith::eq(arena, rest, 0));
    }
    return all;
  }

  Status kernel(const GeneratedKernel& k) {
    runtime::Kernel out;
    out.entry = k.entry;
    for (size_t d = 0; d < 3; ++d) {
      TILERT_ASSIGN(out.grid[d], expr(k.grid[d]));
    }
    out.threads[0] = static_cast<uint32_t>(k.threads);
    for (int d = 0; d < 3; ++d) out.cluster[d] = static_cast<uint32_t>(k.cluster[d]);
    out.shared_bytes = static_cast<uint32_t>(k.shared_bytes);
    TILERT_TRY(sizes(k.block, "block size", out.threads, out.thread_exprs));
    TILERT_TRY(sizes(k.cluster_exprs, "cluster size", out.cluster, out.cluster_exprs));
    if (k.shared_expr) TILERT_TRY(sizes({k.shared_expr}, "shared memory size", &out.shared_bytes, &out.shared_expr));
    const bool open_cluster = out.cluster_exprs[0] || out.cluster_exprs[1] || out.cluster_exprs[2];
    if (open_cluster || out.cluster[0] * out.cluster[1] * out.cluster[2] > 1) out.features |= runtime::kNeedsLaunchEx;
    if (k.planner) out.attributes |= runtime::kKernelPlanner;
    if (k.tile_cost) TILERT_TRY(schedule(k, out));
    if (k.persistent) out.attributes |= runtime::kKernelPersistent;
    if (k.cooperative) out.attributes |= runtime::kKernelCooperative;
    if (k.dependent) out.attributes |= runtime::kKernelPdl;
    for (const KernelParameter& p : k.parameters) TILERT_TRY(slot(p, out));
    out_.kernels.push_back(std::move(out));
    return {};
  }

  // A tile's indices stand behind the dims.
  Status schedule(const GeneratedKernel& k, runtime::Kernel& out) {
    for (size_t d = 0; d < k.tile_vars.size(); ++d) {
      TILERT_ASSIGN(out.tiles[d], expr(k.tile_extents[d]));
      dims_[k.tile_vars[d]] = static_cast<uint32_t>(program_.dims.size() + d);
    }
    TILERT_ASSIGN(out.tile_cost, expr(k.tile_cost));
    if (k.tile_locality) {
      TILERT_ASSIGN(out.tile_locality, expr(k.tile_locality));
    }
    for (ir::VarId var : k.tile_vars) dims_.erase(var);
    return {};
  }

  // Numbers where they are known, else what a launch works out; on a CPU they are known when the kernel is loaded.
  Status sizes(const std::vector<ir::Expr>& list, const char* what, uint32_t* numbers, runtime::Expr* exprs) {
    for (size_t d = 0; d < list.size(); ++d) {
      if (list[d]->is_constant()) {
        numbers[d] = static_cast<uint32_t>(list[d]->as_int());
        continue;
      }
      if (generated_.language != codegen::Language::cuda)
        return refusal(fmt::format("source kernel '{}': its {} depends on a dim that has no value", program_.name, what),
                       "bind the dim when the kernel is made", "; ");
      TILERT_ASSIGN(exprs[d], expr(list[d]));
    }
    return {};
  }

  Status slot(const KernelParameter& p, runtime::Kernel& out) {
    runtime::Slot slot;
    switch (p.kind) {
      case KernelParameter::Kind::pointer:
        slot.kind = runtime::SlotKind::pointer;
        slot.index = static_cast<uint16_t>(program_.buffer(p.buffer).parameter);
        break;
      case KernelParameter::Kind::value: {
        const auto scalar = p.value->is_variable() ? scalars_.find(p.value->var()) : scalars_.end();
        if (scalar != scalars_.end()) {
          slot.kind = runtime::SlotKind::scalar;
          slot.index = static_cast<uint16_t>(scalar->second);
          slot.bytes = static_cast<uint8_t>(dtype_bytes(p.value->dtype));
        } else {
          slot.kind = runtime::SlotKind::expression;
          TILERT_ASSIGN(slot.expr, expr(p.value));
        }
        break;
      }
      case KernelParameter::Kind::tensor_map:
        slot.kind = runtime::SlotKind::tensor_map;
        slot.bytes = runtime::kTensorMapBytes;
        slot.index = static_cast<uint16_t>(out.tensor_maps.size());
        out.features |= runtime::kNeedsTensorMap;
        TILERT_TRY(tensor_map(p.map, out));
        break;
      case KernelParameter::Kind::blocks:
        slot.kind = runtime::SlotKind::blocks;
        slot.bytes = 4;
        while (slot.index + 1u < generated_.kernels.size() && !generated_.kernels[slot.index].tile_cost) ++slot.index;
        break;
      case KernelParameter::Kind::workspace: {
        slot.kind = runtime::SlotKind::workspace;
        const ir::Expr offset = generated_.workspace.offsets.at(p.buffer);
        if (offset->is_constant() && offset->as_int() == 0) break;
        TILERT_ASSIGN(slot.expr, expr(offset));
        break;
      }
    }
    out.slots.push_back(slot);
    return {};
  }

  Status tensor_map(const codegen::TensorMap& map, runtime::Kernel& out) {
    const ir::Buffer& b = program_.buffer(map.buffer);
    runtime::TensorMapRecipe recipe;
    recipe.param = static_cast<uint16_t>(b.parameter);
    recipe.dtype = map.tf32 ? DType::tf32 : b.dtype;
    recipe.rank = static_cast<uint8_t>(map.dims.size());
    for (size_t d = 0; d < map.dims.size(); ++d) {
      TILERT_ASSIGN(recipe.dims[d], expr(map.dims[d]));
      recipe.box[d] = static_cast<uint32_t>(map.box[d]);
      if (d == 0) continue;
      TILERT_ASSIGN(BytecodeBuilder::Value stride, value(map.strides[d - 1]));
      TILERT_ASSIGN(recipe.strides[d], code_.try_emit(code_.mul(stride, code_.constant(dtype_bytes(b.dtype)))));
    }
    recipe.swizzle = map.swizzle == 128 ? runtime::Swizzle::b128 : map.swizzle == 64 ? runtime::Swizzle::b64
                     : map.swizzle == 32 ? runtime::Swizzle::b32 : runtime::Swizzle::none;
    recipe.l2 = runtime::L2Promotion::b128;  // with 256 bytes few tokens take 2 to 4 % longer (H200, nine products)
    out.tensor_maps.push_back(recipe);
    return {};
  }

  const ir::Program& source_;
  const GeneratedProgram& generated_;
  const ir::Program& program_;
  const std::vector<passes::DimChoice>& choices_;
  std::unordered_map<ir::VarId, uint32_t> dims_, scalars_;
  BytecodeBuilder code_;
  runtime::Artifact out_;
};

}  // namespace

Result<runtime::Artifact> build_artifact(const ir::Program& source, const GeneratedProgram& generated,
                                         const std::vector<passes::DimChoice>& dims) {
  return Builder(source, generated, dims).run();
}

void attach_code(runtime::Artifact& artifact, const Binary& binary) {
  artifact.code.assign(binary.bytes.begin(), binary.bytes.end());
  switch (binary.kind) {
    case BinaryKind::cubin: artifact.kind = runtime::CodeKind::cubin; break;
    case BinaryKind::ptx: artifact.kind = runtime::CodeKind::ptx; break;
    case BinaryKind::object: artifact.kind = runtime::CodeKind::cpu_object; break;
    case BinaryKind::code_object: artifact.kind = runtime::CodeKind::code_object; break;
  }
  artifact.provenance.compiler = binary.compiler;
  for (runtime::Kernel& k : artifact.kernels)
    for (const LoweredName& n : binary.lowered_names)
      if (n.expression == k.entry) k.entry = n.name;
}

}  // namespace tilert::jit
