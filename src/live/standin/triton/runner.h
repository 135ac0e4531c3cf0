// A launch of a Triton kernel while its programs run, one after the other. Its parts: run.cc goes through the program, run_memory.cc
// touches memory, run_blocks.cc makes blocks of blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "live/standin/triton/elementwise.h"
#include "live/standin/triton/run.h"

namespace flopcast::live::triton {

using Arrays = std::vector<Array>;

class Runner {
 public:
  Runner(const Program& program, const Grid& grid, DeviceBytes& memory, std::uint64_t most_steps)
      : program_(program),
        grid_(grid),
        memory_(memory),
        steps_left_(most_steps),
        values_(program.values) {}

  void run(const std::vector<Given>& arguments) {
    const auto kernel = program_.functions.find(program_.kernel);
    if (kernel == program_.functions.end() || kernel->second.parameters.size() != arguments.size())
      throw Refusal("its parameters");
    for (place_[2] = 0; place_[2] < grid_.z; ++place_[2])
      for (place_[1] = 0; place_[1] < grid_.y; ++place_[1])
        for (place_[0] = 0; place_[0] < grid_.x; ++place_[0]) {
          give_arguments(kernel->second, arguments);
          function(kernel->second);
        }
  }

  Ran stopped_by() const { return stopped_by_; }

 private:
  enum class Left : std::uint8_t { kEnd, kGives, kReturns, kJumps };

  // --- Control
  void give_arguments(const Function& kernel, const std::vector<Given>& arguments);
  void function(const Function& called);
  Left block(const Block& one);
  Arrays region(const std::vector<Block>& blocks, Arrays arguments);
  Left operation(const Operation& op);
  bool hangs_on_unknown(const Operation& op) {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [this](int number) { return value(number).unknown; });
  }
  static std::int64_t made_of(const std::vector<const Array*>& in);
  bool structured(const Operation& op);
  void loop(const Operation& op);
  void while_loop(const Operation& op);
  void choice(const Operation& op);
  void call(const Operation& op);

  // --- Memory
  bool memory(const Operation& op);
  void load(const Operation& op);
  void store(const Operation& op);
  void atomic(const Operation& op);
  void exchange_if_same(const Operation& op);
  void describe(const Operation& op);
  void block_of_tensor(const Operation& op);
  Array loaded(const Array& pointers, const Array* mask, const Array* otherwise);
  void stored(const Array& pointers, const Array& values, const Array* mask);
  std::optional<std::int64_t> read_word(std::int64_t address, const Format& format);
  std::int64_t known_word(std::int64_t address, const Format& format);
  void write_word(std::int64_t address, std::int64_t word, const Format& format);

  // --- Values
  bool special(const Operation& op);
  void constant(const Operation& op);
  void dot(const Operation& op);
  void reduce(const Operation& op);
  void scan(const Operation& op);
  void map_elements(const Operation& op);

  [[noreturn]] void refuse_unknown(const std::string& what) {
    stopped_by_ = Ran::kTainted;
    throw Refusal(what + " that hangs on what nobody computed");
  }
  void spend(std::uint64_t steps) {
    if (steps > steps_left_) {
      stopped_by_ = Ran::kTooLong;
      throw Refusal("it takes more steps than are executed");
    }
    steps_left_ -= steps;
  }
  Array& value(int number) { return values_[static_cast<std::size_t>(number)]; }
  const Array& operand(const Operation& op, std::size_t i) {
    if (i >= op.operands.size() || value(op.operands[i]).words.empty())
      throw Refusal(op.name + " without an operand");
    return value(op.operands[i]);
  }
  std::vector<const Array*> operands(const Operation& op) {
    std::vector<const Array*> all;
    for (std::size_t i = 0; i < op.operands.size(); ++i) all.push_back(&operand(op, i));
    return all;
  }
  Arrays taken(const std::vector<int>& numbers, std::size_t first = 0) {
    Arrays all;
    for (std::size_t i = first; i < numbers.size(); ++i) all.push_back(value(numbers[i]));
    return all;
  }
  void set(const std::vector<int>& numbers, Arrays given) {
    if (given.size() < numbers.size()) throw Refusal("fewer values than names");
    for (std::size_t i = 0; i < numbers.size(); ++i) value(numbers[i]) = std::move(given[i]);
  }
  std::int64_t whole(const Array& number) {
    if (number.words.size() != 1) throw Refusal("a tensor in place of a number");
    if (number.unknown) refuse_unknown("a decision");
    return number.words[0];
  }

  const Program& program_;
  Grid grid_;
  DeviceBytes& memory_;
  std::uint64_t steps_left_;
  Ran stopped_by_ = Ran::kNot;  ///< where it does not come to its end
  Arrays values_;
  std::int64_t place_[3] = {};
  int calls_ = 0;
  Arrays given_;          ///< by what ended the last block
  bool goes_on_ = false;  ///< and whether a loop does
  const Operation* jumps_ = nullptr;
};

inline const Format& known_format(const Type& type) {
  const Format* const known = format_of(type);
  if (!known) throw Refusal("numbers of type " + type.element);
  return *known;
}

inline const Type& type_of_result(const Operation& op) {
  if (op.types.empty() || op.results.empty()) throw Refusal(op.name + " without a result");
  return op.types.front();
}

}  // namespace flopcast::live::triton
