#include "live/standin/shim/counted.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"
#include "live/standin/shim/arguments.h"
#include "live/standin/shim/tensor_map.h"
#include "live/standin/triton/count.h"
#include "live/standin/values/late.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

/// Launches of a kernel whose work is remembered, for so many contents of memory; if they look at it so often at most, for so
/// many integers.
constexpr std::size_t kMostTold = 1 << 16, kMostContents = 8, kMostLooks = 1 << 18,
                      kMostFound = 1 << 14;

using triton::Type;
using triton::Value;

const void* pointer_to(std::int64_t address) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
}

/// Sign-extended.
std::int64_t number_at(const void* at, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, std::min(bytes, sizeof bits));
  const std::size_t unused = 64 - 8 * std::min(bytes, sizeof bits);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

class ProcessMemory final : public triton::Surroundings {
 public:
  std::optional<std::int64_t> read(std::int64_t address, std::size_t bytes) override {
    const auto value = look(address, bytes);
    if (found.size() < kMostLooks) found.push_back({address, bytes, value});
    return value;
  }
  std::optional<std::int64_t> look(std::int64_t address, std::size_t bytes) {
    const void* const at = pointer_to(address);
    const std::optional<Block> block = Memory::get().find(at);
    if (!block || bytes == 0 || bytes > 8 || left(address) < bytes) return std::nullopt;
    settle_bytes(at, bytes);
    if (!Validity::get().valid(at, bytes)) return std::nullopt;
    return number_at(at, bytes);
  }
  std::uint64_t left(std::int64_t address) override {
    const std::optional<Block> block = Memory::get().find(pointer_to(address));
    if (!block) return 0;
    return block->address + block->bytes - static_cast<std::uintptr_t>(address);
  }
  /// All that was read so far.
  std::vector<triton::FoundInteger> found;
  bool scales_blocks() override {
    constexpr std::uint32_t kBlackwell = 10;
    return Link::get().common().device.major >= kBlackwell;
  }
};

bool same_parameters(const KernelObject& kernel, const std::vector<Type>& types) {
  if (kernel.parameters.size() < types.size()) return false;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (kernel.parameters[i] != triton::parameter_bytes(types[i])) return false;
  return true;
}

std::vector<Value> values_of(const std::vector<Type>& types, void* const* arguments) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::size_t bytes = triton::parameter_bytes(types[i]);
    if (types[i].kind == Type::Kind::kDescriptor) {
      values.emplace_back();
      values.back().descriptor = described_tensor(arguments[i], types[i]);
    } else if (types[i].kind == Type::Kind::kFloat || bytes == 0) {
      values.push_back(Value::unknown({}));
    } else {
      values.push_back(Value::number(number_at(arguments[i], bytes)));
    }
  }
  return values;
}

/// Launches of the same key do the same, as long as they find the same integers in memory.
std::string key_of(const LaunchSize& size, const std::vector<Type>& types,
                   const std::vector<Value>& values, triton::Surroundings& memory) {
  std::string key = std::to_string(size.grid.x) + ' ' + std::to_string(size.grid.y) + ' ' +
                    std::to_string(size.grid.z);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].kind == Type::Kind::kPointer) {
      key +=
          " p" + std::to_string(values[i].low) + ':' + std::to_string(memory.left(values[i].low));
    } else if (const auto& tensor = values[i].descriptor) {
      key += " t" + std::to_string(tensor->base);
      for (const auto* list : {&tensor->sizes, &tensor->strides})
        for (const std::int64_t number : *list) key += ':' + std::to_string(number);
    } else if (values[i].constant()) {
      key += ' ' + std::to_string(values[i].low);
    }
  }
  return key;
}

/// What was told of such a launch when its memory held what it holds now.
std::shared_ptr<const triton::Told> told_before(const triton::Kernel& source,
                                                const std::string& key, ProcessMemory& memory) {
  std::vector<std::shared_ptr<const triton::Told>> all;
  {
    const std::lock_guard guard(source.lock);
    if (const auto known = source.told.find(key); known != source.told.end()) all = known->second;
  }
  const auto is_there = [&memory](const triton::FoundInteger& one) {
    return memory.look(one.address, one.bytes) == one.value;
  };
  const auto holds = std::find_if(all.rbegin(), all.rend(), [&](const auto& told) {
    return std::all_of(told->found.begin(), told->found.end(), is_there);
  });
  return holds == all.rend() ? nullptr : *holds;
}

