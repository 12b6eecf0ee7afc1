// Packing operands for the micro-kernels, with conversion on the way: see llvm_microkernel.h for the layouts.
// A *unit* is what one lane of a packed vector holds: an f32 converted from one source element, or for int8 a pair of
// i16 from two neighbours in k.
#include "codegen/llvm_convert.h"
#include "codegen/llvm_microkernel.h"

namespace tilert::codegen {
namespace {

const char* suffix(DType source) {
  switch (source) {
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::int8: return "i8";
    default: return "f32";
  }
}

class PackWriter {
 public:
  PackWriter(const CpuIsa& isa, DType source, Pack pack)
      : isa_(isa),
        kernel_(micro_kernel(isa, source == DType::int8 ? GemmKind::i8 : GemmKind::f32)),
        source_(source),
        pack_(pack),
        pairs_(source == DType::int8),
        in_(source == DType::f32 ? "float" : pairs_ ? "i8" : "i16"),
        unit_(pairs_ ? "i32" : "float") {}

  std::string write() {
    switch (pack_) {
      case Pack::b: write_b(); break;
      case Pack::b_transposed: write_b_transposed(); break;
      case Pack::a: write_a(); break;
      case Pack::a_transposed: write_a_transposed(); break;
    }
    t_.put("ret void");
    t_.end();
    return t_.take();
  }

 private:
  void begin(const char* extents, const char* last) {
    t_.begin(fmt::format("define internal void @{}(ptr noalias readonly %src, i64 %ld, {}, ptr noalias %dst, i64 {}) "
                         "noinline nounwind", pack_name(source_, pack_), extents, last));
  }

  std::string at(const std::string& base, const char* element, const std::string& index) {
    return t_.let("getelementptr inbounds {}, ptr {}, i64 {}", element, base, index);
  }
  std::string times(const std::string& a, const std::string& b) { return t_.let("mul nsw i64 {}, {}", a, b); }
  std::string times(const std::string& a, int64_t b) { return t_.let("mul nsw i64 {}, {}", a, b); }
  std::string plus(const std::string& a, const std::string& b) { return t_.let("add nsw i64 {}, {}", a, b); }
  std::string round_down(const std::string& a, int64_t b) { return times(t_.let("sdiv i64 {}, {}", a, b), b); }

  // ---- elements of the source

  std::string load_source(const std::string& p, int lanes) {
    return t_.let("load {}, ptr {}, align 1", vector_type(lanes, in_), p);
  }
  // To f32, or to i16 for int8.
  std::string convert(const std::string& value, int lanes) {
    if (source_ == DType::f16) return widen_f16(t_, isa_, lanes, value);
    if (source_ == DType::bf16) return widen_bf16(t_, lanes, value);
    if (pairs_) return t_.let("sext {} {} to {}", vector_type(lanes, "i8"), value, vector_type(lanes, "i16"));
    return value;
  }
  const char* packed_element() const { return pairs_ ? "i16" : "float"; }

  // One converted element, zero where `valid` is false; nothing is read then.
  std::string element_or_zero(const std::string& row, const std::string& index, const std::string& valid) {
    const std::string before = t_.block();
    const std::string yes = t_.fresh_label("inside"), after = t_.fresh_label("zero");
    t_.put("br i1 {}, label %{}, label %{}", valid, yes, after);
    t_.label(yes);
    const std::string value = convert(load_source(at(row, in_, index), 1), 1);
    t_.put("br label %{}", after);
    const std::string last = t_.block();
    t_.label(after);
    return t_.let("phi {} [ {}, %{} ], [ {}, %{} ]", packed_element(), value, last, pairs_ ? "0" : "0.0", before);
  }
  void store_element(const std::string& value, const std::string& base, const std::string& index) {
    t_.put("store {} {}, ptr {}, align {}", packed_element(), value, at(base, packed_element(), index), pairs_ ? 2 : 4);
  }

  // ---- b: rows of k pass into all panels

