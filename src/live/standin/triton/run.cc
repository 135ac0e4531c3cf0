#include "live/standin/triton/run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "live/standin/triton/arrange.h"
#include "live/standin/triton/elementwise.h"

namespace flopcast::live::triton {
namespace {

constexpr int kMostCallsInside = 16;
/// Of a block; Triton's own limit.
constexpr std::uint64_t kMostElements = 1 << 20;

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

const Format& known_format(const Type& type) {
  const Format* const known = format_of(type);
  if (!known) throw Refusal("numbers of type " + type.element);
  return *known;
}

const Type& type_of_result(const Operation& op) {
  if (op.types.empty() || op.results.empty()) throw Refusal(op.name + " without a result");
  return op.types.front();
}

// --- Control ------------------------------------------------------------------------------------

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

// --- Memory -------------------------------------------------------------------------------------

bool Runner::memory(const Operation& op) {
  const std::string& name = op.name;
  if (name == "tt.load") {
    load(op);
  } else if (name == "tt.store") {
    store(op);
  } else if (name == "tt.atomic_rmw") {
    atomic(op);
  } else if (name == "tt.atomic_cas") {
    exchange_if_same(op);
  } else if (name == "tt.make_tensor_descriptor") {
    describe(op);
  } else if (name == "tt.descriptor_load" || name == "tt.descriptor_store" ||
             name == "tt.descriptor_reduce") {
    block_of_tensor(op);
  } else {
    return false;
  }
  return true;
}

/// Null: an integer that nobody computed.
std::optional<std::int64_t> Runner::read_word(std::int64_t address, const Format& format) {
  const char* const at = memory_.readable(address, format.bytes());
  if (!at && !format.floats && memory_.writable(address, format.bytes())) return std::nullopt;
  if (!at) refuse_unknown("a read");
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, format.bytes());
  return word_of_bits(bits, format);
}

std::int64_t Runner::known_word(std::int64_t address, const Format& format) {
  const std::optional<std::int64_t> word = read_word(address, format);
  if (!word) refuse_unknown("an atomic operation");
  return *word;
}

void Runner::write_word(std::int64_t address, std::int64_t word, const Format& format) {
  char* const at = memory_.writable(address, format.bytes());
  if (!at) throw Refusal("a write outside of a device's memory");
  const std::uint64_t bits = bits_of_word(word, format);
  std::memcpy(at, &bits, format.bytes());
  memory_.written(address, format.bytes());
}

bool is_set(const Array* mask, std::size_t i) {
  return !mask || mask->words[mask->words.size() == 1 ? 0 : i] != 0;
}

/// Where the elements that a mask does not hide lie: from the lowest to the end of the highest.
std::pair<std::int64_t, std::int64_t> reach(const Array& pointers, const Array* mask,
                                            const Format& format) {
  std::int64_t low = INT64_MAX, high = INT64_MIN;
  for (std::size_t i = 0; i < pointers.words.size(); ++i) {
    if (!is_set(mask, i)) continue;
    low = std::min(low, pointers.words[i]);
    high = std::max(high, pointers.words[i]);
  }
  if (low > high) return {0, 0};
  std::int64_t end = 0;
  if (__builtin_add_overflow(high, static_cast<std::int64_t>(format.bytes()), &end))
    throw Refusal("an address beyond all");
  return {low, end};
}

Array Runner::loaded(const Array& pointers, const Array* mask, const Array* otherwise) {
  Type type = element_type(pointers.type.element);
  type.shape = pointers.type.shape;
  const Format& format = known_format(type);
  const std::size_t count = pointers.words.size();
  if ((mask && mask->words.size() != 1 && mask->words.size() != count) ||
      (otherwise && otherwise->words.size() != 1 && otherwise->words.size() != count))
    throw Refusal("a load of shapes that differ");
  spend(count);
  Array made = Array::filled(type, 0);
  if (pointers.unknown || (mask && mask->unknown)) {
    if (format.floats) refuse_unknown("a read");
    made.unknown = true;
    return made;
  }
  made.unknown = otherwise && otherwise->unknown;
  const auto [low, end] = reach(pointers, mask, format);
  constexpr std::int64_t kNear = std::int64_t{1} << 24;
  const char* const all = low < end && end - low <= kNear
                              ? memory_.readable(low, static_cast<std::size_t>(end - low))
                              : nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_set(mask, i)) {
      if (otherwise) made.words[i] = otherwise->words[otherwise->words.size() == 1 ? 0 : i];
    } else if (all) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, all + (pointers.words[i] - low), format.bytes());
      made.words[i] = word_of_bits(bits, format);
    } else if (const auto word = read_word(pointers.words[i], format)) {
      made.words[i] = *word;
    } else {
      made.unknown = true;
    }
  }
  return made;
}

