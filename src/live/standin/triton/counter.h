// A kernel's programs are followed operation by operation, and what they do is added up (count.h).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "live/standin/triton/count.h"

namespace flopcast::live::triton {

using Values = std::vector<Value>;

/// Bytes that are read, or written, by addresses reckoned from one place.
struct Reached {
  double bytes = 0;
  std::int64_t low = kUnbounded, high = -kUnbounded;
  bool anywhere = false;     ///< some addresses have no bounds
  std::int64_t element = 8;  ///< bytes of the smallest
};
struct Root {
  std::int64_t base = 0;
  bool placed = false;  ///< the base is known
  Reached read, written;
};

class Counter {
 public:
  Counter(const Program& program, const Grid& grid, Surroundings& surroundings,
          std::uint64_t most_steps)
      : program_(program),
        grid_(grid),
        around_(surroundings),
        most_steps_(most_steps),
        values_(program.values) {}

  LaunchWork count(const Values& arguments);

 private:
  enum class Ends : std::uint8_t { kNot, kGives, kReturns, kJumps };
  struct Site {
    Product product;
    double count = 0;
    double here = 0, blocks_here = 0;  ///< of the program that is followed
  };

  void follow(const Function& kernel, const Values& arguments, std::int64_t number, double weight);

  bool spent() {
    if (steps_ <= most_steps_) return false;
    note("more steps than are followed");
    return true;
  }
  void note(std::string_view what) { unknown_.insert(std::string(what)); }
  Value& value(int number) { return values_[static_cast<std::size_t>(number)]; }
  const Value& operand(const Operation& op, std::size_t i) {
    static const Value none;
    return i < op.operands.size() ? value(op.operands[i]) : none;
  }
  void give(const Operation& op, Value made, std::size_t i = 0) {
    if (i < op.results.size()) value(op.results[i]) = std::move(made);
  }
  Values taken(const std::vector<int>& numbers) {
    Values all;
    for (const int number : numbers) all.push_back(value(number));
    return all;
  }
  void set(const std::vector<int>& numbers, const Values& given) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      value(numbers[i]) = i < given.size() ? given[i] : Value();
  }

  void run_function(const Function& function, double weight);
  Ends run_block(const Block& block, double weight);
  Values run_region(const std::vector<Block>& region, const Values& arguments, double weight);
  Ends run(const Operation& op, double weight);
  bool structured(const Operation& op, double weight);
  void loop(const Operation& op, double weight);
  Values turns(const Operation& op, Values state, const Value& first, std::int64_t step,
               std::int64_t count, double weight);
  void while_loop(const Operation& op, double weight);
  void choice(const Operation& op, double weight);
  void call(const Operation& op, double weight);
  const Jump* jump(const Operation& op);

  bool memory(const Operation& op, double weight);
  void access(const Value& pointer, const Value* mask, std::int64_t bytes, bool writes,
              double weight);
  void load(const Operation& op, double weight);
  void descriptor(const Operation& op, double weight);
  void make_descriptor(const Operation& op);
  int root_at(const Value& pointer);
  void dot(const Operation& op, double weight);
  void scaled_dot(const Operation& op, double weight);
  struct Multiplied {
    std::string_view type;  ///< of the engine's signatures
    double times = 1;       ///< products of tensor cores that stand for one
    std::int64_t m = 0, n = 0, k = 0;
    double batch = 1;
  };
  void multiplied(const Operation& op, const Value& a, const Value& b, const Multiplied& sizes,
                  double weight);
  bool shapes(const Operation& op);
  bool integers(const Operation& op);
  std::optional<Value> placed(const Operation& op);
  void floats(const Operation& op, double weight);
  void constant(const Operation& op);
  void opaque(const Operation& op);
  LaunchWork finish();

  const Program& program_;
  Grid grid_;
  Surroundings& around_;
  std::uint64_t most_steps_;
  Values values_;
  std::int64_t place_[3] = {};
  std::uint64_t steps_ = 0;
  int calls_ = 0;
  double turns_ = 1;      ///< of the innermost loop
  Values given_;          ///< by what ended the last block
  bool goes_on_ = false;  ///< and whether a loop does, where that is known
  bool known_ = true;
  const Operation* jumps_ = nullptr;
  std::vector<Root> roots_;
  Reached read_anywhere_, written_anywhere_;
  std::map<const Operation*, Site> sites_;
  std::map<const Operation*, Rows> reductions_;
  bool exponentials_ = false;
  std::set<const Operation*> held_by_memory_;  ///< loops
  double operations_ = 0;
  bool assumed_ = false;
  std::set<std::string> unknown_;
};

/// Of an element as it lies in memory.
std::int64_t bytes_of(std::string_view element);

}  // namespace flopcast::live::triton
