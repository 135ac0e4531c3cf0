#include "live/standin/triton/run.h"

#include <algorithm>

#include "live/standin/triton/arrange.h"
#include "live/standin/triton/runner.h"

namespace flopcast::live::triton {
namespace {

constexpr int kMostCallsInside = 16;
/// Of a block; Triton's own limit.
constexpr std::uint64_t kMostElements = 1 << 20;

}  // namespace

void Runner::give_arguments(const Function& kernel, const std::vector<Given>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Array& own = value(kernel.parameters[i]);
    own.type = kernel.types[i];
    own.described = arguments[i].descriptor;
    own.unknown = false;
    own.words.assign(
        1, own.described ? 0 : word_of_bits(arguments[i].bits, known_format(kernel.types[i])));
    own.from = own.type.kind == Type::Kind::kPointer ? own.words.front() : 0;
  }
}

void Runner::function(const Function& called) {
  const Block* next = called.body.empty() ? nullptr : &called.body.front();
  while (next) {
    if (block(*next) != Left::kJumps) return;
    const Operation& op = *jumps_;
    if (op.jumps.empty()) throw Refusal("a branch to nowhere");
    const bool first = op.name == "cf.br" || whole(operand(op, 0)) != 0;
    const Jump& to = first ? op.jumps.front() : op.jumps.back();
    const auto found = std::find_if(called.body.begin(), called.body.end(),
                                    [&to](const Block& one) { return one.label == to.to; });
    if (found == called.body.end()) throw Refusal("a branch to nowhere");
    set(found->arguments, taken(to.values));
    next = &*found;
  }
}

Runner::Left Runner::block(const Block& one) {
  for (const Operation& op : one.operations)
    if (const Left left = operation(op); left != Left::kEnd) return left;
  given_.clear();
  return Left::kGives;
}

Arrays Runner::region(const std::vector<Block>& blocks, Arrays arguments) {
  if (blocks.empty()) return {};
  if (blocks.size() > 1) throw Refusal("branches within a region");
  spend(1);
  set(blocks.front().arguments, std::move(arguments));
  given_.clear();
  if (block(blocks.front()) != Left::kGives) throw Refusal("a return within a region");
  return std::move(given_);
}

Runner::Left Runner::operation(const Operation& op) {
  const std::string& name = op.name;
  spend(1);
  for (const Type& type : op.types)
    if (static_cast<std::uint64_t>(type.elements()) > kMostElements)
      throw Refusal("a block of very many elements");
  if (name == "tt.return" || name == "scf.yield" || name.ends_with(".return")) {
    given_ = taken(op.operands);
    return name == "tt.return" ? Left::kReturns : Left::kGives;
  }
  if (name == "scf.condition") {
    goes_on_ = whole(operand(op, 0)) != 0;
    given_ = taken(op.operands, 1);
    return Left::kGives;
  }
  if (name == "cf.br" || name == "cf.cond_br") {
    jumps_ = &op;
    return Left::kJumps;
  }
  if (structured(op) || memory(op)) return Left::kEnd;
  if (special(op)) {
    if (hangs_on_unknown(op)) {
      for (const int result : op.results) value(result).unknown = true;
    }
    return Left::kEnd;
  }
  const std::vector<const Array*> in = operands(op);
  Arrays made = arranged_elements(op, in);
  if (made.empty()) made = elementwise(op, in);
  if (made.size() != op.results.size() || made.empty()) throw Refusal(name);
  const std::int64_t from = made_of(in);
  for (Array& one : made) {
    spend(one.words.size());
    one.unknown = hangs_on_unknown(op);
    one.from = one.type.kind == Type::Kind::kPointer ? from : 0;
  }
  set(op.results, std::move(made));
  return Left::kEnd;
}

/// The argument that all of these addresses were made of.
std::int64_t Runner::made_of(const std::vector<const Array*>& in) {
  std::int64_t from = 0;
  for (const Array* const one : in) {
    if (one->type.kind != Type::Kind::kPointer) continue;
    if (from != 0 && one->from != from) return 0;
    from = one->from;
  }
  return from;
}

bool Runner::structured(const Operation& op) {
  if (op.name == "scf.for") {
    loop(op);
  } else if (op.name == "scf.while") {
    while_loop(op);
  } else if (op.name == "scf.if") {
    choice(op);
  } else if (op.name == "tt.call") {
    call(op);
  } else {
    return false;
  }
  return true;
}

void Runner::loop(const Operation& op) {
  const Array first = operand(op, 0);
  const Format& format = known_format(first.type);
  const bool natural_bounds = op.text.starts_with(" unsigned");
  const auto bound = [&](std::size_t i) {
    const std::int64_t word = whole(operand(op, i));
    return natural_bounds ? static_cast<std::int64_t>(natural(word, format.bits)) : word;
  };
  const std::int64_t end = bound(1), step = bound(2);
  if (step <= 0 || op.regions.empty()) throw Refusal("a loop without steps");
  Arrays state = taken(op.operands, 3);
  for (std::int64_t i = bound(0); i < end;) {
    Array turn = first;
    turn.words[0] = wrapped(i, format.bits);
    state.insert(state.begin(), std::move(turn));
    state = region(op.regions.front(), std::move(state));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  set(op.results, std::move(state));
}

void Runner::while_loop(const Operation& op) {
  if (op.regions.size() != 2) throw Refusal(op.name);
  Arrays state = taken(op.operands);
  for (;;) {
    state = region(op.regions[0], std::move(state));
    if (!goes_on_) break;
    state = region(op.regions[1], std::move(state));
  }
  set(op.results, std::move(state));
}

void Runner::choice(const Operation& op) {
  if (op.regions.empty()) throw Refusal(op.name);
  const bool first = whole(operand(op, 0)) != 0;
  if (!first && op.regions.size() < 2) return;
  set(op.results, region(op.regions[first ? 0 : 1], {}));
}

void Runner::call(const Operation& op) {
  const std::size_t at = op.text.find('@'), open = op.text.find('(', std::min(at, op.text.size()));
  const auto found = at == op.text.npos || open == op.text.npos
                         ? program_.functions.end()
                         : program_.functions.find(op.text.substr(at + 1, open - at - 1));
  if (found == program_.functions.end() || calls_ >= kMostCallsInside) throw Refusal(op.name);
  ++calls_;
  set(found->second.parameters, taken(op.operands));
  given_.clear();
  function(found->second);
  set(op.results, std::move(given_));
  --calls_;
}

Ran run_program(const Program& program, const Grid& grid, const std::vector<Given>& arguments,
                DeviceBytes& memory, std::uint64_t most_steps, std::string& why) {
  Runner runner(program, grid, memory, most_steps);
  try {
    runner.run(arguments);
  } catch (const Refusal& refusal) {
    why = refusal.what();
    return runner.stopped_by();
  }
  return Ran::kWhole;
}

}  // namespace flopcast::live::triton
