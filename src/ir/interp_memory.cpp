// The interpreter's elements: expressions, parameters' memory, addresses, reads and writes with their checks.
#include <algorithm>

#include "ir/interpreter_impl.h"
#include "support/refusal.h"

namespace tilert::ir::interp {

uint64_t Machine::eval(const Tape* t, uint32_t lane) {
  uint64_t* const s = scratch_.data();
  size_t i = 0;
  for (const Tape::Step& step : t->steps) {
    switch (step.kind) {
      case Tape::Kind::constant: s[i] = step.value; break;
      case Tape::Kind::variable: s[i] = vars_[step.a * lanes_ + lane]; break;
      case Tape::Kind::operation: s[i] = step.function(s[step.a], s[step.b], s[step.c]); break;
    }
    ++i;
  }
  return s[i - 1];
}

// A size that no variant of the program would take is refused as a launch refuses it.
bool Machine::bind_dim(const Dim& d, int64_t value) {
  const std::string given = fmt::format("dim '{}' is {}", p_.vars[d.var].name, value);
  if (value < 0) return fail(given, Code::kInvalidArgument);
  vars_[d.var] = static_cast<uint64_t>(value);
  if (d.value) return *d.value == value || fail(fmt::format("{}; the program was made for {}", given, *d.value), Code::kNotReady);
  if (value % d.divisible != 0)
    return fail(fmt::format("{}; it is declared a multiple of {}", given, d.divisible), Code::kNotReady);
  std::string buckets;
  for (const Bucket& b : d.buckets) {
    const bool range = b.kind == Bucket::Kind::range;
    if (range ? value >= b.low && value <= b.high : value % b.divisor == 0) return true;
    buckets += buckets.empty() ? "" : ", ";
    buckets += range ? fmt::format("{} to {}", b.low, b.high) : fmt::format("multiples of {}", b.divisor);
  }
  return buckets.empty() || fail(fmt::format("{}, in none of its buckets: {}", given, buckets), Code::kNotReady);
}

// The shape and strides of a tensor under these dims; every element that they reach is inside the given bytes.
bool Machine::bind_global(BufferId id) {
  Memory& m = memory_[id];
  const Buffer& buffer = p_.buffers[id];
  if (is_workspace(buffer)) return make_workspace(m, buffer);
  if (static_cast<size_t>(buffer.parameter) >= arguments_.parameters.size() ||
      buffer.strides.size() != buffer.shape.size())
    return fail(fmt::format("{} belongs to no parameter", buffer_name(m)), Code::kInternal);
  const HostArgument& argument = arguments_.parameters[static_cast<size_t>(buffer.parameter)];
  const bool own = p_.parameters[static_cast<size_t>(buffer.parameter)].buffer == id && !argument.strides.empty();
  if (own && argument.strides.size() != buffer.shape.size())
    return fail(fmt::format("{} was given {} strides for {} dims", buffer_name(m), argument.strides.size(),
                            buffer.shape.size()),
                Code::kInvalidArgument);
  int64_t last = 0;
  bool empty = false, fits = true;
  for (size_t d = 0; d < buffer.shape.size(); ++d) {
    const Tape *shape = tape(buffer.shape[d]), *stride = tape(buffer.strides[d]);
    if (!shape || !stride) return false;
    m.shape.push_back(eval_index(shape, 0));
    m.strides.push_back(own ? argument.strides[d] : eval_index(stride, 0));
    empty |= m.shape[d] <= 0;
    if (d == 0 && is_table(buffer)) m.strides[d] = 0;
    int64_t reach = 0;
    fits &= m.strides[d] >= 0 && !__builtin_mul_overflow(std::max<int64_t>(0, m.shape[d] - 1), m.strides[d], &reach) &&
            !__builtin_add_overflow(last, reach, &last);
  }
  if (is_table(buffer)) {
    if (!empty && !fits) return fail(fmt::format("the strides of {} are negative or too large", buffer_name(m)), Code::kInvalidArgument);
    return bind_table(m, argument, last);
  }
  const int64_t unit = m.packed ? dtype_bits(m.dtype) : m.bytes;
  int64_t needed = 0;
  fits = fits && !__builtin_mul_overflow(last, unit, &needed) && !__builtin_add_overflow(needed, unit, &needed);
  if (m.packed) needed = (needed + 7) / 8;
  m.data = static_cast<uint8_t*>(argument.data);
  m.elements = m.packed ? argument.bytes * 8 / unit : argument.bytes / m.bytes;
  if (!empty && (!fits || !m.data || needed > argument.bytes))
    return fail(fits ? fmt::format("{} needs {} bytes, the argument has {}", buffer_name(m), needed, argument.bytes)
                     : fmt::format("the strides of {} are negative or too large", buffer_name(m)),
                Code::kInvalidArgument);
  return true;
}

// What the tensors of a table hold is the caller's word: only the table itself has a size here.
bool Machine::bind_table(Memory& m, const HostArgument& argument, int64_t reach) {
  m.elements = reach + 1;
  m.table = static_cast<const uint64_t*>(argument.data);
  const int64_t count = m.shape[0];
  if (count <= 0 || (m.table && count <= argument.bytes / 8)) return true;
  return fail(fmt::format("the table {} has {} pointers, the argument {} bytes", buffer_name(m), count, argument.bytes), Code::kInvalidArgument);
}

// Lets `data` be a tensor of a table; false where there is none.
bool Machine::enter(Memory& m, int64_t entry) {
  if (m.entries == Entries::counted && (entry < 0 || entry >= m.shape[0])) return false;
  const uint64_t address = m.entries == Entries::counted ? m.table[entry] : static_cast<uint64_t>(entry);
  m.data = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(address));
  return address != 0;
}

