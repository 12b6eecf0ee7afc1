// The cost model: what a candidate takes, from tiles and waves, bytes and rates. Each time is a sum that a person can redo:
//   launch + first fill + rounds of tiles, each K's steps (the longest of tensor, shared memory, feed) + what leaves,
// or the time in which the bytes cross memory or L2, where that is longer.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "tune/machine.h"
#include "tune/product.h"

namespace tilert::tune {
namespace {

using namespace calibration;

// What times of which each hides the others take together, as shares of the longest: 1 where that one is alone.
double beside(std::initializer_list<double> shares, double sharp) {
  double sum = 0;
  for (const double share : shares) sum += std::pow(share, sharp);
  return std::pow(sum, 1 / sharp);
}

class Model {
 public:
  Model(const Product& product, const Target& target, const DeviceClass& device, const Machine& machine, const Choice& choice)
      : p_(product), target_(target), device_(device), machine_(machine), c_(choice) {
    columns_ = ceildiv(p_.n, c_.tile_n), rows_ = ceildiv(ceildiv(p_.m, c_.tile_m), c_.cluster) * c_.cluster;
    tiles_ = columns_ * rows_ * c_.split_k;
    steps_ = static_cast<double>(ceildiv(ceildiv(p_.k, c_.tile_k), c_.split_k));
    blocks_ = blocks_per_multiprocessor(p_, target_, c_);
    const int64_t sms = usable_multiprocessors();
    busy_ = std::min<int64_t>(tiles_, sms);
    together_ = std::min<int64_t>(blocks_, std::max<int64_t>(1, ceildiv(tiles_, sms)));
    rounds_ = static_cast<double>(ceildiv(tiles_, sms * together_));
  }

  void run(Choice& out) {
    if (p_.m <= 0 || p_.n <= 0) {  // an empty grid
      out.nanoseconds = launch_ns, out.bound = Bound::latency;
      return;
    }
    if (c_.path == Path::vector) return run_vector(out);
    step();
    const double work = machine_.nanoseconds(rounds_ * (steps_ * step_ + leave()));
    const double fixed = launch_ns + prologue_ns + epilogue_ns + (c_.persistent || together_ > 1 ? 0 : (rounds_ - 1) * restart_ns);
    const double memory = memory_bytes() / (machine_.memory_gbs * memory_share);
    // Blocks that read the same rows of the weights start together, and are then served together; in clusters along K they do not.
    const double shared_reads = meets_in_cluster(c_) && rows_ > 1 ? meeting_l2_share : l2_share;
    const double l2 = l2_bytes() / (machine_.l2_gbs * shared_reads), longest = std::max({work, memory, l2});
    // Neither hides the other whole: of two equal times a part of one shows.
    const double both = longest * beside({std::max(work, l2) / longest, memory / longest}, sharpness);
    out.nanoseconds = fixed + both + shown * (work + memory + l2 - longest) + split_time();
    if (meets_in_cluster(c_)) out.nanoseconds *= meeting_doubt;
    out.bound = longest == memory ? Bound::memory : longest == l2 ? Bound::l2 : bound_;
    if (fixed > longest) out.bound = Bound::latency;
  }

 private:
  // A cluster's blocks are of one group of multiprocessors, which those of some sizes do not fill.
  int64_t usable_multiprocessors() const {
    const int64_t sms = std::max<int64_t>(device_.sms, 1), parts = c_.split_k;
    if (!meets_in_cluster(c_)) return sms;
    const double share = parts == 2 ? 1 : parts == 3 ? clusters_of_3 : parts == 4 ? clusters_of_4 : clusters_of_5;
    return std::max<int64_t>(static_cast<int64_t>(static_cast<double>(sms / parts) * share + 0.5), 1) * parts;
  }

  double bytes_a() const { return dtype_bits(p_.a) / 8.0; }
  double bytes_b() const { return dtype_bits(p_.b) / 8.0; }
  double bytes_c() const { return dtype_bits(p_.c) / 8.0; }
  double slot() const { return c_.tile_k * (c_.tile_m * bytes_a() + c_.tile_n * bytes_b()); }

