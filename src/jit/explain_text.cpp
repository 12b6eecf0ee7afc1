// The explanation as text: the JSON's facts, in the order in which a person asks.
#include <fmt/format.h>

#include "jit/explain.h"

namespace tilert::jit {
namespace {

std::string plain(const Json& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_bool()) return value.as_bool() ? "yes" : "no";
  if (value.is_float()) return fmt::format("{:.1f}", value.as_float());
  if (!value.is_array()) return value.dump();
  std::string list;
  for (const Json& v : value.elements()) list += (list.empty() ? "" : " x ") + plain(v);
  return list;
}

std::string operation(const Json& row) {
  if (!row.contains("operation")) return "the kernel";
  return row.contains("where") ? fmt::format("{} (operation {})", plain(row["where"]), plain(row["operation"])) : "operation " + plain(row["operation"]);
}

std::string bytes_text(int64_t bytes) {
  return bytes >= 10240 ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024) : fmt::format("{} bytes", bytes);
}

// "  title" and, below it, a line for each row; nothing where there are none.
template <class F>
void section(std::string& out, const Json& kernel, const char* key, const char* title, F&& line) {
  const Json* rows = kernel.find(key);
  if (!rows || rows->empty()) return;
  out += fmt::format("  {}\n", title);
  for (const Json& row : rows->elements()) out += "    " + line(row) + "\n";
}

std::string product(const Json& p) {
  std::string out = fmt::format("{}: {} by {}", operation(p), plain(p["tile"]), plain(p["instruction"]));
  for (const char* over : {"warps", "warpgroups"})
    if (p.contains(over)) out += fmt::format(", {} {}", plain(p[over]), over);
  if (p.contains("reason")) out += ": " + plain(p["reason"]);
  return out;
}

std::string pipeline(const Json& p) {
  const size_t ahead = p["copies_ahead"].size();
  std::string out = p["stages"].as_int() > 1 ? fmt::format("{}: {} copies run ahead in {} slots", operation(p), ahead, plain(p["stages"]))
                                               : fmt::format("{}: no copy runs ahead", operation(p));
  if (p.contains("not_ahead")) out += "; " + plain(p["not_ahead"]);
  return out;
}

std::string hint(const Json& h) {
  return fmt::format("{}, {}: {}", plain(h["hint"]), operation(h), h["taken"].as_bool() ? "taken" : "not taken: " + plain(h["reason"]));
}

std::string copy(const Json& c) {
  return fmt::format("{}: {}, {} {}", operation(c), plain(c["engine"]), bytes_text(c["bytes"].as_int()),
                     c["engine"].as_string() == "tensor" ? "a box" : "an access");
}

std::string conversion(const Json& c) {
  return fmt::format("{}: '{}' goes through shared memory, {} {}: {}", operation(c), plain(c["fragment"]), bytes_text(c["bytes"].as_int()),
                     c["written"].as_bool() ? "there, and back as what it wrote" : "written and read", plain(c["reason"]));
}

std::string loop(const Json& l) {
  std::string out = fmt::format("{}: {} from global memory, {} multiply-adds a trip", operation(l), bytes_text(l["bytes_a_trip"].as_int()),
                                plain(l["multiply_adds_a_trip"]));
  if (l.contains("multiply_adds_a_byte")) out += fmt::format(", {} a byte", plain(l["multiply_adds_a_byte"]));
  return out;
}

std::string forms(const Json& f) {
  std::string list;
  for (const Json& one : f["forms"].elements()) list += (list.empty() ? "" : ", ") + plain(one);
  return fmt::format("{}: {}", operation(f), list);
}

std::string place(const Json& m) {
  const Json* slots = m.find("slots");
  const bool ring = slots && slots->as_int() > 1;
  return fmt::format("{:>8}  {:>10}  {}{}", m["offset"].as_int(), m["bytes"].as_int(), plain(m["name"]), ring ? fmt::format(", {} slots", plain(*slots)) : "");
}

