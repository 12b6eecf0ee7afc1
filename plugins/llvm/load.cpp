// Object bytes to callable code: one linker session per process, one JITDylib per object, code in slabs of 16 MiB.
// Only helpers.def resolves; the process's own symbols are out of reach.
#include <llvm/ADT/StringExtras.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/MemoryMapper.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/TargetParser/Host.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "helpers.h"
#include "internal.h"

namespace orc = llvm::orc;

// A loaded object: its library in the session and the addresses of its exported functions.
struct tilert_llvm_module {
  struct Session* session = nullptr;
  orc::JITDylib* library = nullptr;
  std::map<std::string, void*, std::less<>> entries;
};

// The linker of one process. It is never destroyed: code may run until the very end.
struct Session {
  orc::ExecutionSession session;
  std::unique_ptr<orc::ObjectLinkingLayer> layer;
  orc::JITDylib* helpers = nullptr;
  std::atomic<uint64_t> serial{0};
  const pid_t owner = getpid();

  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> control) : session(std::move(control)) {}
};

namespace tilert::llvm_plugin {
namespace {

constexpr size_t kSlabBytes = size_t{16} << 20;

std::atomic<Session*> current_session{nullptr};

// Linking runs on the calling thread, so what it reports belongs to that thread's call.
thread_local std::string* link_report = nullptr;

void collect_link_error(llvm::Error error) {
  const std::string text = llvm::toString(std::move(error));
  if (link_report == nullptr) return;
  if (!link_report->empty()) *link_report += "; ";
  *link_report += text;
}

llvm::Error define_helpers(Session* made) {
  size_t count = 0;
  const tilert_llvm_helper* helpers = tilert_llvm_helpers(&count);
  orc::SymbolMap symbols;
  for (size_t i = 0; i < count; ++i) {
    symbols[made->session.intern(helpers[i].name)] = {orc::ExecutorAddr::fromPtr(helpers[i].address),
                                                      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  }
  return made->helpers->define(orc::absoluteSymbols(std::move(symbols)));
}

llvm::Expected<std::unique_ptr<Session>> make_session() {
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control) return control.takeError();
  auto made = std::make_unique<Session>(std::move(*control));
  made->session.setErrorReporter(collect_link_error);
  auto memory = orc::MapperJITLinkMemoryManager::CreateWithMapper<orc::InProcessMemoryMapper>(kSlabBytes);
  if (!memory) return memory.takeError();
  made->layer = std::make_unique<orc::ObjectLinkingLayer>(made->session, std::move(*memory));
  made->helpers = &made->session.createBareJITDylib("helpers");
  if (auto error = define_helpers(made.get())) return error;
  return made;
}

void forget_session_in_child() { current_session.store(nullptr, std::memory_order_relaxed); }

// The session of this process. Two threads may both make one; the loser's is abandoned unused. Without a lock, so that
// a fork at any moment leaves the child free to make its own.
llvm::Expected<Session*> this_session() {
  if (Session* found = current_session.load(std::memory_order_acquire)) return found;
  auto made = make_session();
  if (!made) return made.takeError();
  static const int registered = pthread_atfork(nullptr, nullptr, forget_session_in_child);
  (void)registered;
  Session* expected = nullptr;
  if (current_session.compare_exchange_strong(expected, made->get(), std::memory_order_acq_rel))
    return made->release();
  llvm::consumeError((*made)->session.endSession());
  return expected;
}

llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> open_object(llvm::StringRef bytes) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel"));
  if (!object) return object.takeError();
  const auto host = llvm::Triple(llvm::sys::getProcessTriple()).getArch();
  if (!(*object)->isELF() || (*object)->getArch() != host || !(*object)->isRelocatableObject())
    return llvm::createStringError("it is not a relocatable ELF object of this machine");
  return object;
}

struct Symbols {
  std::vector<std::string> functions, unlisted;
};

llvm::Expected<Symbols> read_symbols(const llvm::object::ObjectFile& object) {
  Symbols result;
  for (const llvm::object::SymbolRef symbol : object.symbols()) {
    auto flags = symbol.getFlags();
    if (!flags) return flags.takeError();
    auto name = symbol.getName();
    if (!name) return name.takeError();
    if (*flags & llvm::object::SymbolRef::SF_Undefined) {
      if (!name->empty() && *name != "_GLOBAL_OFFSET_TABLE_" && !is_helper(*name)) result.unlisted.push_back(name->str());
      continue;
    }
    auto type = symbol.getType();
    if (!type) return type.takeError();
    if ((*flags & llvm::object::SymbolRef::SF_Global) && *type == llvm::object::SymbolRef::ST_Function)
      result.functions.push_back(name->str());
  }
  return result;
}

// Links the object and finds its functions. On failure the library is gone again.
llvm::Error link(Session* session, llvm::StringRef bytes, const Symbols& symbols, tilert_llvm_module* module) {
  const uint64_t serial = session->serial.fetch_add(1, std::memory_order_relaxed);
  auto& library = session->session.createBareJITDylib("kernel." + std::to_string(serial));
  library.addToLinkOrder(*session->helpers);
  module->session = session;
  module->library = &library;
  if (auto error = session->layer->add(library, llvm::MemoryBuffer::getMemBufferCopy(bytes, library.getName())))
    return error;
  orc::SymbolLookupSet wanted;
  for (const auto& name : symbols.functions) wanted.add(session->session.intern(name));
  auto found = session->session.lookup(orc::makeJITDylibSearchOrder(&library), std::move(wanted));
  if (!found) return found.takeError();
  for (const auto& [name, symbol] : *found) module->entries[(*name).str()] = symbol.getAddress().toPtr<void*>();
  return llvm::Error::success();
}

}  // namespace

