// Regions and elements: whose they are, where they lie, whether they fit, who may read or write them.
#include "builder/builder.h"

#include <algorithm>

namespace tilert::builder {
namespace {

std::string index_text(const ir::Program& program, ir::Expr expr) {
  if (expr->is_constant()) return fmt::format("{}", expr->as_int());
  if (expr->is_variable()) return program.vars[expr->var()].name;
  return "...";
}

}  // namespace

bool Builder::is_tile(ir::BufferId buffer) const { return program_->buffers[buffer].scope != ir::Scope::global; }

std::string Builder::text_of(ir::BufferId buffer) const { return program_->buffers[buffer].name; }

std::string Builder::text_of(const ir::Region& region) const {
  std::string out = text_of(region.buffer) + "[";
  for (size_t i = 0; i < region.offsets.size(); ++i) {
    const std::string from = index_text(*program_, region.offsets[i]);
    const char* comma = i ? ", " : "";
    if (region.offsets[i]->is_constant()) {
      out += fmt::format("{}{}:{}", comma, from, region.offsets[i]->as_int() + region.extents[i]);
    } else {
      out += fmt::format("{}{}:+{}", comma, from, region.extents[i]);
    }
  }
  return out + "]";
}

Result<ir::BufferId> Builder::storage_of(const tilert_region& region, std::string_view what) const {
  const bool has_buffer = !is_none(region.buffer), has_tensor = !is_none(region.tensor);
  if (has_buffer == has_tensor)
    return make_error(Code::kInvalidArgument, "{}: {} of buffer and tensor is set: set one", what,
                      has_buffer ? "each" : "none");
  if (has_tensor) {
    TILERT_ASSIGN(const uint32_t at, find(region.tensor, tensors_.size(), what));
    return tensors_[at];
  }
  TILERT_ASSIGN(const uint32_t at, find(region.buffer, buffers_.size(), what));
  const ir::BufferId id = buffers_[at];
  TILERT_TRY(check_alive(storage_[id].life, fmt::format("{}: {}", what, text_of(id)), "the scope that declared it"));
  return id;
}

// The offsets, with a constant negative one counted from the end.
Status Builder::offsets_of(const tilert_region& region, std::string_view what, Place& place) const {
  const ir::Buffer& buffer = program_->buffers[place.buffer];
  for (size_t i = 0; i < buffer.shape.size(); ++i) {
    if (!region.offsets) {
      place.offsets.push_back(program_->arena->index(0));
      continue;
    }
    TILERT_ASSIGN(ir::Expr offset,
                  index_value(region.offsets[i], fmt::format("{}: offset {} of {}", what, i, buffer.name)));
    if (offset->is_constant() && offset->as_int() < 0) {
      const ir::Expr size = buffer.shape[i];
      offset = size->is_constant() ? program_->arena->index(size->as_int() + offset->as_int())
                                   : program_->arena->make(ir::Op::add, {size, offset});
    }
    place.offsets.push_back(offset);
  }
  return {};
}

Result<Builder::Place> Builder::place(const tilert_region* region, std::string_view what) {
  if (!region) return make_error(Code::kInvalidArgument, "{} is NULL", what);
  Place place;
  TILERT_ASSIGN(place.buffer, storage_of(*region, what));
  const ir::Buffer& buffer = program_->buffers[place.buffer];
  const size_t rank = buffer.shape.size();
  place.whole = region->rank == 0;
  if (region->extents && region->extent_count && region->extent_count != region->rank)
    return make_error(Code::kInvalidArgument, "{}: {} extent{} for {} offset{} of {}, which has rank {}: give one for "
                      "each dim", what, region->extent_count, region->extent_count == 1 ? "" : "s", region->rank,
                      region->rank == 1 ? "" : "s", buffer.name, rank);
  if (place.whole ? region->offsets || region->extents : region->rank != rank)
    return make_error(Code::kInvalidArgument, "{}: a region of rank {} of {}, which has rank {}", what, region->rank,
                      buffer.name, rank);
  TILERT_TRY(offsets_of(*region, what, place));
  if (region->extents) {
    for (size_t i = 0; i < rank; ++i) {
      TILERT_ASSIGN(const int64_t extent,
                    constant_index(region->extents[i], fmt::format("{}: extent {} of {}", what, i, buffer.name)));
      if (extent < 1 || extent > kMaxExtent)
        return make_error(Code::kInvalidProgram, "{}: extent {} of {} is {}: extents are positive", what, i,
                          buffer.name, extent);
      place.extents.push_back(extent);
    }
  } else if (place.whole) {
    for (ir::Expr size : buffer.shape)
      if (const auto extent = constant_value(size)) place.extents.push_back(*extent);
    place.symbolic = place.extents.size() != rank;
  }
  return place;
}

// Extents of a region that has none: the other side's, aligned at the last dim, unit dims added or dropped in front.
Status Builder::infer(Place& place, const Place& other, std::string_view what) const {
  const size_t rank = place.offsets.size();
  std::vector<int64_t> extents = other.extents;
  for (size_t i = 0; extents.size() > rank && i < extents.size();) {
    if (extents[i] == 1)
      extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  if (extents.size() > rank)
    return make_error(Code::kInvalidProgram, "{}: the other side has {} dims, {} has {}: give extents", what,
                      other.extents.size(), text_of(place.buffer), rank);
  extents.insert(extents.begin(), rank - extents.size(), 1);
  place.extents = std::move(extents);
  return {};
}

Result<ir::Region> Builder::region(const Place& place, std::string_view what) const {
  const ir::Buffer& buffer = program_->buffers[place.buffer];
  if (ir::is_table(buffer) && place.extents[0] != 1)
    return make_error(Code::kInvalidProgram,
                      "{}: {} entries of the table of pointers {}: each is a tensor of its own, and a region lies in one; loop over them",
                      what, place.extents[0], buffer.name);
  TILERT_TRY(check_bounds(place.buffer, place.offsets, place.extents, what));
  return ir::Region{place.buffer, place.offsets, place.extents};
}

Result<ir::Region> Builder::whole_region(const tilert_region* region_, std::string_view what) {
  TILERT_ASSIGN(const Place found, place(region_, what));
  if (!is_tile(found.buffer))
    return make_error(Code::kInvalidProgram, "{}: {} is a parameter in device memory: copy it to a tile first", what,
                      text_of(found.buffer));
  if (found.extents.size() != found.offsets.size())
    return make_error(Code::kInvalidProgram, "{}: the region of {} needs extents", what, text_of(found.buffer));
  return region(found, what);
}

// As whole_region; of a tile of more than two dims offsets alone say which matrix.
Result<ir::Region> Builder::matrix_region(const tilert_region* region_, std::string_view what) {
  TILERT_ASSIGN(Place found, place(region_, what));
  const auto& shape = program_->buffers[found.buffer].shape;
  if (!is_tile(found.buffer) || !found.extents.empty() || shape.size() < 3) return whole_region(region_, what);
  found.extents.assign(shape.size(), 1);
  for (size_t d = shape.size() - 2; d < shape.size(); ++d) found.extents[d] = shape[d]->as_int();
  return region(found, what);
}

// Refuses what provably leaves a tile: in every iteration, or in one that surely runs.
Status Builder::check_bounds(ir::BufferId id, const std::vector<ir::Expr>& offsets, const std::vector<int64_t>& extents,
                             std::string_view what) const {
  const ir::Buffer& buffer = program_->buffers[id];
  if (buffer.scope == ir::Scope::global) return {};
  const bool surely = !under_if(0) && jumps_ == 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int64_t size = buffer.shape[i]->as_int();
    const Range range = range_of(offsets[i], ranges_);
    const auto beyond = [&](std::optional<int64_t> low) { return low && *low > size - extents[i]; };
    const auto before = [&](std::optional<int64_t> high) { return high && *high < 0; };
    const bool out = extents[i] > size || beyond(range.low) || before(range.high);
    const bool in_some_trip = surely && (beyond(range.high) || before(range.low));
    if (!out && !in_some_trip) continue;
    const auto bound = [](std::optional<int64_t> value) {
      return value ? fmt::format("{}", *value) : std::string("?");
    };
    Error error = make_error(
        Code::kInvalidProgram,
        "{}: dim {} of {} has {} element{}, but {} from offset {} to {} {}: shrink the region or the loop, or put "
        "it under an if",
        what, i, buffer.name, size, size == 1 ? "" : "s", extents[i], bound(range.low), bound(range.high),
        extents[i] == 1 ? "is used" : "are used");
    if (out || !in_loop()) return error;
    if (!doubt_) doubt_ = std::move(error);
  }
  return {};
}

Result<ir::Access> Builder::access(const tilert_region* element, std::string_view what) {
  TILERT_ASSIGN(Place found, place(element, what));
  if (element->extents)
    return make_error(Code::kInvalidArgument, "{}: one element of {} has no extents", what, text_of(found.buffer));
  if (found.whole && !found.offsets.empty())
    return make_error(Code::kInvalidProgram, "{}: {} needs {} ind{} here", what, text_of(found.buffer),
                      found.offsets.size(), found.offsets.size() == 1 ? "ex" : "ices");
  TILERT_TRY(check_bounds(found.buffer, found.offsets, std::vector<int64_t>(found.offsets.size(), 1), what));
  return ir::Access{found.buffer, std::move(found.offsets)};
}

// Whether the buffer may be used so here, and what is known of it afterwards.
Status Builder::use(ir::BufferId id, Use use, std::string_view what) {
  const ir::Buffer& buffer = program_->buffers[id];
  Storage& storage = storage_[ir::storage_of(*program_, id)];
  const bool reads = use != Use::write, writes = use != Use::read;
  if (buffer.scope == ir::Scope::barrier)
    return make_error(Code::kInvalidProgram, "{}: {} names barriers, which are no memory: arrive, arrive_expect, wait_barrier and load_tensor take them", what, buffer.name);
  if (reads && buffer.direction == ir::Direction::out)
    return make_error(Code::kInvalidProgram, "{}: {} is an output and cannot be read: declare it inout", what,
                      buffer.name);
  if (writes && buffer.direction == ir::Direction::in)
    return make_error(Code::kInvalidProgram, "{}: {} is an input and cannot be written: declare it out or inout", what,
                      buffer.name);
  const bool counts_tiles = kernel_.tile_count != ir::kNoBuffer && buffer.scope == ir::Scope::global &&
                            buffer.parameter == program_->buffers[kernel_.tile_count].parameter;
  if (writes && counts_tiles)
    return make_error(Code::kInvalidProgram, "{}: {} counts the tiles of this kernel: let another kernel write it", what, buffer.name);
  if (reads && !storage.written && !under_if(storage.life.depth))
    return make_error(Code::kInvalidProgram, "{}: {} is read before anything was written to it: {}", what, buffer.name,
                      use == Use::update ? "clear or fill it first, or overwrite it" : "copy, fill or clear it first");
  if (writes) storage.written = true;
  return {};
}

// Two iterations of the enclosing parallel loop that write one element.
Status Builder::check_race(const ir::Access& to) const {
  const OpenScope* loop = enclosing(ScopeKind::parallel);
  if (!loop) return {};
  const auto depth = static_cast<uint32_t>(loop - scopes_.data());
  if (storage_[to.buffer].life.depth >= depth || under_if(depth) || passed_jump(depth)) return {};
  std::vector<ir::VarId> varying;
  for (ir::VarId v = loop->vars.back() + 1; v < program_->vars.size(); ++v)
    if (program_->vars[v].kind == ir::VarKind::let) varying.push_back(v);
  if (!provably_repeats(to.indices, loop->vars, loop->extents, varying)) return {};
  if (loop->threads)
    return make_error(Code::kInvalidProgram, "the destination {}: two threads write the same element; use an atomic operation, "
                      "let one thread write it, or make it a var inside the loop", text_of(to.buffer));
  return make_error(
      Code::kInvalidProgram,
      "the destination {}: two iterations of parallel write the same element; use reduce, give each iteration its "
      "own element, or make it a var inside the loop",
      text_of(to.buffer));
}

}  // namespace tilert::builder
