// Runs a tile program on host data twice: by the interpreter, and compiled for a CPU.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "arith/simplify.h"
#include "codegen/llvm_program.h"
#include "compiler/llvm_plugin.h"
#include "ir/evaluate.h"
#include "ir/interpreter.h"
#include "ir/visit.h"
#include "passes/specialize.h"
#include "target/target.h"

namespace tilert::test {

struct CpuArguments {
  std::vector<std::vector<uint8_t>> tensors;  // one per parameter; empty for scalars
  std::vector<uint64_t> scalars;              // one per parameter
  std::vector<int64_t> dims;
};

inline uint8_t* aligned_scratch(std::vector<uint8_t>& storage, int64_t bytes) {
  storage.assign(static_cast<size_t>(bytes) + 8192, 0xA5);
  const auto address = reinterpret_cast<uintptr_t>(storage.data());
  return storage.data() + ((address + 4095) / 4096 * 4096 - address);
}

struct Compiled {
  codegen::GeneratedProgram generated;
  LoadedObject object;
};

inline Result<Compiled> compile_for(const ir::Program& program, const std::vector<passes::DimChoice>& dims, const std::string& target) {
  TILERT_ASSIGN(const Target parsed, parse_target(target));
  TILERT_ASSIGN(passes::Module module, passes::specialize(program, dims));
  Compiled out;
  TILERT_ASSIGN(out.generated, codegen::generate_llvm(std::move(module), {parsed, parsed.device_class}));
  TILERT_ASSIGN(const LlvmPlugin* plugin, LlvmPlugin::get());
  LlvmRequest request;
  request.ir = out.generated.source;
  request.cpu = parsed.llvm_cpu;
  request.features = parsed.llvm_features;
  TILERT_ASSIGN(const std::string object, plugin->compile(request));
  TILERT_ASSIGN(out.object, plugin->load_object(object));
  return out;
}

using Entry = void(const uint64_t*, int64_t, int64_t, const int64_t*, void*);

inline std::unordered_map<ir::VarId, ir::Expr> bindings(const ir::Program& p, const CpuArguments& arguments) {
  std::unordered_map<ir::VarId, ir::Expr> values;
  for (size_t i = 0; i < p.dims.size(); ++i) values[p.dims[i].var] = p.arena->index(arguments.dims[i]);
  for (size_t i = 0; i < p.parameters.size(); ++i)
    if (p.parameters[i].kind == ir::Parameter::Kind::scalar)
      values[p.parameters[i].var] = p.arena->constant(p.vars[p.parameters[i].var].dtype, arguments.scalars[i]);
  return values;
}

// Every kernel, its blocks in two calls.
inline void launch(Compiled& compiled, CpuArguments& arguments) {
  const ir::Program& p = compiled.generated.program;
  const auto values = bindings(p, arguments);
  arith::Facts facts(*p.arena);
  arith::Simplifier simplifier(*p.arena, facts);
  const auto number = [&](ir::Expr e) { return simplifier.simplify(ir::substitute(*p.arena, e, values)); };
  for (const codegen::GeneratedKernel& kernel : compiled.generated.kernels) {
    std::vector<uint64_t> slots;
    for (const codegen::KernelParameter& k : kernel.parameters) {
      if (k.kind == codegen::KernelParameter::Kind::pointer) {
        slots.push_back(reinterpret_cast<uint64_t>(arguments.tensors[static_cast<size_t>(p.buffer(k.buffer).parameter)].data()));
      } else {
        slots.push_back(number(k.value)->bits);
      }
    }
    int64_t grid[3], blocks = 1;
    for (int d = 0; d < 3; ++d) blocks *= grid[d] = number(kernel.grid[static_cast<size_t>(d)])->as_int();
    std::vector<uint8_t> storage;
    void* scratch = aligned_scratch(storage, kernel.shared_bytes);
    auto entry = compiled.object.function<Entry>(kernel.entry.c_str());
    ASSERT_TRUE(entry);
    (*entry)(slots.data(), 0, blocks / 2, grid, scratch);
    (*entry)(slots.data(), blocks / 2, blocks, grid, scratch);
  }
}

inline Status interpret(const ir::Program& program, CpuArguments& arguments) {
  ir::HostArguments host;
  host.dims = arguments.dims;
  for (size_t i = 0; i < arguments.tensors.size(); ++i) {
    ir::HostArgument a;
    a.data = arguments.tensors[i].data();
    a.bytes = static_cast<int64_t>(arguments.tensors[i].size());
    a.scalar = arguments.scalars.empty() ? 0 : arguments.scalars[i];
    host.parameters.push_back(a);
  }
  return ir::interpret(program, host);
}

// Elements of each tensor for the given dims, in small integers (exact in every dtype) or in [-1, 1).
inline CpuArguments make_arguments(const ir::Program& p, std::vector<int64_t> dims, unsigned seed, bool small_integers = true) {
  CpuArguments out;
  out.dims = std::move(dims);
  out.scalars.resize(p.parameters.size());
  std::mt19937 random(seed);
  const auto values = bindings(p, out);
  arith::Facts facts(*p.arena);
  arith::Simplifier simplifier(*p.arena, facts);
  for (const ir::Parameter& parameter : p.parameters) {
    out.tensors.emplace_back();
    if (parameter.kind != ir::Parameter::Kind::tensor) continue;
    const ir::Buffer& b = p.buffer(parameter.buffer);
    int64_t count = 1;
    for (ir::Expr e : b.shape) count *= simplifier.simplify(ir::substitute(*p.arena, e, values))->as_int();
    out.tensors.back().resize(static_cast<size_t>(count * dtype_bytes(b.dtype)));
    for (int64_t i = 0; i < count; ++i) {
      const double value = small_integers ? static_cast<double>(static_cast<int>(random() % 7) - 3)
                                          : static_cast<double>(random() % 65536) / 32768.0 - 1.0;
      const uint64_t bits = b.dtype == DType::boolean ? random() % 2
                            : dtype_is_float(b.dtype) ? ir::double_to_bits(b.dtype, value)
                                                      : static_cast<uint64_t>(static_cast<int64_t>(value));
      ir::store_element(b.dtype, out.tensors.back().data() + i * dtype_bytes(b.dtype), bits);
    }
  }
  return out;
}

// The first difference of the two runs, or nothing. tolerance 0: the same bits, any NaN for a NaN.
inline std::string difference(const ir::Program& p, const CpuArguments& expected, const CpuArguments& got, double tolerance) {
  for (size_t i = 0; i < expected.tensors.size(); ++i) {
    if (p.parameters[i].kind != ir::Parameter::Kind::tensor) continue;
    const ir::Buffer& b = p.buffer(p.parameters[i].buffer);
    const size_t size = static_cast<size_t>(dtype_bytes(b.dtype));
    for (size_t at = 0; at < expected.tensors[i].size(); at += size) {
      const uint64_t want = ir::load_element(b.dtype, expected.tensors[i].data() + at);
      const uint64_t have = ir::load_element(b.dtype, got.tensors[i].data() + at);
      if (want == have) continue;
      const double w = ir::bits_to_double(b.dtype, want), h = ir::bits_to_double(b.dtype, have);
      if (dtype_is_float(b.dtype) && std::isnan(w) && std::isnan(h)) continue;
      if (tolerance > 0 && std::fabs(w - h) <= tolerance * (1 + std::fabs(w))) continue;
      return fmt::format("{}[{}]: want {} ({:#x}), got {} ({:#x})", b.name, at / size, w, want, h, have);
    }
  }
  return {};
}

// Interprets and runs; dims are given when compiled where `bound`.
inline void check(const ir::Program& program, const CpuArguments& arguments, const std::string& target, bool bound, double tolerance) {
  std::vector<passes::DimChoice> choices(program.dims.size());
  for (size_t i = 0; bound && i < choices.size(); ++i) choices[i].value = arguments.dims[i];
  CpuArguments expected = arguments, got = arguments;
  const Status interpreted = interpret(program, expected);
  ASSERT_TRUE(interpreted) << interpreted.error().message;
  auto compiled = compile_for(program, choices, target);
  ASSERT_TRUE(compiled) << compiled.error().message << "\n" << compiled.error().log << compiled.error().source;
  launch(*compiled, got);
  EXPECT_EQ(difference(program, expected, got, tolerance), "") << target << (bound ? " bound" : " dynamic");
}

}  // namespace tilert::test
