// The explanation as text: the JSON's facts, in the order in which a person asks.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jit/explain.h"

namespace tilert::jit {
namespace {

using nlohmann::json;

std::string plain(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.1f}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string list;
  for (const json& v : value) list += (list.empty() ? "" : " x ") + plain(v);
  return list;
}

std::string operation(const json& row) {
  if (!row.contains("operation")) return "the kernel";
  return row.contains("where") ? fmt::format("{} (operation {})", plain(row["where"]), plain(row["operation"])) : "operation " + plain(row["operation"]);
}

std::string bytes_text(int64_t bytes) {
  return bytes >= 10240 ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024) : fmt::format("{} bytes", bytes);
}

// "  title" and, below it, a line for each row; nothing where there are none.
template <class F>
void section(std::string& out, const json& kernel, const char* key, const char* title, F&& line) {
  const auto rows = kernel.find(key);
  if (rows == kernel.end() || rows->empty()) return;
  out += fmt::format("  {}\n", title);
  for (const json& row : *rows) out += "    " + line(row) + "\n";
}

std::string product(const json& p) {
  std::string out = fmt::format("{}: {} by {}", operation(p), plain(p["tile"]), plain(p["instruction"]));
  for (const char* over : {"warps", "warpgroups"})
    if (p.contains(over)) out += fmt::format(", {} {}", plain(p[over]), over);
  if (p.contains("reason")) out += ": " + plain(p["reason"]);
  return out;
}

std::string pipeline(const json& p) {
  const size_t ahead = p["copies_ahead"].size();
  std::string out = p["stages"].get<int>() > 1 ? fmt::format("{}: {} copies run ahead in {} slots", operation(p), ahead, plain(p["stages"]))
                                               : fmt::format("{}: no copy runs ahead", operation(p));
  if (p.contains("not_ahead")) out += "; " + plain(p["not_ahead"]);
  return out;
}

std::string hint(const json& h) {
  return fmt::format("{}, {}: {}", plain(h["hint"]), operation(h), h["taken"].get<bool>() ? "taken" : "not taken: " + plain(h["reason"]));
}

std::string copy(const json& c) {
  return fmt::format("{}: {}, {} {}", operation(c), plain(c["engine"]), bytes_text(c["bytes"].get<int64_t>()),
                     c["engine"] == "tensor" ? "a box" : "an access");
}

std::string conversion(const json& c) {
  return fmt::format("{}: '{}' goes through shared memory, {} {}: {}", operation(c), plain(c["fragment"]), bytes_text(c["bytes"].get<int64_t>()),
                     c["written"].get<bool>() ? "there, and back as what it wrote" : "written and read", plain(c["reason"]));
}

std::string loop(const json& l) {
  std::string out = fmt::format("{}: {} from global memory, {} multiply-adds a trip", operation(l), bytes_text(l["bytes_a_trip"].get<int64_t>()),
                                plain(l["multiply_adds_a_trip"]));
  if (l.contains("multiply_adds_a_byte")) out += fmt::format(", {} a byte", plain(l["multiply_adds_a_byte"]));
  return out;
}

std::string forms(const json& f) {
  std::string list;
  for (const json& one : f["forms"]) list += (list.empty() ? "" : ", ") + plain(one);
  return fmt::format("{}: {}", operation(f), list);
}

std::string place(const json& m) {
  const auto slots = m.find("slots");
  const bool ring = slots != m.end() && slots->get<int64_t>() > 1;
  return fmt::format("{:>8}  {:>10}  {}{}", m["offset"].get<int64_t>(), m["bytes"].get<int64_t>(), plain(m["name"]), ring ? fmt::format(", {} slots", plain(*slots)) : "");
}

std::string tile(const json& t) {
  std::string out = fmt::format("{} {} {} {}", plain(t["scope"]), plain(t["name"]), plain(t["dtype"]), plain(t["shape"]));
  if (t.contains("registers")) out += fmt::format(", {} elements a thread{}", plain(t["registers"]), t["replicated"].get<bool>() ? ", in copies" : "");
  if (t.contains("bytes")) out += ", " + bytes_text(t["bytes"].get<int64_t>());
  if (t.contains("packed")) out += t["packed"].get<bool>() ? ", packed" : fmt::format(", a byte an element: {}", plain(t["why_not_packed"]));
  out += fmt::format("\n      {}\n      first elements as {}:", plain(t["layout"]), plain(t["cells"]));
  for (const json& row : t["corner"]) {
    out += "\n       ";
    for (const json& cell : row) out += fmt::format(" {:>7}", plain(cell));
  }
  return out;
}

void limits(std::string& out, const json& l) {
  out += fmt::format("  a multiprocessor holds {} blocks, {} warps, by {}; a thread may have {} registers", plain(l["blocks"]), plain(l["warps"]),
                     plain(l["bound_by"]), plain(l["registers_allowed"]));
  if (l.contains("registers")) out += fmt::format(" and has {}, {} bytes spilled", plain(l["registers"]), plain(l["spill_bytes"]));
  out += "\n";
}

