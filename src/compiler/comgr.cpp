// Three actions of comgr in a row, each a set of data to a set of data.
#include "compiler/comgr.h"

namespace tilert {
namespace {

// Kinds of data: the same numbers in every major version.
constexpr int kDataSource = 1, kDataLog = 5, kDataExecutable = 8;

class DataSet {
 public:
  explicit DataSet(const ComgrFunctions& call) : call_(call) { made_ = call_.amd_comgr_create_data_set(&handle_) == 0; }
  DataSet(const DataSet&) = delete;
  ~DataSet() {
    if (made_) call_.amd_comgr_destroy_data_set(handle_);
  }

  bool made() const { return made_; }
  ComgrHandle handle() const { return handle_; }

  // The set keeps a reference of its own.
  bool add(int kind, const std::string& name, const std::string& bytes) {
    ComgrHandle data;
    if (call_.amd_comgr_create_data(kind, &data) != 0) return false;
    const bool added = call_.amd_comgr_set_data(data, bytes.size(), bytes.data()) == 0 &&
                       call_.amd_comgr_set_data_name(data, name.c_str()) == 0 &&
                       call_.amd_comgr_data_set_add(handle_, data) == 0;
    call_.amd_comgr_release_data(data);
    return added;
  }

  // All data of the kind, one after the other.
  std::string bytes(int kind) const {
    std::string all;
    size_t count = 0;
    if (!made_ || call_.amd_comgr_action_data_count(handle_, kind, &count) != 0) return all;
    for (size_t i = 0; i < count; ++i) {
      ComgrHandle data;
      if (call_.amd_comgr_action_data_get_data(handle_, kind, i, &data) != 0) continue;
      size_t size = 0;
      if (call_.amd_comgr_get_data(data, &size, nullptr) == 0 && size > 0) {
        std::string one(size, '\0');
        if (call_.amd_comgr_get_data(data, &size, one.data()) == 0) all += one;
      }
      call_.amd_comgr_release_data(data);
    }
    return all;
  }

 private:
  const ComgrFunctions& call_;
  ComgrHandle handle_;
  bool made_ = false;
};

class Action {
 public:
  explicit Action(const ComgrFunctions& call) : call_(call) {
    made_ = call_.amd_comgr_create_action_info(&handle_) == 0;
  }
  Action(const Action&) = delete;
  ~Action() {
    if (made_) call_.amd_comgr_destroy_action_info(handle_);
  }

  bool set_isa(const std::string& target) {
    return made_ && call_.amd_comgr_action_info_set_isa_name(handle_, isa_name(target).c_str()) == 0;
  }
  bool set(int language, const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return call_.amd_comgr_action_info_set_language(handle_, language) == 0 &&
           call_.amd_comgr_action_info_set_logging(handle_, true) == 0 &&
           call_.amd_comgr_action_info_set_option_list(handle_, pointers.data(), pointers.size()) == 0;
  }
  int run(int kind, const DataSet& input, DataSet& output) {
    return call_.amd_comgr_do_action(kind, handle_, input.handle(), output.handle());
  }

 private:
  const ComgrFunctions& call_;
  ComgrHandle handle_;
  bool made_ = false;
};

// comgr writes its inputs into a folder of its own, whose name differs each time: logs call the source by its name
// alone.
std::string without_folders(std::string log, const std::string& name) {
  const std::string tail = "/" + name;
  for (size_t at = log.find(tail); at != std::string::npos; at = log.find(tail, at)) {
    size_t begin = log.find_last_of(" \t\n'\"", at);
    begin = begin == std::string::npos ? 0 : begin + 1;
    log.erase(begin, at + 1 - begin);
    at = begin + name.size();
  }
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

// The later stages take the level alone: what else was asked for stands in the bitcode.
std::vector<std::string> levels(const std::vector<std::string>& options) {
  std::vector<std::string> found;
  for (const std::string& option : options)
    if (option.substr(0, 2) == "-O") found.push_back(option);
  return found;
}

}  // namespace

bool comgr_knows(const Comgr& comgr, const std::string& target) {
  Action action(comgr.call);
  return action.set_isa(target);
}

ComgrOutput comgr_compile(const Comgr& comgr, const CompileRequest& request, const std::vector<std::string>& options,
                          const CompileControl& control) {
  const ComgrNumbers& numbers = *comgr.numbers;
  ComgrOutput out;
  Action action(comgr.call);
  DataSet source(comgr.call), bitcode(comgr.call), relocatable(comgr.call), executable(comgr.call);
  const std::string name = request.program_name + ".hip";
  const bool ready = source.made() && bitcode.made() && relocatable.made() && executable.made() &&
                     action.set_isa(request.target) && source.add(kDataSource, name, request.source);
  if (!ready) {
    out.failure = "comgr ran out of memory";
    return out;
  }
  const struct {
    const char* what;
    int kind, language;
    std::vector<std::string> options;
    DataSet &input, &output;
  } stages[] = {{"compile", numbers.compile, numbers.language_hip, options, source, bitcode},
                {"generate code", numbers.generate, 0, levels(options), bitcode, relocatable},
                {"link", numbers.link, 0, {}, relocatable, executable}};
  for (const auto& stage : stages) {
    if (control.should_stop()) return out;
    const int status =
        action.set(stage.language, stage.options) ? action.run(stage.kind, stage.input, stage.output) : 1;
    out.log += without_folders(stage.output.bytes(kDataLog), name);
    if (status == 0) continue;
    const char* text = nullptr;
    comgr.call.amd_comgr_status_string(status, &text);
    out.failure = fmt::format("comgr failed to {} ({})", stage.what, text ? text : "unknown status");
    return out;
  }
  out.code = executable.bytes(kDataExecutable);
  out.compiled = !out.code.empty();
  if (!out.compiled) out.failure = "comgr gave no code object";
  return out;
}

}  // namespace tilert