std::string tile(const Json& t) {
  std::string out = fmt::format("{} {} {} {}", plain(t["scope"]), plain(t["name"]), plain(t["dtype"]), plain(t["shape"]));
  if (t.contains("registers")) out += fmt::format(", {} elements a thread{}", plain(t["registers"]), t["replicated"].as_bool() ? ", in copies" : "");
  if (t.contains("bytes")) out += ", " + bytes_text(t["bytes"].as_int());
  if (t.contains("packed")) out += t["packed"].as_bool() ? ", packed" : fmt::format(", a byte an element: {}", plain(t["why_not_packed"]));
  out += fmt::format("\n      {}\n      first elements as {}:", plain(t["layout"]), plain(t["cells"]));
  for (const Json& row : t["corner"].elements()) {
    out += "\n       ";
    for (const Json& cell : row.elements()) out += fmt::format(" {:>7}", plain(cell));
  }
  return out;
}

void limits(std::string& out, const Json& l) {
  out += fmt::format("  a multiprocessor holds {} blocks, {} warps, by {}; a thread may have {} registers", plain(l["blocks"]), plain(l["warps"]),
                     plain(l["bound_by"]), plain(l["registers_allowed"]));
  if (l.contains("registers")) out += fmt::format(" and has {}, {} bytes spilled", plain(l["registers"]), plain(l["spill_bytes"]));
  out += "\n";
}

void order(std::string& out, const Json& kernel) {
  const Json* found = kernel.find("order");
  if (!found || found->empty()) return;
  const Json& o = *found;
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

void split(std::string& out, const Json& kernel) {
  const Json* found = kernel.find("split");
  if (!found) return;
  out += fmt::format("  {} blocks to a tile, each a part of the trips; the parts meet in ", plain((*found)["parts"]));
  out += found->contains("reason") ? fmt::format("the workspace: {}\n", plain((*found)["reason"])) : "the shared memory of a cluster\n";
}

void roles(std::string& out, const Json& kernel) {
  if (const Json* no = kernel.find("no_roles")) out += fmt::format("  no roles: {}\n", plain(*no));
  const Json* r = kernel.find("roles");
  if (!r) return;
  if ((*r)["stages"].as_int() == 0) out += fmt::format("  roles: the program's own, {} warpgroups work", plain((*r)["consumer_warpgroups"]));
  else
    out += fmt::format("  roles: a producer of copies and {} consumer warpgroups around {}, {} slots", plain((*r)["consumer_warpgroups"]), operation(*r),
                       plain((*r)["stages"]));
  if ((*r)["consumer_registers"].as_int())
    out += fmt::format(", {} and {} registers a thread", plain((*r)["producer_registers"]), plain((*r)["consumer_registers"]));
  if (const Json* copies = r->find("copied_by_threads"))
    for (const Json& copy : copies->elements())
      out += fmt::format("; {} is copied by the producer's threads: {}", operation(copy), plain(copy["reason"]));
  out += "\n";
  if (!r->contains("shared_copies")) return;
  for (const Json& c : (*r)["shared_copies"].elements())
    out += fmt::format("    {} comes to all {} blocks of a cluster, of each a part of {}\n", operation(c), plain(kernel["cluster"]), plain(c["part"]));
}

void kernel(std::string& out, const Json& k) {
  out += fmt::format("kernel '{}', grid {}", plain(k["name"]), plain(k["grid"]));
  if (const Json* planner = k.find("planner"); planner && planner->as_bool()) out += ", plans tiles";
  if (k.contains("source")) {
    out += fmt::format(": {} source as it is\n", plain(k["source"]));
    return;
  }
  if (k.contains("threads")) out += fmt::format(", {} threads, {} of shared memory", plain(k["threads"]), bytes_text(k["shared_bytes"].as_int()));
  if (k.contains("tile_bytes")) out += fmt::format(", {} of tiles in a thread's scratch", bytes_text(k["tile_bytes"].as_int()));
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

std::string explanation_text(const Json& explanation) {
  const Json* conditions = explanation.find("conditions");
  const bool any = conditions && !plain(*conditions).empty();
  std::string out = fmt::format("program '{}' for {} ({}){}\n", plain(explanation["program"]), plain(explanation["target"]),
                                plain(explanation["device_class"]), any ? ", where " + plain(*conditions) : "");
  if (explanation.contains("vector_lanes")) out += fmt::format("vectors of {} elements of 32 bits\n", plain(explanation["vector_lanes"]));
  for (const Json& k : explanation["kernels"].elements()) kernel(out, k);
  return out;
}

}  // namespace tilert::jit
