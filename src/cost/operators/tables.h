// catalog/operators: what classes of kernels there are, and how fast a chip is at each.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/cost/operators.h"

namespace flopcast::cost {

/// What bounds a class of kernels.
enum class ClassRate : std::uint8_t { kBandwidth, kMatrix, kCores };

struct OperatorClass {
  std::string name;
  ClassRate rate = ClassRate::kBandwidth;
  std::vector<std::string> kernels;     ///< words of their names, in lower case
  std::vector<std::string> operations;  ///< operators, without "aten::"
};
/// The classes of classes.toml, in its order.
class OperatorClasses {
 public:
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  static Result<OperatorClasses> parse(std::string_view text, const std::string& where);

  std::size_t of(const RecordedKernel& kernel) const;
  std::size_t named(std::string_view name) const;  ///< kUnknown where there is none
  const OperatorClass& operator[](std::size_t i) const { return classes_[i]; }
  std::size_t size() const { return classes_.size(); }

 private:
  /// Products and convolutions whose sizes their fast kernels cannot take are classes of their own.
  std::size_t product_class(std::size_t plain, std::span<const OperatorInput> inputs,
                            std::string_view operation) const;
  std::vector<OperatorClass> classes_;
};

/// How fast a chip is at a class.
struct ClassSpeed {
  double floor_s = 0, share = 0;
  std::array<double, 2> spread{1, 1};  ///< factor either way: of short kernels, of long ones
};
struct ChipSpeeds {
  std::string chip, source;
  std::vector<ClassSpeed> classes;  ///< by class
};
/// Errors: no such file, a class without speeds, numbers that make no sense.
Result<ChipSpeeds> parse_speeds(std::string_view text, const std::string& where,
                                const OperatorClasses& classes);

/// All of catalog/operators, parsed once.
struct OperatorTables {
  OperatorClasses classes;
  std::vector<ChipSpeeds> chips;
};
Result<std::shared_ptr<const OperatorTables>> operator_tables();

}  // namespace flopcast::cost