void Runner::stored(const Array& pointers, const Array& values, const Array* mask) {
  const Format& format = known_format(element_type(pointers.type.element));
  const std::size_t count = pointers.words.size();
  if (values.words.size() != count ||
      (mask && mask->words.size() != 1 && mask->words.size() != count))
    throw Refusal("a store of shapes that differ");
  spend(count);
  if (pointers.unknown) {
    if (pointers.from == 0) refuse_unknown("a write");
    return memory_.lost_within(pointers.from);
  }
  const bool known = !values.unknown && !(mask && mask->unknown);
  if (mask && mask->unknown) mask = nullptr;  // any of them
  const auto width = static_cast<std::int64_t>(format.bytes());
  // Neighbours are written together.
  for (std::size_t i = 0; i < count;) {
    if (!is_set(mask, i)) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < count && is_set(mask, end) && pointers.words[end - 1] <= INT64_MAX - width &&
           pointers.words[end] == pointers.words[end - 1] + width)
      ++end;
    const std::size_t bytes = (end - i) * format.bytes();
    char* to = memory_.writable(pointers.words[i], bytes);
    if (!to) throw Refusal("a write outside of a device's memory");
    if (!known) {
      memory_.lost(pointers.words[i], bytes);
      i = end;
      continue;
    }
    memory_.written(pointers.words[i], bytes);
    for (; i < end; ++i, to += width) {
      const std::uint64_t bits = bits_of_word(values.words[i], format);
      std::memcpy(to, &bits, format.bytes());
    }
  }
}

void Runner::load(const Operation& op) {
  const Array& pointers = operand(op, 0);
  if (pointers.type.kind != Type::Kind::kPointer) throw Refusal("a load of blocks");
  const Array* const mask = op.operands.size() > 1 ? &operand(op, 1) : nullptr;
  const Array* const otherwise = op.operands.size() > 2 ? &operand(op, 2) : nullptr;
  Array made = loaded(pointers, mask, otherwise);
  set(op.results, {std::move(made)});
}

void Runner::store(const Operation& op) {
  const Array& pointers = operand(op, 0);
  if (pointers.type.kind != Type::Kind::kPointer) throw Refusal("a store of blocks");
  stored(pointers, operand(op, 1), op.operands.size() > 2 ? &operand(op, 2) : nullptr);
}

/// What an atomic operation or a reduction by a descriptor leaves in memory. @param how "add", "fadd", "umax"
std::int64_t combined(std::string_view how, std::int64_t old, std::int64_t value,
                      const Format& format) {
  if (how == "exch" || how == "xchg") return value;
  if (format.floats) {
    const double a = double_of(old), b = double_of(value);
    if (how == "fadd" || how == "add") return word_of(rounded(a + b, format));
    if (how == "max" || how == "fmax") return word_of(std::fmax(a, b));
    if (how == "min" || how == "fmin") return word_of(std::fmin(a, b));
    throw Refusal("an atomic " + std::string(how));
  }
  const std::string name = how == "max"    ? "maxsi"
                           : how == "min"  ? "minsi"
                           : how == "umax" ? "maxui"
                           : how == "umin" ? "minui"
                                           : std::string(how) + "i";
  std::int64_t made = 0;
  if (!combine_integers(name, old, value, format.bits, made))
    throw Refusal("an atomic " + std::string(how));
  return made;
}