  void write_b() {
    begin("i64 %k, i64 %n", "%panel_stride");
    const int columns = kernel_.columns();
    const std::string whole = round_down("%n", columns);
    if (!pairs_) {
      emit_loop(t_, "0", "%k", 1, [&](const std::string& k) { b_group(k, k, "", whole); });
      return;
    }
    const std::string even = round_down("%k", 2);
    emit_loop(t_, "0", even, 2, [&](const std::string& k) { b_group(t_.let("sdiv i64 {}, 2", k), k, "true", whole); });
    emit_loop(t_, even, "%k", 1, [&](const std::string& k) { b_group(t_.let("sdiv i64 {}, 2", k), k, "false", whole); });
  }

  // Group `group` of k, from source row k (and k + 1 where `second` is "true") into every panel.
  void b_group(const std::string& group, const std::string& k, const std::string& second, const std::string& whole) {
    const int columns = kernel_.columns();
    const std::string row = at("%src", in_, times(k, "%ld"));
    const std::string next = second == "true" ? at(row, in_, "%ld") : "";
    const std::string inside = times(group, columns * kernel_.group);
    const auto panel = [&](const std::string& column) {
      const std::string skip = times(t_.let("sdiv i64 {}, {}", column, columns), "%panel_stride");
      return at("%dst", packed_element(), plus(skip, inside));
    };
    emit_loop(t_, "0", whole, columns, [&](const std::string& column) {
      const std::string to = panel(column);
      for (int j = 0; j < kernel_.vectors; ++j) {
        const std::string from = plus(column, std::to_string(j * kernel_.lanes));
        b_vector(row, next, second, from, at(to, "i32", std::to_string(j * kernel_.lanes)));
      }
    });
    emit_loop(t_, whole, "%n", columns, [&](const std::string& column) {
      const std::string to = panel(column);
      emit_loop(t_, "0", std::to_string(columns), 1, [&](const std::string& j) {
        const std::string from = plus(column, j);
        const std::string valid = t_.let("icmp slt i64 {}, %n", from);
        const std::string slot = pairs_ ? times(j, 2) : j;
        store_element(element_or_zero(row, from, valid), to, slot);
        if (!pairs_) return;
        store_element(second == "true" ? element_or_zero(next, from, valid) : "0", to, plus(slot, "1"));
      });
    });
  }

  void b_vector(const std::string& row, const std::string& next, const std::string& second, const std::string& column,
                const std::string& to) {
    const int lanes = kernel_.lanes;
    std::string value = convert(load_source(at(row, in_, column), lanes), lanes);
    std::string type = vector_type(lanes, packed_element());
    if (pairs_) {
      const std::string other = second == "true" ? convert(load_source(at(next, in_, column), lanes), lanes) : "zeroinitializer";
      std::vector<int> mask;
      for (int i = 0; i < lanes; ++i) mask.push_back(i), mask.push_back(lanes + i);
      value = t_.let("shufflevector {0} {1}, {0} {2}, {3}", type, value, other, shuffle_mask(mask));
      type = vector_type(2 * lanes, "i16");
    }
    t_.put("store {} {}, ptr {}, align {}", type, value, to, kernel_.panel_alignment());
  }

  // ---- b_transposed: blocks of lanes x lanes units, turned in registers

  void write_b_transposed() {
    begin("i64 %k, i64 %n", "%panel_stride");
    const int columns = kernel_.columns(), lanes = kernel_.lanes, group = kernel_.group;
    const std::string whole = round_down("%k", lanes * group);
    emit_loop(t_, "0", "%n", columns, [&](const std::string& column) {
      const std::string skip = times(t_.let("sdiv i64 {}, {}", column, columns), "%panel_stride");
      const std::string panel = at("%dst", packed_element(), skip);
      for (int j = 0; j < kernel_.vectors; ++j) {
        const std::string first = plus(column, std::to_string(j * lanes));
        const std::string to = at(panel, "i32", std::to_string(j * lanes));
        std::vector<std::string> rows, valid;
        source_rows(first, rows, valid);
        emit_loop(t_, "0", whole, lanes * group, [&](const std::string& k) { turn_block(k, rows, valid, to); });
      }
      emit_loop(t_, whole, "%k", group, [&](const std::string& k) { transposed_rest(k, column, panel); });
    });
  }

