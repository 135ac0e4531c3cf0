// Texts of kernels come from files: any is followed to an end or refused, and what is counted is finite.
#include <cmath>
#include <string_view>

#include "live/standin/triton/count.h"
#include "live/standin/triton/run.h"
#include "support/fuzz_target.h"

namespace {

using namespace flopcast::live::
    triton;  // NOLINT(google-build-using-namespace): the subject of the file

class FuzzedMemory final : public Surroundings {
 public:
  std::optional<std::int64_t> read(std::int64_t address, std::size_t bytes, std::int64_t) override {
    if (address % 3 == 0) return std::nullopt;
    return address / static_cast<std::int64_t>(bytes) % 1000;
  }
  std::uint64_t left(std::int64_t address, std::uint64_t most) override {
    return address % 2 == 0 ? std::min<std::uint64_t>(1 << 20, most) : 0;
  }
};

/// A few pages at the beginning of all addresses.
class FuzzedBytes final : public DeviceBytes {
 public:
  const char* readable(std::int64_t address, std::size_t bytes) override {
    return address % 64 == 63 ? nullptr : writable(address, bytes);
  }
  char* writable(std::int64_t address, std::size_t bytes) override {
    const bool inside = address >= 0 && static_cast<std::uint64_t>(address) < sizeof bytes_ &&
                        bytes <= sizeof bytes_ - static_cast<std::uint64_t>(address);
    return inside ? bytes_ + address : nullptr;
  }
  void written(std::int64_t address, std::size_t bytes) override {
    flopcast::test::check(writable(address, bytes) != nullptr);
  }
  void lost(std::int64_t address, std::size_t bytes) override { written(address, bytes); }
  void lost_within(std::int64_t) override {}

 private:
  char bytes_[1 << 14] = {};
};

}  // namespace

FUZZ_TARGET(data, size) {
  const auto program = parse_program(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!program) return -1;
  std::vector<Value> arguments;
  for (const Type& type : program->functions.at(program->kernel).types) {
    arguments.push_back(type.kind == Type::Kind::kFloat
                            ? Value::unknown({})
                            : Value::number(16 * static_cast<std::int64_t>(arguments.size() + 1)));
  }
  FuzzedMemory memory;
  const LaunchWork work = count_work(*program, {300, 2, 1}, arguments, memory, 4000);
  flopcast::test::check(std::isfinite(work.operations) && work.operations >= 0);
  for (const Product& one : work.products)
    flopcast::test::check(std::isfinite(one.k) && one.k >= 0 && one.blocks > 0);
  std::vector<Given> given;
  for (const Value& one : arguments)
    given.push_back({static_cast<std::uint64_t>(one.low), nullptr});
  FuzzedBytes bytes;
  std::string why;
  const Ran ran = run_program(*program, {3, 2, 1}, given, bytes, 20000, why);
  flopcast::test::check((ran == Ran::kWhole) == why.empty());
  return 0;
}
