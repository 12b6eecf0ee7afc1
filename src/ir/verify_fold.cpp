// Checks of operations along a dim: fold, scan, pick, sort.
#include "ir/evaluate.h"
#include "ir/semantics.h"
#include "ir/verifier_impl.h"
#include "ir/visit.h"

namespace tilert::ir {

bool Verifier::along(const Region& src, const Region& dst, int dim, int64_t kept, const char* what) {
  if (!region(src, what) || !region(dst, what)) return false;
  const auto rank = static_cast<int>(src.extents.size());
  if (dim < 0 || dim >= rank) return fail(fmt::format("{} over dim {} of {}, which has {}", what, dim, name(src.buffer), rank));
  std::vector<int64_t> same = src.extents, rest = src.extents;
  same[static_cast<size_t>(dim)] = kept;
  rest.erase(rest.begin() + dim);
  if (dst.extents == same || (kept == 1 && dst.extents == rest)) return true;
  return fail(fmt::format("{} of {} {} over dim {} into {} {}: the destination must be {}", what, name(src.buffer),
                          shape_text(src.extents), dim, name(dst.buffer), shape_text(dst.extents), shape_text(same)));
}

bool Verifier::tuple(const std::vector<Region>& src, const std::vector<Region>& dst, const Combine& combine, int dim, bool folds,
                     const char* what) {
  const size_t count = src.size();
  if (count == 0 || dst.size() != count || combine.left.size() != count || combine.right.size() != count ||
      combine.result.size() != count || combine.identity.size() != count)
    return fail(fmt::format("{} of {} sources into {} destinations by {} values", what, count, dst.size(), combine.result.size()));
  for (size_t c = 0; c < count; ++c) {
    const bool in_range = dim >= 0 && static_cast<size_t>(dim) < src[c].extents.size();
    if (!along(src[c], dst[c], dim, folds ? 1 : in_range ? src[c].extents[static_cast<size_t>(dim)] : 0, what)) return false;
    if (src[c].extents != src[0].extents)
      return fail(fmt::format("{} of {} {} with {} {}: the extents differ", what, name(src[0].buffer), shape_text(src[0].extents),
                              name(src[c].buffer), shape_text(src[c].extents)));
    const DType sum = reduce_accumulator(p_.buffers[dst[c].buffer].dtype);
    for (VarId v : {combine.left[c], combine.right[c]}) {
      if (v >= p_.vars.size() || p_.vars[v].dtype != sum) return fail(fmt::format("{} adds up in {}", what, dtype_text(sum)));
      if (!define(v, VarKind::let, 0)) return false;
    }
    if (!expr(combine.identity[c], sum, "an identity")) return false;
    if (!combine.identity[c]->is_constant()) return fail("an identity is not a constant");
  }
  for (size_t c = 0; c < count; ++c)
    if (!expr(combine.result[c], reduce_accumulator(p_.buffers[dst[c].buffer].dtype), "a combined value")) return false;
  for (size_t c = 0; c < count; ++c)
    if (!reads(src[c].buffer)) return false;
  for (size_t c = 0; c < count; ++c)
    if (!writes(dst[c].buffer)) return false;
  return true;
}

bool Verifier::check(const Fold& n) {
  if (n.accumulate)
    for (const Region& r : n.dst)
      if (!region(r, "fold") || !reads(r.buffer)) return false;
  return tuple(n.src, n.dst, n.combine, n.dim, true, "fold");
}

bool Verifier::check(const Scan& n) { return tuple(n.src, n.dst, n.combine, n.dim, false, "scan"); }

bool Verifier::check(const Pick& n) {
  if (!along(n.src, n.dst, n.dim, 1, "pick")) return false;
  const DType places = p_.buffers[n.dst.buffer].dtype;
  if (!dtype_computes(p_.buffers[n.src.buffer].dtype))
    return fail(fmt::format("pick of {}, which is stored and converted only; cast before", name(n.src.buffer)));
  if (places != DType::int32 && places != DType::int64)
    return unsupported(fmt::format("pick into {}, which is {}", name(n.dst.buffer), dtype_text(places)), "places are int32 or int64");
  return reads(n.src.buffer) && writes(n.dst.buffer);
}

bool Verifier::check(const Sort& n) {
  if (!region(n.src, "sort") || !region(n.dst, "sort")) return false;
  const bool fits = n.dim >= 0 && static_cast<size_t>(n.dim) < n.src.extents.size() && n.dst.extents.size() == n.src.extents.size();
  const int64_t kept = fits ? n.dst.extents[static_cast<size_t>(n.dim)] : 0;
  if (fits && kept > n.src.extents[static_cast<size_t>(n.dim)])
    return fail(fmt::format("sort of {} {} keeps {} along dim {}", name(n.src.buffer), shape_text(n.src.extents), kept, n.dim));
  if (!along(n.src, n.dst, n.dim, kept, "sort")) return false;
  const DType from = p_.buffers[n.src.buffer].dtype, to = p_.buffers[n.dst.buffer].dtype;
  if (!dtype_computes(from)) return fail(fmt::format("sort of {}, which is stored and converted only; cast before", dtype_text(from)));
  if (from != to) return fail(fmt::format("sort of {} into {}; cast before", dtype_text(from), dtype_text(to)));
  if (!reads(n.src.buffer) || !writes(n.dst.buffer)) return false;
  if (n.index.buffer == kNoBuffer) return true;
  if (!along(n.src, n.index, n.dim, kept, "sort")) return false;
  const DType places = p_.buffers[n.index.buffer].dtype;
  if (places != DType::int32 && places != DType::int64)
    return unsupported(fmt::format("places of sort in {}, which is {}", name(n.index.buffer), dtype_text(places)), "they are int32 or int64");
  return writes(n.index.buffer);
}

}  // namespace tilert::ir