int64_t Machine::offset(Memory& m, const int64_t* at, size_t rank) const {
  const size_t d0 = rank > m.shape.size() ? 1 : 0;  // the stage of a ring comes first
  int64_t element = 0;
  if (d0) {
    const int64_t stages = p_.buffers[m.id].stages;
    if (at[0] < 0 || at[0] >= stages) return -1;
    element = at[0] * (m.elements / stages);
  }
  for (size_t d = 0; d < m.shape.size(); ++d) {
    const int64_t i = at[d + d0];
    if (d == 0 && m.entries != Entries::none) {
      if (!enter(m, i)) return -1;
      continue;
    }
    if (i < 0 || i >= m.shape[d]) return -1;
    element += i * m.strides[d];
  }
  return element;
}

std::string Machine::buffer_name(const Memory& m) const {
  const std::string& name = p_.buffers[m.id].name;
  return name.empty() ? fmt::format("buffer {}", m.id) : fmt::format("'{}'", name);
}

bool Machine::fail(std::string message, Code code) {
  if (error_) return false;
  error_ = current_ ? make_error(code, "{}: {}", describe(p_, *current_), message) : make_error(code, "{}", message);
  return false;
}

bool Machine::refuse(std::string what, std::string_view instead) {
  Error error = refusal(std::move(what), instead);
  return fail(std::move(error.message), error.code);
}

namespace {

// The bytes that an element has, or has a part of.
struct Bytes {
  int64_t first, end;
};
Bytes bytes_of(const Memory& m, int64_t element) {
  if (!m.packed) return {element * m.bytes, (element + 1) * m.bytes};
  const int64_t bits = dtype_bits(m.dtype);
  return {element * bits / 8, ((element + 1) * bits + 7) / 8};
}

}  // namespace

bool Machine::check_race(Memory& m, int64_t element, bool writes) {
  Memory& storage = *m.storage;
  if (storage.last_write.empty()) {
    const auto points = static_cast<size_t>(m.viewed ? bytes_of(storage, storage.elements - 1).end : storage.elements);
    storage.last_write.assign(points, 0);
    storage.last_read.assign(points, 0);
  }
  const Bytes at = m.viewed ? bytes_of(m, element) : Bytes{element, element + 1};
  for (int64_t i = at.first; i < at.end; ++i) {
    uint32_t& write = storage.last_write[static_cast<size_t>(i)];
    uint32_t& read = storage.last_read[static_cast<size_t>(i)];
    const bool written_by_other = write >= first_point_ && write != point_;
    const bool read_by_other = read >= first_point_ && read != point_;
    if (written_by_other || (writes && read_by_other))
      return fail(
          fmt::format("element {} of {} is written by one point of the parallel loop and {} by another; write each "
                      "element from one point, and read only what that point writes",
                      element, buffer_name(m), writes && written_by_other ? "written" : "read"));
    (writes ? write : read) = point_;
  }
  return true;
}

bool Machine::read_at(Memory& m, int64_t element, uint32_t lane, uint64_t& value) {
  const Bytes at = bytes_of(m, element);
  const int64_t byte = at.first + (m.per_lane ? lane * m.lane_bytes : 0);
  const uint8_t* const written = m.written ? m.written + byte : nullptr;
  if (written && !std::all_of(written, written + (m.viewed ? at.end - at.first : 1), [](uint8_t w) { return w != 0; }))
    return fail(
        fmt::format("element {} of {} is read, but nothing was ever written there; fill, clear or copy into it first",
                    element, buffer_name(m)));
  if (in_parallel_ && !m.global && !check_race(m, element, false)) return false;
  value = m.packed ? load_packed(m.dtype, m.data, element) : load_element(m.dtype, m.data + byte);
  return true;
}

bool Machine::write_at(Memory& m, int64_t element, uint32_t lane, uint64_t value) {
  if (in_parallel_ && !m.global && !check_race(m, element, true)) return false;
  const uint32_t first = m.per_lane ? (in_parallel_ ? 0 : lane) : 0;
  const uint32_t last = m.per_lane ? (in_parallel_ ? lanes_ - 1 : lane) : 0;
  for (uint32_t l = first; l <= last; ++l) {
    const Bytes at = bytes_of(m, element);
    const int64_t byte = at.first + l * m.lane_bytes;
    if (m.packed) store_packed(m.dtype, m.data, element, value);
    else store_element(m.dtype, m.data + byte, value);
    if (m.written) std::fill_n(m.written + byte, at.end - at.first, uint8_t{1});
  }
  return true;
}