  // Pointers to `lanes` rows of the source from row `first`; rows beyond n point at the last one and count as zero.
  void source_rows(const std::string& first, std::vector<std::string>& rows, std::vector<std::string>& valid) {
    const std::string last = plus("%n", "-1");
    for (int i = 0; i < kernel_.lanes; ++i) {
      const std::string index = plus(first, std::to_string(i));
      valid.push_back(t_.let("icmp slt i64 {}, %n", index));
      const std::string clamped = t_.let("call i64 @llvm.smin.i64(i64 {}, i64 {})", index, last);
      rows.push_back(at("%src", in_, times(clamped, "%ld")));
    }
  }

  void turn_block(const std::string& k, const std::vector<std::string>& rows, const std::vector<std::string>& valid,
                  const std::string& to) {
    const int lanes = kernel_.lanes, group = kernel_.group;
    const std::string type = vector_type(lanes, unit_);
    std::vector<std::string> block;
    for (int i = 0; i < lanes; ++i) {
      std::string value = convert(load_source(at(rows[static_cast<size_t>(i)], in_, k), lanes * group), lanes * group);
      if (pairs_) value = t_.let("bitcast {} {} to {}", vector_type(2 * lanes, "i16"), value, type);
      block.push_back(t_.let("select i1 {}, {} {}, {} zeroinitializer", valid[static_cast<size_t>(i)], type, value, type));
    }
    transpose(block);
    const std::string unit = group == 1 ? k : t_.let("sdiv i64 {}, {}", k, group);
    const std::string base = at(to, "i32", times(unit, kernel_.columns()));
    for (int i = 0; i < lanes; ++i) {
      const std::string p = at(base, "i32", std::to_string(i * kernel_.columns()));
      t_.put("store {} {}, ptr {}, align {}", type, block[static_cast<size_t>(i)], p, kernel_.panel_alignment());
    }
  }

  // Swaps the off-diagonal halves of blocks of 2, 4, 8, ... : after log2(lanes) rounds rows are columns.
  void transpose(std::vector<std::string>& block) {
    const int lanes = kernel_.lanes;
    const std::string type = vector_type(lanes, unit_);
    for (int distance = 1; distance < lanes; distance *= 2) {
      std::vector<int> low, high;
      for (int i = 0; i < lanes; ++i) {
        low.push_back((i & distance) != 0 ? lanes + i - distance : i);
        high.push_back((i & distance) != 0 ? lanes + i : i + distance);
      }
      for (int i = 0; i < lanes; ++i) {
        if ((i & distance) != 0) continue;
        auto &a = block[static_cast<size_t>(i)], &b = block[static_cast<size_t>(i + distance)];
        const std::string upper = t_.let("shufflevector {0} {1}, {0} {2}, {3}", type, a, b, shuffle_mask(low));
        b = t_.let("shufflevector {0} {1}, {0} {2}, {3}", type, a, b, shuffle_mask(high));
        a = upper;
      }
    }
  }

  // The rest of k for all columns of a panel, element by element.
  void transposed_rest(const std::string& k, const std::string& column, const std::string& panel) {
    const int columns = kernel_.columns(), group = kernel_.group;
    const std::string unit = group == 1 ? k : t_.let("sdiv i64 {}, {}", k, group);
    const std::string to = at(panel, "i32", times(unit, columns));
    emit_loop(t_, "0", std::to_string(columns), 1, [&](const std::string& j) {
      const std::string row = plus(column, j);
      const std::string inside = t_.let("icmp slt i64 {}, %n", row);
      const std::string base = at("%src", in_, times(row, "%ld"));
      for (int g = 0; g < group; ++g) {
        const std::string index = plus(k, std::to_string(g));
        const std::string there = t_.let("and i1 {}, {}", inside, t_.let("icmp slt i64 {}, %k", index));
        store_element(element_or_zero(base, index, there), to, plus(times(j, group), std::to_string(g)));
      }
    });
  }