  // Rows read by vectors: a step waits for what it has asked for, or for the arithmetic of all blocks beside it.
  void run_vector(Choice& out) const {
    const double arithmetic = static_cast<double>(together_) * c_.tile_m * c_.tile_n * c_.tile_k / vector_products;
    const double waits = machine_.clocks(vector_latency_ns);
    const double work = machine_.nanoseconds(rounds_ * steps_ * std::max(arithmetic, waits));
    const double memory = memory_bytes() / (machine_.memory_gbs * vector_memory_share), longest = std::max(work, memory);
    out.nanoseconds = vector_launch_ns + longest * beside({work / longest, memory / longest}, vector_sharpness);
    out.bound = longest == memory ? Bound::memory : arithmetic > waits ? Bound::tensor : Bound::latency;
  }

  // Clocks of one step along K of the tiles that share a multiprocessor, and what they wait for.
  void step() {
    const double together = static_cast<double>(together_);
    const double tensor = together * tensor_clocks();
    const double shared = together * (read_bytes() + fill_share * slot()) / calibration::shared_bytes;
    const double feed = together * feed_clocks();
    const double least = step_clocks;
    const double longest = std::max({tensor, shared, feed, least});
    bound_ = longest == tensor ? Bound::tensor : longest == shared ? Bound::shared : longest == feed ? Bound::feed : Bound::latency;
    step_ = longest * beside({tensor / longest, shared / longest, feed / longest, least / longest}, step_sharpness);
    if (c_.cluster > 1) step_ += cluster_clocks;
  }

  double tensor_clocks() const {
    const double work = double(c_.tile_m) * c_.tile_n * c_.tile_k;
    const bool group = c_.path == Path::warpgroup;
    const DType operand = group ? p_.a : operand_type(p_);
    const double rate = machine_.rate(operand, p_.tf32);
    const bool matrix = rate > machine_.fma32;
    const double groups = static_cast<double>(c_.consumers * together_);
    const double share = group ? (groups > 1 ? warpgroup_share : single_warpgroup_share) : matrix ? warp_share * machine_.warp_percent / 100 : 0.5;
    return padded_work(work) / (rate * share);
  }

  // Instructions of a warp take 16 x 8; warps beyond the tile's rows are idle.
  double padded_work(double work) const {
    if (c_.path != Path::warp) return work;
    return work * std::max(1.0, 32.0 * 1024 / (double(c_.tile_m) * c_.tile_n * 16));
  }

  // Bytes of shared memory that the products of a step read.
  double read_bytes() const {
    if (c_.path == Path::warpgroup) {
      const double rows = c_.swapped ? c_.tile_n : c_.tile_m, columns = c_.swapped ? c_.tile_m : c_.tile_n;
      const double eb = c_.swapped ? bytes_b() : bytes_a(), other = c_.swapped ? bytes_a() : bytes_b();
      return c_.tile_k * (rows * eb + rows / 64 * columns * other);
    }
    const double warps = c_.threads / 32.0;
    const double along = std::clamp(std::sqrt(warps * c_.tile_m / c_.tile_n), 1.0, warps);  // warps along M, about
    return c_.tile_k * (c_.tile_m * bytes_a() * warps / along + c_.tile_n * bytes_b() * along);
  }

  // Rows outside A are zeros that the copy engine makes, slower than it copies. Of B's tile a part is read for other blocks.
  double a_from_beyond() const {
    const double outside = std::max<double>(0, c_.tile_m - double(p_.m));
    return c_.tile_k * (c_.tile_m + outside * (outside_weight - 1)) * bytes_a();
  }
  double b_from_beyond() const { return double(c_.tile_k) * c_.tile_n * bytes_b(); }
  double slot_from_beyond(double of_b) const { return a_from_beyond() + b_from_beyond() * of_b; }

  // Clocks in which a slot's operands come. A producer's threads copy the one whose rows start between 16 bytes.
  double feed_clocks() const {
    const double rate = feed_rate();
    if (c_.path != Path::warpgroup) return slot_from_beyond(1) / rate;
    const double a = across_lines(a_row_start(p_)), b = across_lines(b_row_start(p_));
    return a_from_beyond() * (1 + a) / std::min(rate, threads_rate(a_row_start(p_), bytes_a())) +
           b_from_beyond() * (1 + b / c_.cluster) / std::min(rate, threads_rate(b_row_start(p_), bytes_b()));
  }
  // What rows weigh more that do not start on lines of 128 bytes, of which a slot's piece then touches two. That much blocks of a
  // cluster share.
  static double across_lines(int64_t start) {
    return start < 16 || start >= 128 ? 0 : (across_lines_weight - 1) * (1 - static_cast<double>(start) / 128) * 8 / 7;
  }
  double threads_rate(int64_t start, double element) const {
    if (start >= 16) return feed_bytes;
    if (p_.tf32 || start < 4) return copied_elements * element;
    return start < 8 ? copied_4_bytes : copied_8_bytes;
  }

