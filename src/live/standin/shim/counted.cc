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

/// Where the parameters of a launch point to. Of a program that tells addresses apart, places are addresses.
class Places {
 public:
  Places(const triton::Kernel& source, const std::vector<Value>& values) {
    if (source.tells_addresses) return;
    const auto& types = source.program.functions.at(source.program.kernel).types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto& tensor = values[i].descriptor;
      const bool points = types[i].kind == Type::Kind::kPointer && values[i].constant();
      bases_.push_back(tensor ? tensor->base : points ? values[i].low : 0);
    }
  }
  /// Of an address that was reckoned from this one: of the first parameter that points there.
  triton::Place place(std::int64_t address, std::int64_t base) const {
    const auto at = base == 0 ? bases_.end() : std::find(bases_.begin(), bases_.end(), base);
    if (at == bases_.end()) return {-1, address};
    return {static_cast<int>(at - bases_.begin()), address - base};
  }
  /// Whether others of the same key have it, too.
  bool holds_elsewhere(const triton::Place& at) const {
    return at.parameter >= 0 || bases_.empty();
  }
  std::int64_t address(const triton::Place& at) const {
    return at.parameter < 0 ? at.offset
                            : bases_[static_cast<std::size_t>(at.parameter)] + at.offset;
  }

 private:
  std::vector<std::int64_t> bases_;  ///< 0: it points nowhere
};

class ProcessMemory final : public triton::Surroundings {
 public:
  explicit ProcessMemory(const Places& places) : places_(places) {}
  std::optional<std::int64_t> read(std::int64_t address, std::size_t bytes,
                                   std::int64_t base) override {
    return told(places_.place(address, base), bytes, false, integer(address, bytes));
  }
  std::uint64_t left(std::int64_t address, std::uint64_t most) override {
    const auto bytes = static_cast<std::int64_t>(std::min(room(address), most));
    return static_cast<std::uint64_t>(*told(places_.place(address, address), most, true, bytes));
  }
  bool scales_blocks() override {
    constexpr std::uint32_t kBlackwell = 10;
    return Link::get().common().device.major >= kBlackwell;
  }
  /// Whether it would be told the same now.
  static bool still(const triton::Found& one, std::int64_t address) {
    if (!one.room) return integer(address, one.bytes) == one.value;
    return static_cast<std::int64_t>(std::min(room(address), one.bytes)) == one.value;
  }
  /// All that it was told.
  std::vector<triton::Found> found;

 private:
  static std::optional<std::int64_t> integer(std::int64_t address, std::size_t bytes) {
    if (bytes == 0 || bytes > 8 || room(address) < bytes) return std::nullopt;
    const void* const at = pointer_to(address);
    settle_bytes(at, bytes);
    if (!Validity::get().valid(at, bytes)) return std::nullopt;
    return number_at(at, bytes);
  }
  static std::uint64_t room(std::int64_t address) {
    return Memory::get().left(pointer_to(address));
  }
  std::optional<std::int64_t> told(const triton::Place& at, std::uint64_t bytes, bool is_room,
                                   std::optional<std::int64_t> value) {
    if (found.size() < kMostLooks) found.push_back({at, bytes, is_room, value});
    return value;
  }

  const Places& places_;
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

/// Launches of the same key do the same, as long as they find the same in memory. Pointers count by which of them are the
/// same, where addresses do not matter.
std::string key_of(const LaunchSize& size, const triton::Kernel& source,
                   const std::vector<Value>& values, const Places& places) {
  std::string key = std::to_string(size.grid.x) + ' ' + std::to_string(size.grid.y) + ' ' +
                    std::to_string(size.grid.z);
  const auto where = [&](std::int64_t address) {
    const triton::Place at = places.place(address, address);
    return std::to_string(at.parameter) + ':' + std::to_string(at.offset);
  };
  const auto& types = source.program.functions.at(source.program.kernel).types;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].kind == Type::Kind::kPointer) {
      key += " p" + where(values[i].low);
    } else if (const auto& tensor = values[i].descriptor) {
      key += " t" + where(tensor->base);
      for (const auto* list : {&tensor->sizes, &tensor->strides})
        for (const std::int64_t number : *list) key += ':' + std::to_string(number);
    } else if (values[i].constant()) {
      key += ' ' + std::to_string(values[i].low);
    }
  }
  return key;
}

/// Such a launch that found in memory what is there now.
std::shared_ptr<const triton::Followed> followed_before(const triton::Kernel& source,
                                                        const std::string& key,
                                                        const Places& places) {
  std::vector<std::shared_ptr<const triton::Followed>> all;
  {
    const std::lock_guard guard(source.lock);
    const auto known = source.followed.find(key);
    if (known != source.followed.end()) all = known->second;
  }
  const auto still = [&places](const triton::Found& one) {
    return ProcessMemory::still(one, places.address(one.at));
  };
  const auto holds = std::find_if(all.rbegin(), all.rend(), [&](const auto& followed) {
    return std::all_of(followed->found.begin(), followed->found.end(), still);
  });
  return holds == all.rend() ? nullptr : *holds;
}

void remember(const triton::Kernel& source, const std::string& key,
              const std::shared_ptr<triton::Followed>& followed) {
  std::vector<triton::Found>& found = followed->found;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > kMostFound) return;
  const std::lock_guard guard(source.lock);
  if (source.followed.size() >= kMostTold && !source.followed.contains(key)) return;
  auto& all = source.followed[key];
  if (all.size() == kMostContents) all.erase(all.begin());
  all.push_back(followed);
}

std::shared_ptr<const triton::Followed> follow(const triton::Kernel& source, const LaunchSize& size,
                                               const std::vector<Value>& values) {
  const Places places(source, values);
  const std::string key = key_of(size, source, values, places);
  if (auto known = followed_before(source, key, places)) return known;
  ProcessMemory memory(places);
  const triton::Grid grid{std::max<std::int64_t>(1, size.grid.x / source.blocks), size.grid.y,
                          size.grid.z};
  auto made = std::make_shared<triton::Followed>();
  made->work = triton::count_work(source.program, grid, values, memory);
  made->found = std::move(memory.found);
  bool others_do = made->found.size() < kMostLooks;
  for (const std::int64_t address : made->work.written_at) {
    made->writes.push_back(places.place(address, address));
    others_do = others_do && places.holds_elsewhere(made->writes.back());
  }
  for (const triton::Found& one : made->found)
    others_do = others_do && places.holds_elsewhere(one.at);
  if (others_do) remember(source, key, made);
  return made;
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
  const auto followed = follow(source, size, values);
  const triton::LaunchWork& work = followed->work;
  // Where its work is known, nobody asks what it can reach: that hangs on what else lies there, and differs between ranks.
  const bool known = work.unknown.empty();
  triton::Told told{signature_of(work, known ? 0 : bytes_behind(kernel, arguments), kernel.name),
                    work.all_writes && known,
                    {},
                    work.most_elements};
  const Places places(source, values);
  for (const triton::Place& place : followed->writes) told.writes.push_back(places.address(place));
  return told;
}

}  // namespace flopcast::live
