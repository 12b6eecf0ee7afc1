// Reports: calls of one function that takes a place in the ring and writes the entry there. The layout is ir/report.h's.
#include "codegen/llvm_kernel.h"
#include "ir/report.h"

namespace tilert::codegen {

using namespace ir;

void LlvmKernel::report(const Report& n) {
  callees_.reports = true;
  std::string arguments = fmt::format("ptr {}, i64 {}", base(n.ring), n.id);
  for (size_t i = 0; i < 3; ++i) arguments += fmt::format(", i64 {}", i < n.block.size() ? scalar(n.block[i]) : "0");
  for (size_t i = 0; i < kMaxReported; ++i)
    arguments += fmt::format(", i64 {}", i < n.values.size() ? scalar(n.values[i]) : "0");
  text_.put("call void @tilert_report({})", arguments);
}

// What finds no room is counted only. The count is the only word that blocks share.
std::string emit_report() {
  LlvmText t;
  std::string parameters = "ptr %ring, i64 %id, i64 %x, i64 %y, i64 %z";
  for (size_t i = 0; i < kMaxReported; ++i) parameters += fmt::format(", i64 %w{}", i);
  t.begin(fmt::format("define internal void @tilert_report({}) noinline", parameters));
  t.put("%at = atomicrmw add ptr %ring, i64 1 monotonic");
  t.put("%room = icmp ult i64 %at, {}", kReportEntries);
  t.put("br i1 %room, label %write, label %done");
  t.label("write");
  t.put("%offset = mul nuw nsw i64 %at, {}", sizeof(ReportEntry));
  t.put("%from = add nuw nsw i64 %offset, {}", kReportHeaderBytes);
  t.put("%place = getelementptr inbounds i8, ptr %ring, i64 %from");
  const char* const kWords[] = {"%id", "%x", "%y", "%z"};
  for (size_t i = 0; i < 4; ++i) {
    const std::string word = t.let("trunc i64 {} to i32", kWords[i]);
    t.put("store i32 {}, ptr {}, align 4", word, t.let("getelementptr inbounds i32, ptr %place, i64 {}", i));
  }
  for (size_t i = 0; i < kMaxReported; ++i)
    t.put("store i64 %w{}, ptr {}, align 8", i, t.let("getelementptr inbounds i64, ptr %place, i64 {}", i + 2));
  t.put("br label %done");
  t.label("done");
  t.put("ret void");
  t.end();
  return t.take();
}

}  // namespace tilert::codegen