std::string unlisted_imports(std::string_view bytes) {
  auto object = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "kernel"));
  if (!object) return llvm::toString(object.takeError());
  auto symbols = read_symbols(**object);
  if (!symbols) return llvm::toString(symbols.takeError());
  return llvm::join(symbols->unlisted, ", ");
}

int32_t load(const uint8_t* bytes, size_t size, tilert_llvm_module** module, tilert_llvm_buffer* error) {
  *error = {};
  *module = nullptr;
  const llvm::StringRef text(reinterpret_cast<const char*>(bytes), bytes != nullptr ? size : 0);
  auto object = open_object(text);
  if (!object) return fail(error, TILERT_LLVM_CORRUPT, "the object cannot be loaded: " + llvm::toString(object.takeError()));
  auto symbols = read_symbols(**object);
  if (!symbols) return fail(error, TILERT_LLVM_CORRUPT, "the object's symbols are broken: " + llvm::toString(symbols.takeError()));
  if (!symbols->unlisted.empty())
    return fail(error, TILERT_LLVM_UNSUPPORTED,
                "the object imports what compiled code may not call: " + llvm::join(symbols->unlisted, ", "));
  auto session = this_session();
  if (!session) return fail(error, TILERT_LLVM_UNAVAILABLE, "no linker session: " + llvm::toString(session.takeError()));
  auto made = std::make_unique<tilert_llvm_module>();
  std::string report;
  link_report = &report;
  std::string problem;
  if (auto failed = link(*session, text, *symbols, made.get())) problem = llvm::toString(std::move(failed));
  link_report = nullptr;
  if (!problem.empty()) {
    release_module(made.release());
    return fail(error, TILERT_LLVM_UNAVAILABLE,
                "the code cannot be made executable: " + (report.empty() ? problem : report));
  }
  *module = made.release();
  return TILERT_LLVM_OK;
}

void* entry(tilert_llvm_module* module, const char* name) {
  if (module == nullptr || name == nullptr) return nullptr;
  const auto found = module->entries.find(std::string_view(name));
  return found == module->entries.end() ? nullptr : found->second;
}

void release_module(tilert_llvm_module* module) {
  if (module == nullptr) return;
  if (module->session->owner == getpid()) llvm::consumeError(module->session->session.removeJITDylib(*module->library));
  delete module;
}

}  // namespace tilert::llvm_plugin