bool Machine::outside(const Memory& m, const int64_t* at, size_t rank) {
  std::string indices;
  for (size_t d = 0; d < rank; ++d) indices += fmt::format("{}{}", d ? ", " : "", at[d]);
  return fail(fmt::format("[{}] is outside of {}", indices, buffer_name(m)));
}

bool Machine::read(Memory& m, const int64_t* at, size_t rank, uint32_t lane, uint64_t& value, uint64_t safe) {
  const int64_t element = offset(m, at, rank);
  if (element >= 0) return read_at(m, element, lane, value);
  value = safe;
  return m.global || outside(m, at, rank);
}

bool Machine::write(Memory& m, const int64_t* at, size_t rank, uint32_t lane, uint64_t value) {
  const int64_t element = offset(m, at, rank);
  if (element >= 0) return write_at(m, element, lane, value);
  return m.global || outside(m, at, rank);
}

int64_t Machine::element_of(const Place& p, uint32_t lane, int64_t* at) {
  for (size_t d = 0; d < p.at.size(); ++d) at[d] = eval_index(p.at[d], lane);
  if (!p.flat) return offset(*p.memory, at, p.at.size());
  if (p.memory->entries != Entries::none && !enter(*p.memory, at[0])) return -1;
  const int64_t element = at[p.at.size() - 1];
  return element < p.memory->elements ? element : -1;
}

// What a flat offset leaves is an error even in a global tensor: lowered code guards its accesses.
bool Machine::read(const Place& p, uint32_t lane, uint64_t& value) {
  int64_t at[kMaxRank + 1];
  const int64_t element = element_of(p, lane, at);
  if (element >= 0) return read_at(*p.memory, element, lane, value);
  value = double_to_bits(p.memory->dtype, 0);
  return (p.memory->global && !p.flat) || outside(*p.memory, at, p.at.size());
}

bool Machine::write(const Place& p, uint32_t lane, uint64_t value) {
  int64_t at[kMaxRank + 1];
  const int64_t element = element_of(p, lane, at);
  if (element >= 0) return write_at(*p.memory, element, lane, value);
  return (p.memory->global && !p.flat) || outside(*p.memory, at, p.at.size());
}

bool Machine::span(const Place& p, uint32_t lane, int64_t count, int64_t& element) {
  int64_t at[kMaxRank + 1];
  element = element_of(p, lane, at);
  if (element < 0) return outside(*p.memory, at, p.at.size());
  return count <= p.memory->elements - element ||
         fail(fmt::format("{} elements from element {} on leave {}", count, element, buffer_name(*p.memory)));
}

bool Machine::goes_over(int64_t elements) {
  if (elements > options_.max_elements - elements_)
    return fail("the program goes over more elements of tiles than allowed: does a loop end?", Code::kTimeout);
  elements_ += elements;
  return true;
}

// Calls f(indices) for each element of a region in row-major order; null indices where it is at or beyond a bound.
template <class F>
bool Machine::walk(const Place& p, uint32_t lane, const std::vector<const Tape*>& bounds, F f) {
  if (!goes_over(p.size)) return false;
  const size_t rank = p.at.size();
  int64_t start[kMaxRank + 1], bound[kMaxRank + 1], at[kMaxRank + 1], step[kMaxRank + 1] = {};
  for (size_t d = 0; d < rank; ++d) {
    start[d] = at[d] = eval_index(p.at[d], lane);
    bound[d] = d < bounds.size() && bounds[d] ? eval_index(bounds[d], lane) : INT64_MAX;
  }
  for (int64_t n = 0; n < p.size; ++n) {
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) inside &= at[d] < bound[d];
    if (!f(inside ? at : nullptr)) return false;
    for (size_t d = rank; d-- > 0;) {
      const bool more = ++step[d] < p.extents[d];
      if (!more) step[d] = 0;
      at[d] = static_cast<int64_t>(static_cast<uint64_t>(start[d]) +
                                   static_cast<uint64_t>(step[d]));  // wraps, as indices do
      if (more) break;
    }
  }
  return true;
}

bool Machine::read_region(const Place& p, uint32_t lane, const std::vector<const Tape*>& bounds, uint64_t safe,
                          std::vector<uint64_t>& values) {
  values.clear();
  values.reserve(static_cast<size_t>(p.size));
  return walk(p, lane, bounds, [&](const int64_t* at) {
    uint64_t value = safe;
    if (at && !read(*p.memory, at, p.at.size(), lane, value, safe)) return false;
    values.push_back(value);
    return true;
  });
}

bool Machine::write_region(const Place& p, uint32_t lane, const std::vector<const Tape*>& bounds,
                           const std::vector<uint64_t>& values) {
  size_t n = 0;
  return walk(p, lane, bounds, [&](const int64_t* at) {
    const uint64_t value = values[n++];
    return !at || write(*p.memory, at, p.at.size(), lane, value);
  });
}

}  // namespace tilert::ir::interp