std::string_view word_at_front(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_first_of(", "));
}

/// "fadd, acq_rel, gpu, %pointer, %value, %mask : ..."
void Runner::atomic(const Operation& op) {
  const Array &pointers = operand(op, 0), &values = operand(op, 1);
  const Array* const mask = op.operands.size() > 2 ? &operand(op, 2) : nullptr;
  const Format& format = known_format(values.type);
  const std::string_view how = word_at_front(op.text);
  if (values.words.size() != pointers.words.size() ||
      (mask && mask->words.size() != 1 && mask->words.size() != pointers.words.size()))
    throw Refusal("an atomic operation of shapes that differ");
  spend(pointers.words.size());
  if (pointers.unknown || values.unknown || (mask && mask->unknown))
    refuse_unknown("an atomic operation");
  Array old = Array::filled(values.type, 0);
  for (std::size_t i = 0; i < pointers.words.size(); ++i) {
    if (!is_set(mask, i)) continue;
    old.words[i] = known_word(pointers.words[i], format);
    write_word(pointers.words[i], combined(how, old.words[i], values.words[i], format), format);
  }
  if (!op.results.empty()) set(op.results, {std::move(old)});
}

void Runner::exchange_if_same(const Operation& op) {
  const Array &pointers = operand(op, 0), &expected = operand(op, 1), &values = operand(op, 2);
  const Format& format = known_format(values.type);
  const std::size_t count = pointers.words.size();
  if (values.words.size() != count || expected.words.size() != count)
    throw Refusal("an atomic operation of shapes that differ");
  spend(count);
  if (pointers.unknown || values.unknown || expected.unknown) refuse_unknown("an atomic operation");
  Array old = Array::filled(values.type, 0);
  for (std::size_t i = 0; i < count; ++i) {
    old.words[i] = known_word(pointers.words[i], format);
    const bool same = bits_of_word(old.words[i], format) == bits_of_word(expected.words[i], format);
    if (same) write_word(pointers.words[i], values.words[i], format);
  }
  if (!op.results.empty()) set(op.results, {std::move(old)});
}

/// "%base, [%size, ...], [%stride, ...] : <f32>, <16x16xf32>"
void Runner::describe(const Operation& op) {
  if (op.groups.size() != 2 || op.types.empty()) throw Refusal(op.name);
  auto tensor = std::make_shared<Descriptor>();
  tensor->base = whole(operand(op, 0));
  for (const int size : op.groups[0]) tensor->sizes.push_back(whole(value(size)));
  for (const int stride : op.groups[1]) tensor->strides.push_back(whole(value(stride)));
  if (op.text.find("padding = ") != op.text.npos && op.text.find("PAD_ZERO") == op.text.npos)
    throw Refusal("a descriptor that pads otherwise than by zeroes");
  Array made = Array::filled(element_type("i64"), 0);
  made.described = std::move(tensor);
  set(op.results, {std::move(made)});
}

/// A block of a tensor from these indices on: addresses, and a mask of what lies in the tensor.
std::pair<Array, Array> block_at(const Descriptor& tensor, const std::vector<std::int64_t>& first,
                                 const Type& block, const Format& format) {
  const std::size_t rank = block.shape.size();
  if (tensor.sizes.size() != rank || tensor.strides.size() != rank || first.size() != rank)
    throw Refusal("a descriptor of other dimensions");
  Type type = block;
  type.kind = Type::Kind::kPointer;
  Array pointers = Array::filled(type, 0), mask = Array::filled(block, 1);
  for (std::size_t i = 0; i < pointers.words.size(); ++i) {
    std::int64_t at = tensor.base;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = rank; d-- > 0; rest /= block.shape[d]) {
      std::int64_t index = 0;
      if (__builtin_add_overflow(first[d], rest % block.shape[d], &index)) index = -1;
      if (index < 0 || index >= tensor.sizes[d]) mask.words[i] = 0;
      at = static_cast<std::int64_t>(static_cast<std::uint64_t>(at) +
                                     static_cast<std::uint64_t>(index) *
                                         static_cast<std::uint64_t>(tensor.strides[d]) *
                                         format.bytes());
    }
    pointers.words[i] = at;
  }
  return {std::move(pointers), std::move(mask)};
}

