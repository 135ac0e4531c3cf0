#include "live/standin/shim/executed.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"
#include "live/standin/shim/counted.h"
#include "live/standin/triton/run.h"
#include "live/standin/values/late.h"
#include "live/standin/values/settings.h"
#include "live/standin/values/tainted_reads.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

/// A kernel that took more steps so often is not tried again: its programs wait for each other.
constexpr int kMostTries = 3;
/// For each element that a tensor may have.
constexpr std::uint64_t kStepsOfElement = 4096;

using triton::Type;

/// Memory of this process's devices, and memory of the host that they reach.
class ReachedMemory final : public triton::DeviceBytes {
 public:
  explicit ReachedMemory(const std::vector<triton::Given>& arguments) : arguments_(arguments) {}
  const char* readable(std::int64_t address, std::size_t bytes) override {
    char* const at = found(address, bytes);
    if (!at || !on_device_) return at;
    settle_bytes(at, bytes);
    return Validity::get().valid(at, bytes) ? at : nullptr;
  }
  char* writable(std::int64_t address, std::size_t bytes) override { return found(address, bytes); }
  void written(std::int64_t address, std::size_t bytes) override {
    char* const at = found(address, bytes);
    if (!at || !on_device_) return;
    overwrite_bytes(at, bytes);
    Validity::get().mark_valid(at, bytes);
    if (!written_.empty() && written_.back().first + written_.back().second == at) {
      written_.back().second += bytes;
    } else {
      written_.emplace_back(at, bytes);
    }
  }
  void lost(std::int64_t address, std::size_t bytes) override {
    const char* const at = found(address, bytes);
    if (!at || !on_device_) return;
    overwrite_bytes(at, bytes);
    Validity::get().taint(at, bytes);
  }
  /// To the end of its allocation, or to the next tensor that the kernel has.
  void lost_within(std::int64_t tensor) override {
    if (!found(tensor, 1)) return;
    const auto begin = static_cast<std::uintptr_t>(tensor);
    std::uintptr_t end = block_.address + block_.bytes;
    for (const triton::Given& other : arguments_) {
      if (other.bits > begin && other.bits < end) end = other.bits;
    }
    lost(tensor, end - begin);
  }
  /// It was not all that a GPU would have written.
  void taint_written() {
    for (const auto& [at, bytes] : written_) Validity::get().taint(at, bytes);
  }

 private:
  char* found(std::int64_t address, std::size_t bytes) {
    const auto at = static_cast<std::uintptr_t>(address);
    const bool last_has_it = at >= block_.address && at < block_.address + block_.bytes;
    if (!last_has_it) {
      const std::optional<Block> block = Memory::get().find(reinterpret_cast<void*>(at));
      if (!block) return nullptr;
      block_ = *block;
      on_device_ = of_device(block_.place);
    }
    if (bytes > block_.address + block_.bytes - at) return nullptr;
    return reinterpret_cast<char*>(at);
  }

  const std::vector<triton::Given>& arguments_;
  Block block_;  ///< the last that was asked for
  bool on_device_ = false;
  std::vector<std::pair<const char*, std::size_t>> written_;
};

std::vector<triton::Given> given(const std::vector<Type>& types, void* const* arguments) {
  std::vector<triton::Given> all(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].kind == Type::Kind::kDescriptor) {
      all[i].descriptor = described_tensor(arguments[i], types[i]);
    } else {
      const std::size_t bytes = triton::parameter_bytes(types[i]);
      std::memcpy(&all[i].bits, arguments[i], std::min(bytes, sizeof all[i].bits));
    }
  }
  return all;
}

}  // namespace

Effect executed_launch(const KernelObject& kernel, const LaunchSize& size, void* const* arguments,
                       const triton::Told& told, Effect taints) {
  const auto most = static_cast<std::uint64_t>(value_settings().elements);
  if (!taints || told.most_elements > most) return taints;
  const triton::Function& function =
      kernel.triton->program.functions.at(kernel.triton->program.kernel);
  const triton::Grid grid{std::max<std::int64_t>(1, size.grid.x / kernel.triton->blocks),
                          size.grid.y, size.grid.z};
  return [source = kernel.triton, grid, arguments = given(function.types, arguments), most,
          taint = std::move(taints)] {
    if (source->given_up.load(std::memory_order_relaxed) >= kMostTries) return taint();
    Link::get().own_work(true);
    ReachedMemory memory(arguments);
    std::string why;
    const triton::Ran ran =
        triton::run_program(source->program, grid, arguments, memory, most * kStepsOfElement, why);
    if (ran == triton::Ran::kNot || ran == triton::Ran::kTooLong)
      not_computed(source->program.kernel.c_str(), why.c_str());
    if (ran == triton::Ran::kTooLong) ++source->given_up;
    if (ran != triton::Ran::kWhole) {
      memory.taint_written();
      taint();
    }
    Link::get().own_work(false);
  };
}

}  // namespace flopcast::live
