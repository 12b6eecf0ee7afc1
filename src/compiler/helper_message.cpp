// The messages between library and helper.
#include "compiler/flat.h"
#include "compiler/helper.h"
#include "compiler/message.h"
#include "support/sha256.h"

namespace tilert {
namespace {

constexpr std::string_view kJobMagic = "TLRTJOB1";
constexpr std::string_view kAnswerMagic = "TLRTANS1";

// Never reuse a number.
enum JobTag : uint32_t { kJobNvrtc = 1, kJobHiprtc, kJobPlugin, kJobKey, kJobRequest };
enum AnswerTag : uint32_t { kAnswerBinary = 1, kAnswerCode, kAnswerMessage, kAnswerLog, kAnswerSignal };

Error bad_job(std::string_view what) { return make_error(Code::kCorrupt, "not a job for this helper: {}", what); }

bool is_error_code(uint64_t number) {
  return number != static_cast<uint64_t>(Code::kOk) && number <= static_cast<uint64_t>(Code::kInternal);
}

}  // namespace

std::string request_digest(const CompileRequest& request) { return to_hex(sha256(compile_key_text(request))); }

std::string serialize(const HelperJob& job) {
  std::string out(kJobMagic);
  flat::append(out, kJobNvrtc, job.places.nvrtc);
  flat::append(out, kJobHiprtc, job.places.hiprtc);
  flat::append(out, kJobPlugin, job.places.plugin);
  flat::append(out, kJobKey, job.key);
  flat::append(out, kJobRequest, serialize(job.request));
  return out;
}

Result<HelperJob> parse_helper_job(std::string_view message) {
  flat::Reader reader(message);
  if (!reader.magic(kJobMagic)) return bad_job("its first bytes are wrong");
  HelperJob job;
  bool requested = false;
  flat::Field field;
  while (reader.next(field)) {
    switch (field.tag) {
      case kJobNvrtc: job.places.nvrtc = field.bytes; break;
      case kJobHiprtc: job.places.hiprtc = field.bytes; break;
      case kJobPlugin: job.places.plugin = field.bytes; break;
      case kJobKey: job.key = field.bytes; break;
      case kJobRequest: {
        TILERT_ASSIGN(job.request, parse_compile_request(field.bytes));
        requested = true;
        break;
      }
      default: return bad_job(fmt::format("field {} is unknown", field.tag));
    }
  }
  if (reader.failed() || !requested) return bad_job("it ends too early");
  return job;
}

std::string serialize_answer(const Result<Binary>& answer) {
  std::string out(kAnswerMagic);
  if (answer) {
    flat::append(out, kAnswerBinary, serialize(*answer));
    return out;
  }
  flat::append_number(out, kAnswerCode, static_cast<uint64_t>(answer.error().code));
  flat::append(out, kAnswerMessage, answer.error().message);
  flat::append(out, kAnswerLog, answer.error().log);
  return out;
}

std::string serialize_signal(int number) {
  std::string out(kAnswerMagic);
  flat::append_number(out, kAnswerSignal, static_cast<uint64_t>(number));
  return out;
}

HelperAnswer parse_answer(std::string_view message) {
  HelperAnswer answer{make_error(Code::kCorrupt, "not an answer of the helper")};
  Error error;
  bool failed = false;
  flat::Reader reader(message);
  if (!reader.magic(kAnswerMagic)) return answer;
  flat::Field field;
  while (reader.next(field)) {
    const uint64_t number = field.bytes.size() == 8 ? flat::load_u64(field.bytes) : 0;
    bool known = true;
    switch (field.tag) {
      case kAnswerBinary: answer.binary = parse_binary(field.bytes), known = static_cast<bool>(answer.binary); break;
      case kAnswerCode: error.code = static_cast<Code>(number), failed = known = is_error_code(number); break;
      case kAnswerMessage: error.message = field.bytes; break;
      case kAnswerLog: error.log = field.bytes; break;
      case kAnswerSignal: answer.signal = static_cast<int>(number), known = number > 0 && number < 128; break;
      default: known = false;
    }
    if (!known) return HelperAnswer{make_error(Code::kCorrupt, "not an answer of the helper")};
  }
  answer.valid = !reader.failed() && (answer.binary || failed || answer.signal != 0);
  if (failed) answer.binary = std::move(error);
  return answer;
}

}  // namespace tilert
