// Launches of cases.
#include "random/launch.h"

#include <algorithm>

#include "ir/evaluate.h"

namespace tilert::random {
namespace {

using conformance::Argument;
using conformance::Launch;

class Maker {
 public:
  Maker(const Case& c, const Outputs& want) : c_(c), want_(want), data_(make_data(c)), untouched_(kept(c, want)) {}

  void add_all(Launch& to) {
    const std::vector<int> memory = shared_memory(c_);
    for (size_t i = 0; i < data_.size(); ++i) {
      const auto same = memory[i] < 0 ? i : static_cast<size_t>(memory[i]);
      tensors_.emplace_back();
      if (c_.program.parameters[i].kind == ir::Parameter::Kind::scalar) scalar(to, i);
      else if (ir::is_table(buffer(i))) table(to, i, same);
      else tensor(to, i, same);
      at_.push_back(static_cast<int>(to.arguments.size()) - 1);
    }
  }

 private:
  void scalar(Launch& to, size_t i) const {
    const auto dtype = static_cast<tl::DType>(c_.program.vars[c_.program.parameters[i].var].dtype);
    to.scalar(dtype, conformance::decode(dtype, ir::load_element(DType::int64, data_[i].data())));
  }

  void tensor(Launch& to, size_t i, size_t same) const {
    Argument a = elements(i, 0, elements_of(c_, buffer(i)));
    if (same != i) a.same_as = at_[same], a.poisoned = false, a.want.clear();
    to.arguments.push_back(std::move(a));
    placed(to.arguments.back(), buffer(i));
  }

  // Each tensor is memory of its own, as many elements as its strides reach.
  void table(Launch& to, size_t i, size_t same) {
    const Entries entries = entries_of(c_, buffer(i));
    std::vector<int>& tensors = tensors_[i];
    if (same != i) tensors = tensors_[same];
    for (size_t e = 0; same == i && e < entries.there.size(); ++e) {
      tensors.push_back(entries.there[e] ? static_cast<int>(to.arguments.size()) : -1);
      if (!entries.there[e]) continue;
      to.arguments.push_back(elements(i, static_cast<int64_t>(e) * entries.room, entries.elements));
      to.behind();
    }
    to.table(static_cast<tl::DType>(buffer(i).dtype), tensors);
    placed(to.arguments.back(), buffer(i));
  }

  Argument elements(size_t i, int64_t first, int64_t count) const {
    const ir::Buffer& b = buffer(i);
    const auto dtype = static_cast<tl::DType>(b.dtype);
    Argument a{dtype};
    a.poisoned = b.direction == ir::Direction::out;
    for (int64_t at = first; at < first + count; ++at) {
      const uint64_t before = element_at(b.dtype, data_[i], at), after = element_at(b.dtype, want_[i], at);
      const bool same = untouched_[i][static_cast<size_t>(at)];
      a.data.push_back(a.poisoned ? 0 : conformance::decode(dtype, before));
      if (b.direction != ir::Direction::in)
        a.want.push_back({conformance::decode(dtype, after),
                          tolerance(c_.program.parameters[i], b.dtype, ir::bits_to_double(b.dtype, after)), a.poisoned && same});
    }
    return a;
  }

  void placed(Argument& a, const ir::Buffer& b) const {
    for (size_t d = 0; !b.contiguous && d < b.shape.size(); ++d) {
      a.shape.push_back(value_of(c_, b.shape[d]));
      a.strides.push_back(value_of(c_, b.strides[d]));
    }
  }

  const ir::Buffer& buffer(size_t parameter) const { return c_.program.buffer(c_.program.parameters[parameter].buffer); }

  const Case& c_;
  const Outputs& want_;
  const Outputs data_;
  const std::vector<std::vector<bool>> untouched_;
  std::vector<int> at_;                    // where each parameter stands among the launch's arguments
  std::vector<std::vector<int>> tensors_;  // of each table
};

}  // namespace

Launch launch_of(const Case& c, const Outputs& want) {
  Launch launch;
  launch.dims = c.dims;
  const bool planned = std::any_of(c.program.kernels.begin(), c.program.kernels.end(),
                                   [](const ir::Kernel& k) { return k.cost != nullptr; });
  launch.max_blocks = static_cast<int64_t>(c.seed % 4);
  if (planned) launch.plan = static_cast<Launch::Plan>(c.seed / 4 % 3);
  Maker(c, want).add_all(launch);
  return launch;
}

}  // namespace tilert::random
