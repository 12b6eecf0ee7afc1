// Life of a builder: location, the sticky error, finish. The operations are in the files named in builder.h.
#include "builder/builder.h"

#include <atomic>
#include <cstring>

#include "ir/verifier.h"

namespace tilert::builder {
namespace {

uint32_t next_serial() {
  static std::atomic<uint32_t> last{0};
  uint32_t serial = ++last;
  while (serial == 0) serial = ++last;  // 0 is "none"
  return serial;
}

constexpr size_t kMaxText = 4096;  // of one name, file or label

}  // namespace

const char* id_kind_name(IdKind kind) {
  switch (kind) {
    case IdKind::dim: return "a dim";
    case IdKind::tensor: return "a tensor parameter";
    case IdKind::scalar: return "a scalar parameter";
    case IdKind::buffer: return "a buffer";
    case IdKind::expr: return "a value";
    case IdKind::function: return "a device function";
  }
  return "nothing known";
}

Builder::Builder(const char* name) : serial_(next_serial()), program_(std::make_shared<ir::Program>()) {
  scopes_.emplace_back();
  program_->name = "program";
  if (!name) return;
  run("program", [&]() -> Status {
    TILERT_ASSIGN(program_->name, new_name(name, "the program's name"));
    names_.clear();  // a parameter may have the program's name
    return {};
  });
}

void Builder::at(const char* file, uint32_t line, const char* label) {
  const auto assign = [](std::string& to, const char* from) {
    if (!from) return;
    const size_t size = strnlen(from, kMaxText);
    if (std::string_view(from, size) != to) to.assign(from, size);
  };
  assign(here_.file, file);
  here_.line = static_cast<int>(line);
  here_.label.clear();
  assign(here_.label, label);
  here_index_ = 0;
}

// The index of the present location; one entry serves all that a call declares.
uint32_t Builder::location() {
  if (here_.file.empty() && here_.label.empty()) return 0;
  if (here_index_ == 0) {
    program_->locations.push_back(here_);
    here_index_ = static_cast<uint32_t>(program_->locations.size() - 1);
  }
  return here_index_;
}

void Builder::drop_label() {
  if (here_.label.empty()) return;
  here_.label.clear();
  here_index_ = 0;
}

std::string Builder::where(std::string_view operation) const {
  std::string out;
  if (!here_.file.empty()) out = fmt::format("{}:{}", here_.file, here_.line);
  if (!here_.label.empty()) out += fmt::format("{}'{}'", out.empty() ? "" : " ", here_.label);
  if (!out.empty()) out += ": ";
  return out.append(operation);
}

void Builder::name_doubt(std::string_view operation) {
  if (!doubt_ || doubt_named_) return;
  doubt_->message = fmt::format("{}: {}", where(operation), doubt_->message);
  doubt_named_ = true;
}

void Builder::fail(std::string_view operation, Error error) {
  if (error_) return;
  error_ = std::move(error);  // first of all: without memory for the place, the error stands without it
  error_->message = fmt::format("{}: {}", where(operation), error_->message);
}

Result<std::shared_ptr<const ir::Program>> Builder::finish() {
  run("finish", [&]() -> Status {
    if (!program_) return make_error(Code::kInvalidArgument, "the builder is spent: finish was called before");
    if (scopes_.size() > 1) {
      return make_error(Code::kInvalidProgram, "{} scope{} left open; the innermost is the {}{}", scopes_.size() - 1,
                        scopes_.size() == 2 ? " is" : "s are", scope_name(top()), opened_at(top()));
    }
    if (program_->kernels.empty())
      return make_error(Code::kInvalidProgram, "the program '{}' has no kernel: open one with begin_kernel",
                        program_->name);
    return {};
  });
  if (!error_) {
    // What the calls let through and the whole shows; the message names its own place.
    Status verified = ir::verify(*program_);
    if (!verified) error_ = std::move(verified).error();
  }
  if (error_) return *error_;
  std::shared_ptr<const ir::Program> program = std::move(program_);
  program_ = std::make_shared<ir::Program>();
  error_ = make_error(Code::kInvalidArgument, "the builder is spent: finish was called before");
  return program;
}

}  // namespace tilert::builder