/// "%desc[%i, %j]", "%desc[%i, %j], %values", "add, %desc[%i, %j], %values"
void Runner::block_of_tensor(const Operation& op) {
  const std::shared_ptr<const Descriptor> tensor = operand(op, 0).described;
  const Type* block = nullptr;
  for (const auto* list : {&op.inputs, &op.types})
    for (const Type& one : *list)
      if (one.kind == Type::Kind::kDescriptor) block = &one;
  if (!tensor || !block || op.groups.size() != 1 || tensor->base == 0) throw Refusal(op.name);
  std::vector<std::int64_t> first;
  for (const int index : op.groups[0]) first.push_back(whole(value(index)));
  const Format& format = known_format(element_type(block->element));
  const auto [pointers, mask] = block_at(*tensor, first, *block, format);
  if (op.name == "tt.descriptor_load") {
    Array made = loaded(pointers, &mask, nullptr);
    if (type_of_result(op).elements() != made.type.elements()) throw Refusal(op.name);
    made.type.shape = type_of_result(op).shape;
    return set(op.results, {std::move(made)});
  }
  const Array& values = operand(op, op.operands.size() - 1);
  if (op.name == "tt.descriptor_reduce" && values.unknown) refuse_unknown("an atomic operation");
  if (op.name == "tt.descriptor_store") return stored(pointers, values, &mask);
  const std::string_view how = word_at_front(op.text);
  if (values.words.size() != pointers.words.size()) throw Refusal(op.name);
  for (std::size_t i = 0; i < pointers.words.size(); ++i) {
    if (mask.words[i] == 0) continue;
    const std::int64_t old = known_word(pointers.words[i], format);
    write_word(pointers.words[i], combined(how, old, values.words[i], format), format);
  }
}

// --- Values -------------------------------------------------------------------------------------

/// Says something to whoever compiles or debugs.
constexpr std::string_view kUnheard[] = {"tt.print", "llvm.intr.assume", "gpu.barrier",
                                         "ttg.barrier", "tt.debug_barrier"};

bool Runner::special(const Operation& op) {
  const std::string& name = op.name;
  const auto axis = [&op](const std::int64_t* of) {
    const std::string_view text = op.text;
    return of[text.find(" z") != text.npos ? 2 : text.find(" y") != text.npos ? 1 : 0];
  };
  const auto number = [&](std::int64_t word) {
    set(op.results, {Array::filled(type_of_result(op), word)});
  };
  const std::int64_t sizes[] = {grid_.x, grid_.y, grid_.z};
  if (std::find(std::begin(kUnheard), std::end(kUnheard), name) != std::end(kUnheard)) return true;
  if (name == "tt.get_program_id") {
    number(axis(place_));
  } else if (name == "tt.get_num_programs") {
    number(axis(sizes));
  } else if (name == "arith.constant") {
    constant(op);
  } else if (name == "ub.poison") {
    number(0);
  } else if (name == "tt.assert") {
    for (const std::int64_t word : operand(op, 0).words)
      if (word == 0) throw Refusal("an assertion that does not hold");
  } else if (name == "tt.addptr") {
    const Array &pointers = operand(op, 0), &offsets = operand(op, 1);
    if (pointers.words.size() != offsets.words.size()) throw Refusal(name);
    Array made = pointers;
    const auto width =
        static_cast<std::uint64_t>(known_format(element_type(pointers.type.element)).bytes());
    for (std::size_t i = 0; i < made.words.size(); ++i)
      made.words[i] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(made.words[i]) +
                                    static_cast<std::uint64_t>(offsets.words[i]) * width);
    spend(made.words.size());
    set(op.results, {std::move(made)});
  } else if (name == "tt.bitcast" && operand(op, 0).type.kind == Type::Kind::kPointer) {
    Array made = operand(op, 0);
    made.type.element = type_of_result(op).element;
    set(op.results, {std::move(made)});
  } else if (name == "tt.dot") {
    dot(op);
  } else if (name == "tt.reduce") {
    reduce(op);
  } else if (name == "tt.scan") {
    scan(op);
  } else if (name == "tt.map_elementwise") {
    map_elements(op);
  } else {
    return false;
  }
  return true;
}