void remember(const triton::Kernel& source, const std::string& key, triton::Told told) {
  if (told.found.size() == kMostLooks) return;
  std::sort(told.found.begin(), told.found.end());
  told.found.erase(std::unique(told.found.begin(), told.found.end()), told.found.end());
  if (told.found.size() > kMostFound) return;
  const std::lock_guard guard(source.lock);
  if (source.told.size() >= kMostTold && !source.told.contains(key)) return;
  auto& all = source.told[key];
  if (all.size() == kMostContents) all.erase(all.begin());
  all.push_back(std::make_shared<const triton::Told>(std::move(told)));
}

std::string whole(double number) { return std::to_string(std::llround(std::min(number, 9e18))); }

/// "TYPE:M:N:K:MOST:BLOCKS:KIND", with commas.
std::string products_text(const std::vector<triton::Product>& products) {
  constexpr std::string_view kKinds[] = {"plain", "attention", "backward"};
  std::string text;
  for (const triton::Product& one : products) {
    if (!text.empty()) text += ',';
    text += one.type + ':' + std::to_string(one.m) + ':' + std::to_string(one.n) + ':' +
            whole(std::max(1.0, one.k)) + ':' + whole(std::max(1.0, one.most)) + ':' +
            whole(std::max(1.0, one.blocks)) + ':';
    text += kKinds[static_cast<std::size_t>(one.kind)];
  }
  return text.empty() ? "-" : text;
}

/// "softmax:ROWS:COLUMNS" where exponentials are taken, "layer_norm" else: what most of its elements are written again of.
std::string rows_text(const triton::LaunchWork& work) {
  constexpr std::uint64_t kFewWritten = 4;
  const bool normalizes = work.written * kFewWritten >= work.read && work.rows.rows >= 1;
  if (!normalizes || !work.products.empty()) return "-";
  return (work.rows.exponentials ? "softmax:" : "layer_norm:") + whole(work.rows.rows) + ':' +
         whole(std::max(1.0, work.rows.elements / work.rows.rows));
}

std::string signature_of(const triton::LaunchWork& work, std::uint64_t behind,
                         const std::string& name) {
  std::string state = work.unknown.empty() ? (work.assumed ? "assumed" : "known") : work.unknown;
  std::replace(state.begin(), state.end(), ' ', '_');
  return "counted " + std::to_string(work.read) + ' ' + std::to_string(work.written) + ' ' +
         whole(work.operations) + ' ' + std::to_string(behind) + ' ' + state + ' ' +
         products_text(work.products) + ' ' + rows_text(work) + ' ' + name;
}

}  // namespace

std::shared_ptr<const triton::Descriptor> described_tensor(const void* argument, const Type& type) {
  TensorMap map;
  std::memcpy(&map, argument, sizeof map);
  auto tensor = std::make_shared<triton::Descriptor>();
  tensor->element_bytes = std::max<std::int64_t>(1, triton::bits_of(type.element) / 8);
  const bool known = map.mark == TensorMap::kMark && map.rank <= TensorMap::kMostDims;
  tensor->base = known ? static_cast<std::int64_t>(map.address) : 0;
  for (std::size_t i = known ? map.rank : 0; i-- > 0;) {
    tensor->sizes.push_back(static_cast<std::int64_t>(map.sizes[i]));
    tensor->strides.push_back(
        i == 0 ? 1 : static_cast<std::int64_t>(map.strides[i - 1]) / tensor->element_bytes);
  }
  return tensor;
}

std::optional<triton::Told> counted_launch(const KernelObject& kernel, const LaunchSize& size,
                                           void* const* arguments) {
  if (!kernel.triton || !arguments) return std::nullopt;
  const triton::Kernel& source = *kernel.triton;
  const triton::Function& function = source.program.functions.at(source.program.kernel);
  if (!same_parameters(kernel, function.types)) return std::nullopt;
  const std::vector<Value> values = values_of(function.types, arguments);
  ProcessMemory memory;
  const std::string key = key_of(size, function.types, values, memory);
  if (const auto known = told_before(source, key, memory)) return *known;
  const triton::Grid grid{std::max<std::int64_t>(1, size.grid.x / source.blocks), size.grid.y,
                          size.grid.z};
  const triton::LaunchWork work = triton::count_work(source.program, grid, values, memory);
  triton::Told told{signature_of(work, bytes_behind(kernel, arguments), kernel.name),
                    work.all_writes && work.unknown.empty(), work.written_at, work.most_elements,
                    std::move(memory.found)};
  remember(source, key, told);
  return told;
}

}  // namespace flopcast::live
