// Conditions on a plan, as the rules of launchers have them (catalog/launch/rules/*.toml).
//
//   "zero == 0 and dp > 1 and tp*cp*pp > 1"      numbers; products without blanks
//   "pp > 1 and schedule != 1f1b"                choices by their names, in the order of their types
//   "sequence % cp*2 != 0"                       what a division leaves
//   "overlap_weights and not overlap_gradients or lora_rank > 0"    "and" binds closer than "or"
//
// Names are those of visit_plan, and kDerivedFacts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/parallel.h"
#include "flopcast/parallel/launch_line.h"

namespace flopcast::parallel {

/// What conditions know beside a plan's own fields.
inline constexpr std::array<std::string_view, 14> kDerivedFacts = {
    "replicas",        // dp * cp: chips that gradients are reduced over
    "expert_tp",       // chips that split an expert
    "stages",          // virtual ones of the pipeline
    "microbatches",    // of a step, on each replica
    "rounds_rest",     // microbatches left over by rounds of as many as stages
    "shards",          // groups of replicas that share state
    "second_product",  // selective recompute drops every second product
    "software",        // profile, by its name
    "capability",      // of the chip, times ten
    "model",           // 1: the model is known, and what follows of it
    "experts",         // of a layer
    "expert_biases",   // experts have biases
    "latent",          // keys and values are kept compressed
    "rotary",          // positions by rotation
};

/// Values of a plan's fields, then of kDerivedFacts, as whole numbers.
class PlanFacts {
 public:
  PlanFacts(const Plan& plan, const LaunchContext& context);
  std::int64_t operator[](std::size_t fact) const { return values_[fact]; }

 private:
  static constexpr std::size_t kRoom = 64;
  std::array<std::int64_t, kRoom> values_{};
};

/// Place of a fact by its name; none: there is none.
std::optional<std::size_t> find_fact(std::string_view name);
/// Number of a fact's value by its name: "3", "true", "interleaved". None: it has no such.
/// @param softwares the profiles by which "software" is known
std::optional<std::int64_t> fact_value(std::string_view fact, std::string_view word,
                                       const std::vector<std::string>& softwares);
/// Sets a field of the plan; facts that are none of its fields, and lists, stay what they are.
void set_fact(Plan& plan, std::size_t fact, std::int64_t value);

class Condition {
 public:
  /// Of no text: always holds. Errors: a name, choice or sign that there is not, by itself.
  /// @param softwares the profiles by which "software" is known
  static Result<Condition> parse(std::string_view text, const std::string& where,
                                 const std::vector<std::string>& softwares = {});
  bool holds(const PlanFacts& facts) const;

 private:
  enum class Sign : std::uint8_t { kEqual, kOther, kLess, kMore, kAtMost, kAtLeast };
  struct Product {
    std::int64_t number = 1;
    std::array<std::uint8_t, 4> facts{};
    std::uint8_t count = 0;
    std::int64_t of(const PlanFacts& facts) const;
  };
  struct Test {
    Product left, divisor, right;
    bool divides = false, begins = false;  ///< begins: the first after "or"
    bool simple = false;                   ///< a fact against a number
    Sign sign = Sign::kOther;
    bool holds(const PlanFacts& facts) const;
  };
  friend class ConditionReader;

  std::vector<Test> tests_;
};

}  // namespace flopcast::parallel
