// Which operations run, and how often: branches, loops, calls.
#include <algorithm>
#include <cmath>

#include "live/standin/triton/counter.h"

namespace flopcast::live::triton {
namespace {

constexpr int kDeepestCall = 16;

bool has_control(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    for (const Operation& op : block.operations) {
      if (op.name.starts_with("scf.") && !op.regions.empty()) return true;
      if (op.name == "tt.call") return true;
    }
  }
  return false;
}

/// How far a value is moved by a turn; none if it is not moved as a whole.
std::optional<std::int64_t> moved(const Value& from, const Value& to) {
  if (from.truth != to.truth || from.exact != to.exact || from.rank != to.rank ||
      from.root != to.root)
    return std::nullopt;
  if (from.truth)
    return from.from == to.from && from.to == to.to ? std::optional<std::int64_t>(0) : std::nullopt;
  if (from.exact)
    return from.step == to.step ? std::optional<std::int64_t>(to.low - from.low) : std::nullopt;
  if (!from.bounded() || !to.bounded())
    return from.bounded() == to.bounded() ? std::optional<std::int64_t>(0) : std::nullopt;
  if (to.low - from.low != to.high - from.high) return std::nullopt;
  return to.low - from.low;
}

}  // namespace

void Counter::run_function(const Function& function, double weight) {
  const Block* block = function.body.empty() ? nullptr : &function.body.front();
  while (block && !spent()) {
    if (run_block(*block, weight) != Ends::kJumps) return;
    const Jump* const to = jump(*jumps_);
    const auto found = std::find_if(function.body.begin(), function.body.end(),
                                    [to](const Block& one) { return to && one.label == to->to; });
    if (found == function.body.end()) return note("a branch");
    set(found->arguments, taken(to->values));
    block = &*found;
  }
}

/// Where nobody knows, on: what leaves early is the exception.
const Jump* Counter::jump(const Operation& op) {
  if (op.jumps.empty()) return nullptr;
  if (op.name == "cf.br") return &op.jumps.front();
  const Value& condition = operand(op, 0);
  if (condition.full()) return &op.jumps.front();
  if (!condition.empty()) assumed_ = true;
  return &op.jumps.back();
}

Counter::Ends Counter::run_block(const Block& block, double weight) {
  for (const Operation& op : block.operations) {
    if (spent()) return Ends::kReturns;
    if (const Ends ends = run(op, weight); ends != Ends::kNot) return ends;
  }
  given_.clear();
  return Ends::kGives;
}

Values Counter::run_region(const std::vector<Block>& region, const Values& arguments,
                           double weight) {
  ++steps_;
  if (region.empty()) return {};
  if (region.size() > 1) note("branches within a region");
  set(region.front().arguments, arguments);
  given_.clear();
  run_block(region.front(), weight);
  return std::move(given_);
}

Counter::Ends Counter::run(const Operation& op, double weight) {
  ++steps_;
  const std::string& name = op.name;
  if (name == "scf.yield" || name == "tt.return" || name == "tt.reduce.return" ||
      name == "tt.scan.return") {
    given_ = taken(op.operands);
    return name == "tt.return" ? Ends::kReturns : Ends::kGives;
  }
  if (name == "scf.condition") {
    known_ = operand(op, 0).full() || operand(op, 0).empty();
    goes_on_ = operand(op, 0).full();
    given_ = taken({op.operands.begin() + (op.operands.empty() ? 0 : 1), op.operands.end()});
    return Ends::kGives;
  }
  if (name == "cf.br" || name == "cf.cond_br") {
    jumps_ = &op;
    return Ends::kJumps;
  }
  if (structured(op, weight) || memory(op, weight) || shapes(op) || integers(op)) return Ends::kNot;
  floats(op, weight);
  return Ends::kNot;
}

bool Counter::structured(const Operation& op, double weight) {
  if (op.name.starts_with("scf.") && op.regions.empty()) {
    note(op.name);
    opaque(op);
  } else if (op.name == "scf.for") {
    loop(op, weight);
  } else if (op.name == "scf.while") {
    while_loop(op, weight);
  } else if (op.name == "scf.if") {
    choice(op, weight);
  } else if (op.name == "tt.call") {
    call(op, weight);
  } else {
    return false;
  }
  return true;
}