  // ---- a: rows stay rows

  void write_a() {
    begin("i64 %m, i64 %k", "%dst_ld");
    const int lanes = kernel_.lanes, block = 4 * lanes;
    const std::string whole = round_down("%k", block);
    emit_loop(t_, "0", "%m", 1, [&](const std::string& m) {
      const std::string from = at("%src", in_, times(m, "%ld")), to = at("%dst", packed_element(), times(m, "%dst_ld"));
      emit_loop(t_, "0", whole, block, [&](const std::string& k) {
        for (int j = 0; j < 4; ++j) {
          const std::string index = plus(k, std::to_string(j * lanes));
          const std::string value = convert(load_source(at(from, in_, index), lanes), lanes);
          t_.put("store {} {}, ptr {}, align {}", vector_type(lanes, packed_element()), value,
                 at(to, packed_element(), index), pairs_ ? 2 : 4);
        }
      });
      emit_loop(t_, whole, "%k", 1, [&](const std::string& k) {
        store_element(convert(load_source(at(from, in_, k), 1), 1), to, k);
      });
      pad_pair(to);
    });
  }

  void write_a_transposed() {
    begin("i64 %m, i64 %k", "%dst_ld");
    const int lanes = kernel_.lanes;
    const std::string whole_m = pairs_ ? "0" : round_down("%m", lanes), whole_k = pairs_ ? "0" : round_down("%k", lanes);
    if (!pairs_) {
      emit_loop(t_, "0", whole_k, lanes, [&](const std::string& k) {
        emit_loop(t_, "0", whole_m, lanes, [&](const std::string& m) { turn_a_block(k, m); });
      });
    }
    emit_loop(t_, "0", "%m", 1, [&](const std::string& m) {
      const std::string turned = t_.let("icmp slt i64 {}, {}", m, whole_m);
      const std::string first = t_.let("select i1 {}, i64 {}, i64 0", turned, whole_k);
      const std::string from = at("%src", in_, m), to = at("%dst", packed_element(), times(m, "%dst_ld"));
      emit_loop(t_, first, "%k", 1, [&](const std::string& k) {
        store_element(convert(load_source(at(from, in_, times(k, "%ld")), 1), 1), to, k);
      });
      pad_pair(to);
    });
  }

  void turn_a_block(const std::string& k, const std::string& m) {
    const int lanes = kernel_.lanes;
    std::vector<std::string> block;
    for (int i = 0; i < lanes; ++i) {
      const std::string row = at("%src", in_, times(plus(k, std::to_string(i)), "%ld"));
      block.push_back(convert(load_source(at(row, in_, m), lanes), lanes));
    }
    transpose(block);
    for (int i = 0; i < lanes; ++i) {
      const std::string row = at("%dst", "float", times(plus(m, std::to_string(i)), "%dst_ld"));
      t_.put("store {} {}, ptr {}, align 4", vector_type(lanes, "float"), block[static_cast<size_t>(i)], at(row, "float", k));
    }
  }

  // int8: an odd k gets a zero behind it, the other half of the last pair.
  void pad_pair(const std::string& to) {
    if (!pairs_) return;
    const std::string odd = t_.let("icmp ne i64 {}, 0", t_.let("and i64 %k, 1"));
    emit_if(t_, odd, [&] { store_element("0", to, "%k"); });
  }

  const CpuIsa& isa_;
  const MicroKernel kernel_;
  const DType source_;
  const Pack pack_;
  const bool pairs_;
  const char* const in_;
  const char* const unit_;
  LlvmText t_;
};

}  // namespace

std::string pack_name(DType source, Pack pack) {
  static constexpr const char* kNames[] = {"b", "bt", "a", "at"};
  return fmt::format("tl_pack_{}_{}", kNames[static_cast<int>(pack)], suffix(source));
}

std::string emit_pack(const CpuIsa& isa, DType source, Pack pack) { return PackWriter(isa, source, pack).write(); }

}  // namespace tilert::codegen