  // Bytes in a clock that come to one multiprocessor: its port, its share of memory's latency, or element by element.
  double feed_rate() const {
    if (c_.path == Path::warp && !rows_on_16_bytes(p_)) return element_copy_bytes;
    // A slot is given back one step late, and the next one is being read.
    const double in_flight = static_cast<double>(together_) * std::max(c_.stages - 1.5, 0.5) * slot();
    return std::min(feed_bytes, in_flight / machine_.clocks(latency_ns));
  }

  // Clocks in which a tile's result leaves, which its products do not hide, for the tiles of a round.
  double leave() const {
    const double elements = double(c_.tile_m) * c_.tile_n;
    const double staged = engine_stores(p_, c_) ? staged_store_bytes : row_store_bytes;
    const double rate = result_staged(p_, c_) ? staged : c_.swapped ? scattered_store_bytes : direct_store_bytes;
    const double read = double(p_.epilogue_bytes) / (double(p_.m) * p_.n) * elements / direct_store_bytes;
    double clocks = elements * bytes_c() / rate + read + elements / c_.threads * element_clocks + leave_clocks;
    // A part goes to L2; whether it was the last is known after a fence and an atomic, and that one reads all of its tile's.
    if (meets_in_cluster(c_)) clocks += (c_.split_k - 1) * elements * 4 / meeting_bytes_a_clock + meeting_clocks;
    else if (c_.split_k > 1) clocks += 2 * elements * 4 / split_bytes + split_clocks;
    // With two blocks to a multiprocessor one multiplies while the other stores.
    return together_ > 1 ? clocks * static_cast<double>(together_) / 2 : clocks;
  }

  // Bytes that cross memory: operands as often as the order of tiles makes L2 forget them.
  double memory_bytes() const {
    const double a = double(p_.m) * p_.k * bytes_a(), b = double(p_.n) * p_.k * bytes_b(), c = double(p_.m) * p_.n * bytes_c();
    const double kept = device_.l2_bytes * l2_kept;
    double times_a = 1, times_b = 1;
    if (!operands_held(p_, device_)) {
      const double group = std::min<double>(c_.raster > 0 ? c_.raster : static_cast<double>(columns_), static_cast<double>(columns_));
      const double wave = static_cast<double>(busy_ * together_);
      const double rows_at_once = std::max(1.0, std::min<double>(static_cast<double>(rows_), wave / group));
      const double group_b = group * c_.tile_n * p_.k * bytes_b();
      if (a > kept / 2) times_a = std::ceil(static_cast<double>(columns_) / group);
      if (group_b > kept) times_b = std::ceil(static_cast<double>(rows_) / rows_at_once);
    }
    return a * times_a + b * times_b + c + static_cast<double>(p_.epilogue_bytes);
  }

  double l2_bytes() const {
    const double parts = c_.split_k > 1 && !meets_in_cluster(c_) ? 2.0 * c_.split_k * double(p_.m) * p_.n * 4 : 0;
    return static_cast<double>(tiles_) * steps_ * slot_from_beyond(1 - cluster_saved * (1 - 1.0 / c_.cluster)) + parts + double(p_.m) * p_.n * bytes_c() + static_cast<double>(p_.epilogue_bytes);
  }

  // The last part of the last tile reads those before it.
  double split_time() const {
    if (c_.split_k == 1 || meets_in_cluster(c_)) return 0;
    const double bytes = double(c_.tile_m) * c_.tile_n * 4 * c_.split_k;
    return machine_.nanoseconds(bytes / split_bytes) + epilogue_ns;
  }

  const Product& p_;
  const Target& target_;
  const DeviceClass& device_;
  const Machine& machine_;
  const Choice& c_;
  int64_t columns_, rows_, tiles_, blocks_, busy_, together_;
  double steps_, rounds_, step_ = 0;
  Bound bound_ = Bound::tensor;
};

}  // namespace

void predict(const Product& product, const Target& target, const DeviceClass& device, Choice& choice) {
  if (const Machine* machine = machine_of(target)) Model(product, target, device, *machine, choice).run(choice);
}

}  // namespace tilert::tune