/// "dense<0xFF800000> : tensor<32xf32>", "true", "-1.5 : f32"
void Runner::constant(const Operation& op) {
  const Type& type = type_of_result(op);
  const Format& format = known_format(type);
  std::string_view text = op.text;
  if (const std::size_t dense = text.find("dense<"); dense != text.npos)
    text.remove_prefix(dense + 6);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string token(text.substr(0, text.find_first_of(" >:,")));
  std::int64_t word = 0;
  char* end = nullptr;
  if (token == "true" || token == "false") {
    word = token == "true" ? 1 : 0;
  } else if (token.starts_with("0x")) {
    word = word_of_bits(std::strtoull(token.c_str(), &end, 16), format);
  } else if (format.floats) {
    word = word_of(rounded(std::strtod(token.c_str(), &end), format));
  } else {
    word = wrapped(std::strtoll(token.c_str(), &end, 10), format.bits);
  }
  if (token.empty() || (end && *end != '\0')) throw Refusal("a constant" + op.text);
  spend(static_cast<std::uint64_t>(type.elements()));
  set(op.results, {Array::filled(type, word)});
}

/// A product of blocks and what it is added to; leading dimensions are products side by side.
void Runner::dot(const Operation& op) {
  const Array &a = operand(op, 0), &b = operand(op, 1), &c = operand(op, 2);
  const auto &left = a.type.shape, &right = b.type.shape;
  const Format &of_a = known_format(a.type), &of_b = known_format(b.type),
               &to = known_format(c.type);
  const bool fits = left.size() >= 2 && right.size() == left.size() &&
                    left.back() == right[right.size() - 2] && of_a.floats == of_b.floats &&
                    of_a.floats == to.floats && (of_a.floats || of_a.bits <= 8);
  if (!fits) throw Refusal(op.name);
  const auto m = static_cast<std::size_t>(left[left.size() - 2]);
  const auto k = static_cast<std::size_t>(left.back());
  const auto n = static_cast<std::size_t>(right.back());
  const std::size_t batches = a.words.size() / (m * k);
  if (b.words.size() != batches * k * n || c.words.size() != batches * m * n)
    throw Refusal(op.name);
  spend(batches * m * n * k / 4 + a.words.size() + b.words.size());
  const auto numbers = [](const Array& of, bool floats) {
    std::vector<double> all(of.words.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = floats ? double_of(of.words[i]) : static_cast<double>(of.words[i]);
    return all;
  };
  const std::vector<double> x = numbers(a, of_a.floats), y = numbers(b, of_b.floats);
  std::vector<double> sums = numbers(c, to.floats);
  for (std::size_t row = 0; row < batches * m; ++row) {
    double* const into = sums.data() + row * n;
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = x[row * k + i];
      const double* const from = y.data() + (row / m * k + i) * n;
      for (std::size_t j = 0; j < n; ++j) into[j] += factor * from[j];
    }
  }
  Array made = c;
  for (std::size_t i = 0; i < sums.size(); ++i)
    made.words[i] = to.floats ? word_of(rounded(sums[i], to))
                              : wrapped(static_cast<std::int64_t>(sums[i]), to.bits);
  set(op.results, {std::move(made)});
}