void order(std::string& out, const json& kernel) {
  const auto found = kernel.find("order");
  if (found == kernel.end() || found->empty()) return;
  const json& o = *found;
  const bool tiles = o.contains("persistent");
  std::string text = tiles ? "blocks loop over the tiles" : "blocks come";
  if (o.contains("columns_together")) text += fmt::format(", {} columns of the grid together", plain(o["columns_together"]));
  else text += " in grid order";
  if (o.contains("counted_in")) text += fmt::format(", as many as '{}' says", plain(o["counted_in"]));
  if (o.contains("cost")) text += fmt::format(", or by a plan in the workspace, a tile costing {}", plain(o["cost"]));
  if (o.contains("locality")) text += fmt::format(", of group {}", plain(o["locality"]));
  if (o.contains("fixed_sums")) text += "; sums have one order, whatever dims and hints of class B are";
  if (o.contains("meets")) text += "; all blocks run at once and meet";
  out += "  " + text + "\n";
}

void split(std::string& out, const json& kernel) {
  const auto found = kernel.find("split");
  if (found == kernel.end()) return;
  out += fmt::format("  {} blocks to a tile, each a part of the trips; the parts meet in ", plain((*found)["parts"]));
  out += found->contains("reason") ? fmt::format("the workspace: {}\n", plain((*found)["reason"])) : "the shared memory of a cluster\n";
}

void roles(std::string& out, const json& kernel) {
  if (const auto no = kernel.find("no_roles"); no != kernel.end()) out += fmt::format("  no roles: {}\n", plain(*no));
  const auto r = kernel.find("roles");
  if (r == kernel.end()) return;
  if ((*r)["stages"].get<int>() == 0) out += fmt::format("  roles: the program's own, {} warpgroups work", plain((*r)["consumer_warpgroups"]));
  else
    out += fmt::format("  roles: a producer of copies and {} consumer warpgroups around {}, {} slots", plain((*r)["consumer_warpgroups"]), operation(*r),
                       plain((*r)["stages"]));
  if ((*r)["consumer_registers"].get<int>())
    out += fmt::format(", {} and {} registers a thread", plain((*r)["producer_registers"]), plain((*r)["consumer_registers"]));
  for (const json& copy : r->value("copied_by_threads", json::array()))
    out += fmt::format("; {} is copied by the producer's threads: {}", operation(copy), plain(copy["reason"]));
  out += "\n";
  if (!r->contains("shared_copies")) return;
  for (const json& c : (*r)["shared_copies"])
    out += fmt::format("    {} comes to all {} blocks of a cluster, of each a part of {}\n", operation(c), plain(kernel["cluster"]), plain(c["part"]));
}

void kernel(std::string& out, const json& k) {
  out += fmt::format("kernel '{}', grid {}", plain(k["name"]), plain(k["grid"]));
  if (k.value("planner", false)) out += ", plans tiles";
  if (k.contains("source")) {
    out += fmt::format(": {} source as it is\n", plain(k["source"]));
    return;
  }
  if (k.contains("threads")) out += fmt::format(", {} threads, {} of shared memory", plain(k["threads"]), bytes_text(k["shared_bytes"].get<int64_t>()));
  if (k.contains("tile_bytes")) out += fmt::format(", {} of tiles in a thread's scratch", bytes_text(k["tile_bytes"].get<int64_t>()));
  out += "\n";
  order(out, k);
  if (k.contains("limits")) limits(out, k["limits"]);
  roles(out, k);
  split(out, k);
  section(out, k, "hints", "hints", hint);
  section(out, k, "products", "products", product);
  section(out, k, "pipelines", "pipelines", pipeline);
  section(out, k, "loops", "work of pipelined loops", loop);
  section(out, k, "copies", "copies", copy);
  section(out, k, "approximate", "fast forms, taken from the target's approximations", forms);
  section(out, k, "exact", "fast forms, computed exactly on this target", forms);
  section(out, k, "conversions", "fragments that change hands", conversion);
  section(out, k, "notes", "notes", plain);
  section(out, k, "shared_map", "shared memory: offset, bytes", place);
  section(out, k, "scratch_map", "scratch: offset, bytes", place);
  section(out, k, "tiles", "tiles", tile);
}

}  // namespace

std::string explanation_text(const json& explanation) {
  const auto conditions = explanation.find("conditions");
  const bool any = conditions != explanation.end() && !plain(*conditions).empty();
  std::string out = fmt::format("program '{}' for {} ({}){}\n", plain(explanation["program"]), plain(explanation["target"]),
                                plain(explanation["device_class"]), any ? ", where " + plain(*conditions) : "");
  if (explanation.contains("vector_lanes")) out += fmt::format("vectors of {} elements of 32 bits\n", plain(explanation["vector_lanes"]));
  for (const json& k : explanation["kernels"]) kernel(out, k);
  return out;
}

}  // namespace tilert::jit
