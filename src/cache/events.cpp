// Names of events and the way to the host's callback.
#include "cache/events.h"

namespace tilert {
namespace {

struct EventRow {
  CacheEventKind kind;
  const char* name;
  bool serious;
  const char* text;
};

constexpr EventRow kEvents[] = {
#define TILERT_CACHE_EVENT(name, number, serious, text) {CacheEventKind::name, #name, serious, text},
#include "cache/events.def"
#undef TILERT_CACHE_EVENT
};

const EventRow* row_of(CacheEventKind kind) {
  for (const EventRow& row : kEvents)
    if (row.kind == kind) return &row;
  return nullptr;
}

}  // namespace

const char* cache_event_name(CacheEventKind kind) {
  const EventRow* row = row_of(kind);
  return row ? row->name : "unknown";
}

const char* cache_event_text(CacheEventKind kind) {
  const EventRow* row = row_of(kind);
  return row ? row->text : "unknown";
}

void Events::report(const CacheEvent& event) {
  count(event.kind);
  const EventRow* row = row_of(event.kind);
  if (callback_ && row && row->serious) callback_(event);
}

void Events::report(EventList& events) {
  EventList taken = std::move(events);
  events.clear();
  for (const CacheEvent& event : taken) report(event);
}

void Events::fill(CacheStats& stats) const {
  for (size_t i = 0; i < counts_.size(); ++i) stats.count[i] = counts_[i].load(std::memory_order_relaxed);
}

}  // namespace tilert