/// The dimension of a reduction or a scan, along which all its operands are as long.
std::size_t axis_of(const Operation& op, const Arrays& in) {
  const std::int64_t axis = attribute(op.text, "axis").value_or(-1);
  if (in.empty() || op.regions.size() != 1 || axis < 0) throw Refusal(op.name);
  for (const Array& one : in)
    if (axis >= static_cast<std::int64_t>(one.type.shape.size()) ||
        one.type.shape != in.front().type.shape)
      throw Refusal(op.name);
  return static_cast<std::size_t>(axis);
}

Arrays slices_of_all(const Arrays& all, std::size_t axis, std::int64_t first, std::int64_t step,
                     std::int64_t count) {
  Arrays made;
  for (const Array& one : all) made.push_back(slices(one, axis, first, step, count));
  return made;
}
Arrays both_lists(Arrays first, Arrays second) {
  for (Array& one : second) first.push_back(std::move(one));
  return first;
}

/// What a region gives for each operand is as large as that.
void same_shapes(const Operation& op, const Arrays& made, const Arrays& like) {
  if (made.size() < like.size()) throw Refusal(op.name);
  for (std::size_t i = 0; i < like.size(); ++i)
    if (made[i].type.shape != like[i].type.shape) throw Refusal(op.name);
}

/// Neighbours are combined, then their results, and so on: the region works on all pairs at once.
void Runner::reduce(const Operation& op) {
  Arrays state = taken(op.operands);
  const std::size_t axis = axis_of(op, state);
  for (std::int64_t length = state.front().type.shape[axis]; length > 1; length /= 2) {
    if (length % 2 != 0) throw Refusal("a reduction of an odd number");
    Arrays left = slices_of_all(state, axis, 0, 2, length / 2);
    const Arrays like = left;
    Arrays made = region(op.regions.front(),
                         both_lists(std::move(left), slices_of_all(state, axis, 1, 2, length / 2)));
    same_shapes(op, made, like);
    state = std::move(made);
  }
  Arrays made;
  for (Array& one : state) made.push_back(without_axis(std::move(one), axis));
  set(op.results, std::move(made));
}

/// Each is combined with the one that lies 1, then 2, 4, ... before it.
void Runner::scan(const Operation& op) {
  Arrays state = taken(op.operands);
  const std::size_t axis = axis_of(op, state);
  const std::int64_t length = state.front().type.shape[axis];
  const bool reverse = op.text.find("reverse = true") != op.text.npos;
  if (reverse) state = slices_of_all(state, axis, length - 1, -1, length);
  for (std::int64_t apart = 1; apart < length; apart *= 2) {
    const Arrays like = slices_of_all(state, axis, apart, 1, length - apart);
    const Arrays made = region(op.regions.front(),
                               both_lists(slices_of_all(state, axis, 0, 1, length - apart), like));
    same_shapes(op, made, like);
    for (std::size_t i = 0; i < state.size(); ++i) put_slices(state[i], made[i], axis, apart, 1);
  }
  if (reverse) state = slices_of_all(state, axis, length - 1, -1, length);
  set(op.results, std::move(state));
}

/// The region is run for each element: it may branch.
void Runner::map_elements(const Operation& op) {
  const Arrays in = taken(op.operands);
  if (in.empty() || op.regions.size() != 1 || attribute(op.text, "pack").value_or(1) != 1)
    throw Refusal(op.name);
  Arrays made;
  for (const Type& type : op.types) made.push_back(Array::filled(type, 0));
  for (std::size_t i = 0; i < in.front().words.size(); ++i) {
    Arrays one;
    for (const Array& from : in) {
      if (from.words.size() != in.front().words.size()) throw Refusal(op.name);
      Type scalar = from.type;
      scalar.shape.clear();
      one.emplace_back(std::move(scalar), std::vector<std::int64_t>{from.words[i]});
    }
    const Arrays results = region(op.regions.front(), std::move(one));
    if (results.size() < made.size()) throw Refusal(op.name);
    for (std::size_t j = 0; j < made.size(); ++j) {
      if (made[j].words.size() != in.front().words.size()) throw Refusal(op.name);
      made[j].words[i] = whole(results[j]);
    }
  }
  set(op.results, std::move(made));
}

}  // namespace

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