void Counter::loop(const Operation& op, double weight) {
  const Value first = operand(op, 0), end = operand(op, 1), step = operand(op, 2);
  Values state =
      op.operands.size() > 3 ? taken({op.operands.begin() + 3, op.operands.end()}) : Values();
  const double outer = turns_;
  if (first.constant() && end.constant() && step.constant() && step.low > 0) {
    const std::int64_t length = end.low - first.low;
    const std::int64_t count = length <= 0 ? 0 : (length - 1) / step.low + 1;
    turns_ = std::max<double>(1, static_cast<double>(count));
    set(op.results, turns(op, std::move(state), first, step.low, count, weight));
    turns_ = outer;
    return;
  }
  // As many turns as memory that nobody computed says: half of what there can be, of all such loops together, which go
  // through parts of one list (blocks of a mask that are whole, and others). One and told where nothing bounds it.
  assumed_ = true;
  const bool bounded = end.most() < kUnbounded && first.least() > -kUnbounded && step.least() > 0;
  if (!bounded) note("a loop without a known end");
  held_by_memory_.insert(&op);
  const double most =
      bounded
          ? std::ceil(static_cast<double>(std::max<std::int64_t>(0, end.most() - first.least())) /
                      static_cast<double>(step.least()))
          : 1;
  const double taken_turns = bounded ? most / 2 / static_cast<double>(held_by_memory_.size()) : 1;
  turns_ = std::max(1.0, taken_turns);
  Value turn = either(first, end);
  turn.exact = false;
  std::vector<Value> inside{turn};
  for (const Value& one : state) {
    Value any = one;
    if (!one.truth && (one.exact || one.bounded())) {
      any.varies = one.varying();
      any.exact = false;
      any.low = -kUnbounded;
      any.high = kUnbounded;
    }
    inside.push_back(any);
  }
  if (most > 0) run_region(op.regions.front(), inside, weight * taken_turns);
  inside.erase(inside.begin());
  set(op.results, inside);
  turns_ = outer;
}

/// Turns that are alike are followed once: the first three and the last of a loop without control of its own, if what it
/// carries moves evenly.
Values Counter::turns(const Operation& op, Values state, const Value& first, std::int64_t step,
                      std::int64_t count, double weight) {
  const std::vector<Block>& body = op.regions.front();
  const auto turn = [&](std::int64_t i, Values carried, double times) {
    carried.insert(carried.begin(), Value::number(first.low + i * step));
    return run_region(body, carried, weight * times);
  };
  std::int64_t i = 0;
  if (count > 4 && !has_control(body)) {
    state = turn(0, std::move(state), 1);
    state = turn(1, std::move(state), 1);
    const Values before = state;
    Values after = turn(2, before, 1);
    std::vector<std::int64_t> by;
    for (std::size_t j = 0; j < before.size() && j < after.size(); ++j) {
      const auto distance = moved(before[j], after[j]);
      if (distance) by.push_back(*distance);
    }
    i = 3;
    state = after;
    if (by.size() == before.size() && after.size() == before.size()) {
      if (count > 4) turn(2, before, static_cast<double>(count - 4));
      for (std::size_t j = 0; j < state.size(); ++j) {
        if (by[j] == 0) continue;
        state[j] = add(state[j], multiply(Value::number(by[j]), Value::number(count - 4)));
        state[j].root = after[j].root;
      }
      i = count - 1;
    }
  }
  for (; i < count && !spent(); ++i) state = turn(i, std::move(state), 1);
  return state;
}

void Counter::while_loop(const Operation& op, double weight) {
  if (op.regions.size() != 2) return note(op.name);
  const double outer = turns_;
  turns_ = 1;
  Values state = taken(op.operands);
  while (!spent()) {
    state = run_region(op.regions[0], state, weight);
    if (known_ && !goes_on_) break;
    if (!known_) note("a loop without a known end");
    const bool last = !known_;
    Values next = run_region(op.regions[1], state, weight);
    if (last) {
      for (Value& one : state) one = Value::unknown({});
      break;
    }
    state = std::move(next);
  }
  set(op.results, state);
  turns_ = outer;
}

void Counter::choice(const Operation& op, double weight) {
  const Value condition = operand(op, 0);
  const std::vector<Block> none;
  const auto& otherwise = op.regions.size() > 1 ? op.regions[1] : none;
  if (condition.full()) return set(op.results, run_region(op.regions.front(), {}, weight));
  if (condition.empty()) return set(op.results, run_region(otherwise, {}, weight));
  assumed_ = true;
  Values one = run_region(op.regions.front(), {}, weight / 2);
  const Values other = run_region(otherwise, {}, weight / 2);
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i)
    one[i] = either(one[i], other[i]);
  set(op.results, one);
}

void Counter::call(const Operation& op, double weight) {
  const std::size_t at = op.text.find('@'), open = op.text.find('(', at);
  const auto found = at == op.text.npos || open == op.text.npos
                         ? program_.functions.end()
                         : program_.functions.find(op.text.substr(at + 1, open - at - 1));
  if (found == program_.functions.end() || calls_ >= kDeepestCall) return note(op.name);
  ++calls_;
  set(found->second.parameters, taken(op.operands));
  given_.clear();
  run_function(found->second, weight);
  set(op.results, given_);
  --calls_;
}

}  // namespace flopcast::live::triton
