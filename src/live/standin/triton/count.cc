#include "live/standin/triton/count.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

namespace flopcast::live::triton {
namespace {

/// Programs of a grid that are followed; of more, so many are spread over it. A prime, so that they meet all columns.
constexpr std::int64_t kFollowed = 251;

constexpr int kDeepestCall = 16;

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

  LaunchWork count(const Values& arguments) {
    const auto kernel = program_.functions.find(program_.kernel);
    if (kernel == program_.functions.end() ||
        kernel->second.parameters.size() != arguments.size()) {
      note("its parameters");
      return finish();
    }
    const std::int64_t all = grid_.x * grid_.y * grid_.z;
    const std::int64_t followed = std::min(all, kFollowed);
    follow(kernel->second, arguments, all / 2,
           0);  // finds out which loops memory holds the ends of
    for (std::int64_t i = 0; i < followed && !spent(); ++i) {
      const auto at =
          static_cast<std::int64_t>((static_cast<double>(i) + 0.5) * static_cast<double>(all) /
                                    static_cast<double>(followed));
      follow(kernel->second, arguments, std::min(at, all - 1),
             static_cast<double>(all) / static_cast<double>(followed));
    }
    // The ends of the grid tell how far addresses go.
    if (all > followed) {
      follow(kernel->second, arguments, 0, 0);
      follow(kernel->second, arguments, all - 1, 0);
    }
    return finish();
  }

 private:
  enum class Ends : std::uint8_t { kNot, kGives, kReturns, kJumps };
  struct Site {
    Product product;
    double count = 0;
    double here = 0, blocks_here = 0;  ///< of the program that is followed
  };

  void follow(const Function& kernel, const Values& arguments, std::int64_t number, double weight) {
    place_[0] = number % grid_.x;
    place_[1] = number / grid_.x % grid_.y;
    place_[2] = number / grid_.x / grid_.y;
    turns_ = 1;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      Value& own = value(kernel.parameters[i]);
      own = arguments[i];
      if (kernel.types[i].kind == Type::Kind::kPointer) own.root = root_at(own);
      if (own.descriptor && own.descriptor->base != 0) {
        auto placed = std::make_shared<Descriptor>(*own.descriptor);
        placed->root = root_at(Value::number(placed->base));
        own.descriptor = std::move(placed);
      }
    }
    run_function(kernel, weight);
    for (auto& [op, site] : sites_) {
      if (site.blocks_here > 0)
        site.product.most = std::max(site.product.most, site.here / site.blocks_here);
      site.here = site.blocks_here = 0;
    }
  }

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
  bool assumed_ = false, looked_ = false;
  std::set<std::string> unknown_;
};

// --- Control ------------------------------------------------------------------------------------

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

bool has_control(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    for (const Operation& op : block.operations) {
      if (op.name.starts_with("scf.") && !op.regions.empty()) return true;
      if (op.name == "tt.call") return true;
    }
  }
  return false;
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

// --- Memory -------------------------------------------------------------------------------------

int Counter::root_at(const Value& pointer) {
  if (!pointer.constant()) return -1;
  for (std::size_t i = 0; i < roots_.size(); ++i)
    if (roots_[i].base == pointer.low) return static_cast<int>(i);
  roots_.push_back({pointer.low, true, {}, {}});
  return static_cast<int>(roots_.size() - 1);
}

void Counter::access(const Value& pointer, const Value* mask, std::int64_t bytes, bool writes,
                     double weight) {
  if (mask && mask->empty()) return;
  if (mask && !mask->full() && !(mask->truth && mask->sure)) assumed_ = true;
  Reached& reached = pointer.root < 0 ? (writes ? written_anywhere_ : read_anywhere_)
                     : writes         ? roots_[static_cast<std::size_t>(pointer.root)].written
                                      : roots_[static_cast<std::size_t>(pointer.root)].read;
  double count = 1;
  std::int64_t low = pointer.low, high = pointer.exact ? pointer.low : pointer.high;
  const std::uint8_t varies = pointer.varying();
  for (unsigned i = 0; i < pointer.rank; ++i) {
    const bool boxed = mask && mask->truth && mask->rank == pointer.rank;
    const std::int64_t from = boxed ? mask->from[i] : 0;
    const std::int64_t to = boxed ? mask->to[i] : pointer.shape[i];
    if ((varies >> i & 1) != 0) count *= static_cast<double>(std::max<std::int64_t>(0, to - from));
    if (!pointer.exact) continue;
    low += pointer.step[i] * (pointer.step[i] >= 0 ? from : to - 1);
    high += pointer.step[i] * (pointer.step[i] >= 0 ? to - 1 : from);
  }
  const bool bounded = pointer.exact || pointer.bounded();
  if (bounded) {
    count = std::min(count, static_cast<double>(high - low) / static_cast<double>(bytes) + 1);
    reached.low = std::min(reached.low, low);
    reached.high = std::max(reached.high, high + bytes);
  } else {
    reached.anywhere = true;
  }
  if (pointer.root < 0) assumed_ = true;
  reached.element = std::min(reached.element, bytes);
  reached.bytes += weight * count * static_cast<double>(bytes);
}

std::int64_t bytes_of(std::string_view element) {
  return std::max<std::int64_t>(1, (bits_of(element) + 7) / 8);
}

void Counter::load(const Operation& op, double weight) {
  const Type& type = op.types.front();
  const Value pointer = operand(op, 0);
  if (type.kind != Type::Kind::kPointer) return note("a load of blocks");
  access(pointer, op.operands.size() > 1 ? &operand(op, 1) : nullptr, bytes_of(type.element), false,
         weight);
  Value made = Value::unknown(type.shape);
  made.varies = pointer.varying();
  if (type.element[0] == 'i' && pointer.rank == 0 && pointer.constant()) {
    looked_ = true;
    const auto found = around_.read(pointer.low, static_cast<std::size_t>(bytes_of(type.element)));
    if (found) made = Value::number(*found);
  }
  give(op, made);
}

bool Counter::memory(const Operation& op, double weight) {
  const std::string& name = op.name;
  const bool typed = !op.types.empty() && !op.operands.empty();
  if (name == "tt.load" && typed) {
    load(op, weight);
  } else if (name == "tt.store" && typed) {
    if (op.types.front().kind != Type::Kind::kPointer) {
      note("a store of blocks");
    } else {
      access(operand(op, 0), op.operands.size() > 2 ? &operand(op, 2) : nullptr,
             bytes_of(op.types.front().element), true, weight);
    }
  } else if ((name == "tt.atomic_rmw" || name == "tt.atomic_cas") && typed) {
    const bool masked = name == "tt.atomic_rmw" && op.operands.size() > 2;
    const std::int64_t bytes = bytes_of(op.types.front().element);
    for (const bool writes : {false, true})
      access(operand(op, 0), masked ? &operand(op, 2) : nullptr, bytes, writes, weight);
    opaque(op);
  } else if (name == "tt.make_tensor_descriptor") {
    make_descriptor(op);
  } else if (name.starts_with("tt.descriptor_")) {
    descriptor(op, weight);
  } else if (name == "tt.dot") {
    dot(op, weight);
  } else {
    return false;
  }
  return true;
}

/// "tt.make_tensor_descriptor %base, [%size, ...], [%stride, ...] : !tt.ptr<bf16>, !tt.tensordesc<...>"
void Counter::make_descriptor(const Operation& op) {
  if (op.groups.size() != 2 || op.types.empty()) return note(op.name);
  auto made = std::make_shared<Descriptor>();
  const Value& base = operand(op, 0);
  made->root = base.root >= 0 ? base.root : root_at(base);
  made->base = base.low;
  made->element_bytes = bytes_of(op.types.back().element);
  bool known = base.constant();
  for (const int size : op.groups[0]) {
    known = known && value(size).constant();
    made->sizes.push_back(value(size).low);
  }
  for (const int stride : op.groups[1]) {
    known = known && value(stride).constant();
    made->strides.push_back(value(stride).low);
  }
  if (!known) made->sizes.clear();
  Value out;
  out.descriptor = made;
  give(op, out);
}

/// "tt.descriptor_load %desc[%i, %j] : !tt.tensordesc<...> -> tensor<...>": a block, as far as the tensor goes.
void Counter::descriptor(const Operation& op, double weight) {
  const bool writes = op.name == "tt.descriptor_store" || op.name == "tt.descriptor_reduce";
  if (!writes && op.name != "tt.descriptor_load") {
    note(op.name);
    return opaque(op);
  }
  const auto tensor = operand(op, 0).descriptor;
  std::vector<std::int64_t> shape;
  const Type* type = nullptr;
  for (const auto* list : {&op.inputs, &op.types})
    for (const Type& one : *list)
      if (one.kind == Type::Kind::kDescriptor) type = &one;
  if (!tensor || !type || op.groups.empty()) {
    note(op.name);
    return opaque(op);
  }
  shape = type->shape;
  Value pointer = Value::unknown(shape);
  Value mask = Value::truth_of(shape, true);
  const std::size_t rank = shape.size();
  bool known = tensor->sizes.size() == rank && tensor->strides.size() == rank &&
               op.groups[0].size() == rank && rank <= kMostDims;
  pointer = Value::filled(shape, tensor->base);
  for (std::size_t i = 0; known && i < rank; ++i) {
    const Value& at = value(op.groups[0][i]);
    known = at.constant();
    if (!known) break;
    Value index = Value::filled(shape, at.low);
    index.step[i] = 1;
    const Value stride = Value::number(tensor->strides[i]);
    pointer = add(pointer, multiply(index, multiply(stride, Value::number(tensor->element_bytes))));
    mask.from[i] = std::clamp<std::int64_t>(-at.low, 0, shape[i]);
    mask.to[i] = std::clamp<std::int64_t>(tensor->sizes[i] - at.low, 0, shape[i]);
  }
  if (!known) pointer = Value::unknown(shape);
  pointer.root = tensor->root;
  access(pointer, &mask, std::max<std::int64_t>(1, tensor->element_bytes), writes, weight);
  if (!op.results.empty()) give(op, Value::unknown(op.types.front().shape));
}

// --- Values -------------------------------------------------------------------------------------

/// Words of the engine's signatures, and how many products of tensor cores stand for one.
struct Multiplies {
  std::string_view type;
  int times = 1;
};
std::optional<Multiplies> multiplied_as(std::string_view element, std::string_view text) {
  if (element == "bf16") return Multiplies{"bf16"};
  if (element == "f16") return Multiplies{"fp16"};
  if (element.starts_with("f8")) return Multiplies{"fp8_static"};
  if (element == "i8") return Multiplies{"sq"};
  if (element != "f32") return std::nullopt;
  const auto with = [text](std::string_view how) {
    return text.find("inputPrecision = " + std::string(how)) != text.npos;
  };
  if (with("tf32x3")) return Multiplies{"tf32", 3};
  if (with("bf16x3")) return Multiplies{"bf16", 3};
  if (with("bf16x6")) return Multiplies{"bf16", 6};
  if (with("tf32")) return Multiplies{"tf32"};
  return Multiplies{"fp32"};
}

void Counter::dot(const Operation& op, double weight) {
  const Value a = operand(op, 0), b = operand(op, 1);
  const auto type =
      op.inputs.size() > 1 ? multiplied_as(op.inputs[0].element, op.text) : std::nullopt;
  const bool shaped = a.rank >= 2 && b.rank == a.rank;
  if (!type || !shaped) {
    note(shaped && !op.inputs.empty() ? "tt.dot of " + op.inputs[0].element : op.name);
    return opaque(op);
  }
  Site& site = sites_[&op];
  site.product.type = type->type;
  site.product.m = a.shape[a.rank - 2];
  site.product.n = b.shape[b.rank - 1];
  double each = static_cast<double>(type->times);
  for (unsigned i = 0; i + 2 < a.rank; ++i) each *= static_cast<double>(a.shape[i]);
  const double summed = weight * each * static_cast<double>(a.shape[a.rank - 1]);
  site.count += summed;
  site.product.blocks += weight / turns_;
  site.here += summed;
  site.blocks_here += weight / turns_;
  using Kind = Product::Kind;
  if (a.of_gradient || b.of_gradient) {
    site.product.kind = Kind::kAttentionBackward;
  } else if (a.of_weights || b.of_weights) {
    site.product.kind = std::max(site.product.kind, Kind::kAttention);
  }
  Value made = Value::unknown(op.types.front().shape);
  made.of_product = true;
  give(op, made);
}

std::vector<std::int64_t> shape_of(const Value& value) {
  return {value.shape.begin(), value.shape.begin() + value.rank};
}

/// A value of another shape, dimension by dimension: from[i] is the old one's number, -1: none.
Value arranged(const Value& old, const std::vector<std::int64_t>& shape,
               const std::vector<int>& from) {
  Value made = old;
  made.rank = static_cast<unsigned>(shape.size());
  made.shape = made.step = made.from = made.to = {};
  made.varies = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    made.shape[i] = shape[i];
    made.to[i] = shape[i];
    if (from[i] < 0) continue;
    const auto j = static_cast<std::size_t>(from[i]);
    made.step[i] = old.step[j];
    if ((old.varies >> j & 1) != 0) made.varies |= static_cast<std::uint8_t>(1u << i);
    if (!old.truth) continue;
    // A dimension of one that is repeated is true everywhere or nowhere.
    const bool repeats = old.shape[j] == 1 && shape[i] != 1;
    made.from[i] = old.from[j];
    made.to[i] = repeats && old.to[j] > old.from[j] ? shape[i] : old.to[j];
  }
  return made;
}

bool Counter::shapes(const Operation& op) {
  const std::string& name = op.name;
  if (op.types.empty()) return false;
  const std::vector<std::int64_t>& shape = op.types.front().shape;
  const Value& old = operand(op, 0);
  std::vector<int> from(shape.size(), -1);
  if (name == "tt.splat") {
    Value made = old;
    if (op.types.front().element == "i1" && old.rank == 0) {
      made = Value::truth_of(shape, !old.empty());
      made.sure = old.empty() || old.full();
    } else {
      made = arranged(old, shape, from);
    }
    give(op, made);
    return true;
  }
  if (name == "tt.expand_dims") {
    const std::int64_t axis = attribute(op.text, "axis").value_or(0);
    if (shape.size() != old.rank + 1) return opaque(op), true;
    for (std::size_t i = 0, j = 0; i < shape.size(); ++i)
      if (static_cast<std::int64_t>(i) != axis) from[i] = static_cast<int>(j++);
  } else if (name == "tt.broadcast" || name == "ttg.convert_layout") {
    if (shape.size() != old.rank) return opaque(op), true;
    for (std::size_t i = 0; i < shape.size(); ++i) from[i] = static_cast<int>(i);
  } else if (name == "tt.trans") {
    std::size_t at = op.text.find("array<i32:");
    if (at == op.text.npos || shape.size() != old.rank) return opaque(op), true;
    at += 9;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      while (at < op.text.size() && (op.text[at] < '0' || op.text[at] > '9')) ++at;
      if (at >= op.text.size() || op.text[at] - '0' >= static_cast<int>(old.rank))
        return opaque(op), true;
      from[i] = op.text[at++] - '0';
    }
  } else {
    return false;
  }
  Value made = arranged(old, shape, from);
  // What is repeated along a dimension of one does not step along it.
  for (unsigned i = 0; i < made.rank; ++i) {
    if (from[i] >= 0 && old.shape[static_cast<std::size_t>(from[i])] == 1 && shape[i] != 1) {
      made.step[i] = 0;
      made.varies &= static_cast<std::uint8_t>(~(1u << i));
    }
  }
  give(op, made);
  return true;
}

void Counter::constant(const Operation& op) {
  const Type& type = op.types.front();
  std::string_view text = op.text;
  const std::size_t dense = text.find("dense<");
  text.remove_prefix(dense == text.npos ? 0 : dense + 6);
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (type.element == "i1" && (text.starts_with("true") || text.starts_with("false")))
    return give(op, Value::truth_of(type.shape, text.starts_with("true")));
  const auto number = attribute("c = " + std::string(text.substr(0, 24)), "c");
  if (type.kind == Type::Kind::kInteger && number && !text.starts_with("0x"))
    return give(op, Value::filled(type.shape, *number));
  give(op, Value::unknown(type.shape));
}

Value shifted(const Value& a, const Value& b, bool left) {
  if (!b.constant() || b.low < 0 || b.low > 58) return either(Value::unknown(shape_of(a)), a);
  const Value by = Value::number(std::int64_t{1} << b.low);
  return left ? multiply(a, by) : divide(a, by, true);
}
Value joined_bits(const Value& a, const Value& b, bool exclusive) {
  if (a.constant() && b.constant())
    return Value::filled(shape_of(a.rank >= b.rank ? a : b),
                         exclusive ? a.low ^ b.low : a.low | b.low);
  return either(Value::unknown(shape_of(a)), b);
}

/// Of two integers, or of two truth values of a bit.
struct Binary {
  std::string_view name;
  Value (*of)(const Value&, const Value&);
  Value (*of_truths)(const Value&, const Value&) = nullptr;  ///< where it is another
};
Value toward_zero(const Value& a, const Value& b) { return divide(a, b, false); }
Value downward(const Value& a, const Value& b) { return divide(a, b, true); }
Value upward(const Value& a, const Value& b) {
  return divide(subtract(add(a, b), Value::number(1)), b, true);
}
Value shifted_left(const Value& a, const Value& b) { return shifted(a, b, true); }
Value shifted_right(const Value& a, const Value& b) { return shifted(a, b, false); }
Value inclusive(const Value& a, const Value& b) { return joined_bits(a, b, false); }
Value exclusive(const Value& a, const Value& b) { return joined_bits(a, b, true); }
Value differing(const Value& a, const Value& b) {
  return b.full()   ? opposite(a)
         : a.full() ? opposite(b)
                    : either(Value::truth_of(shape_of(a), true), b);
}
constexpr Binary kBinaries[] = {
    {"arith.addi", add},
    {"arith.subi", subtract},
    {"arith.muli", multiply},
    {"arith.divsi", toward_zero},
    {"arith.divui", toward_zero},
    {"arith.floordivsi", downward},
    {"arith.ceildivsi", upward},
    {"arith.ceildivui", upward},
    {"arith.remsi", remainder},
    {"arith.remui", remainder},
    {"arith.minsi", smaller},
    {"arith.minui", smaller},
    {"arith.maxsi", larger},
    {"arith.maxui", larger},
    {"arith.shli", shifted_left},
    {"arith.shrsi", shifted_right},
    {"arith.shrui", shifted_right},
    {"arith.andi", both_bits, both},
    {"arith.ori", inclusive, any},
    {"arith.xori", exclusive, differing},
};

/// A truth value as the number 0 or 1.
Value as_number(const Value& a) {
  if (!a.truth) return a;
  Value made = Value::unknown(shape_of(a));
  made.low = 0;
  made.high = 1;
  return made;
}

Value compared(const Operation& op, const Value& a, const Value& b) {
  std::string_view text = op.text;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return compare(text.substr(0, text.find(',')), a, b);
}

/// Places in the grid, and addresses.
std::optional<Value> Counter::placed(const Operation& op) {
  const std::string& name = op.name;
  const Value &a = operand(op, 0), &b = operand(op, 1);
  const auto axis = [&op](const std::int64_t* of) {
    const std::string_view text = op.text;
    return of[text.find(" z") != text.npos ? 2 : text.find(" y") != text.npos ? 1 : 0];
  };
  const std::int64_t sizes[] = {grid_.x, grid_.y, grid_.z};
  const Type& type = op.types.front();
  if (name == "tt.get_program_id") return Value::number(axis(place_));
  if (name == "tt.get_num_programs") return Value::number(axis(sizes));
  if (name == "tt.make_range" && type.shape.size() == 1) {
    Value made = Value::filled(type.shape, attribute(op.text, "start").value_or(0));
    made.step[0] = 1;
    return made;
  }
  if (name == "tt.addptr") {
    Value offset = multiply(b, Value::number(bytes_of(type.element)));
    offset.root = -1;
    Value made = add(a, offset);
    made.root = a.root >= 0 ? a.root : root_at(a);
    return made;
  }
  if (name == "tt.int_to_ptr" || name == "tt.ptr_to_int" || name == "tt.bitcast") {
    Value made = a;
    if (name == "tt.int_to_ptr" && made.root < 0) made.root = root_at(a);
    return made;
  }
  return std::nullopt;
}

bool Counter::integers(const Operation& op) {
  const std::string& name = op.name;
  if (op.types.empty()) return false;
  if (name == "arith.constant") return constant(op), true;
  const Type& type = op.types.front();
  const Value &a = operand(op, 0), &b = operand(op, 1);
  std::optional<Value> made = placed(op);
  const auto* const binary = std::find_if(std::begin(kBinaries), std::end(kBinaries),
                                          [&name](const Binary& one) { return one.name == name; });
  if (binary != std::end(kBinaries)) {
    const bool truths = type.element == "i1" && binary->of_truths;
    made = within(truths ? binary->of_truths(a, b) : binary->of(a, b), bits_of(type.element));
  } else if (name == "arith.extsi" || name == "arith.index_cast" || name == "arith.trunci") {
    made = within(a, bits_of(type.element));
  } else if (name == "arith.extui") {
    made = as_number(a);
  } else if (name == "arith.cmpi") {
    made = compared(op, a, b);
  } else if (name == "arith.select") {
    const Value& otherwise = operand(op, 2);
    made = a.full() ? b : a.empty() ? otherwise : either(b, otherwise);
  }
  if (made) give(op, *made);
  return made.has_value();
}

/// Nothing is known of what it makes but what went into it.
void Counter::opaque(const Operation& op) {
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    Value made =
        Value::unknown(i < op.types.size() ? op.types[i].shape : std::vector<std::int64_t>());
    for (const int number : op.operands) made.take_flags(value(number));
    if (i < op.types.size() && op.types[i].element == "i1" && made.rank > 0) {
      made.truth = true;
      made.sure = false;
      made.to = made.shape;
    }
    give(op, made, i);
  }
}

/// Moves or converts numbers.
constexpr std::string_view kFree[] = {"arith.truncf",
                                      "arith.extf",
                                      "arith.sitofp",
                                      "arith.uitofp",
                                      "arith.fptosi",
                                      "arith.fptoui",
                                      "arith.bitcast",
                                      "tt.fp_to_fp",
                                      "tt.reshape",
                                      "tt.join",
                                      "tt.split",
                                      "tt.cat",
                                      "tt.unsplat",
                                      "ub.poison",
                                      "arith.cmpf",
                                      "tt.mulhiui",
                                      "arith.mulsi_extended",
                                      "arith.mului_extended"};
/// Says something to whoever compiles or debugs.
constexpr std::string_view kSilent[] = {"tt.assert",   "tt.print",    "llvm.intr.assume",
                                        "gpu.barrier", "ttg.barrier", "tt.debug_barrier"};
/// Count for each element that goes in.
constexpr std::string_view kOfInputs[] = {
    "tt.reduce", "tt.scan",         "tt.gather",      "tt.histogram", "tt.extern_elementwise",
    "tt.clampf", "tt.precise_sqrt", "tt.precise_divf"};

void Counter::floats(const Operation& op, double weight) {
  const std::string& name = op.name;
  const auto in = [&name](const auto& list) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  if (in(kSilent)) return;
  opaque(op);
  if (in(kFree)) return;
  const bool inlined =
      name == "tt.elementwise_inline_asm" && op.text.find("pure = true") != op.text.npos;
  if (!name.starts_with("math.") && !name.starts_with("arith.") && !in(kOfInputs) && !inlined)
    return note(name);
  const Value &a = operand(op, 0), &b = operand(op, 1);
  double elements = 1;
  for (unsigned i = 0; i < a.rank; ++i) elements *= static_cast<double>(a.shape[i]);
  operations_ += weight * elements;
  if (name == "tt.reduce" && !op.types.empty() && op.types[0].kind == Type::Kind::kFloat) {
    Rows& rows = reductions_[&op];
    rows.rows += weight * static_cast<double>(op.types[0].elements());
    rows.elements += weight * elements;
  }
  if (op.results.empty()) return;
  Value& made = value(op.results.front());
  const bool exponential = name.starts_with("math.exp") ||
                           (name == "tt.extern_elementwise" && op.text.find("exp") != op.text.npos);
  if (exponential) exponentials_ = true;
  if (exponential && a.of_product) made.of_weights = true;
  const auto alone = [](const Value& one) { return one.of_product && !one.of_weights; };
  if (name == "arith.mulf" && ((a.of_weights && alone(b)) || (b.of_weights && alone(a))))
    made.of_gradient = true;
}

// --- Answers ------------------------------------------------------------------------------------

std::uint64_t whole_bytes(double bytes) {
  constexpr double kMost = 1e18;
  return static_cast<std::uint64_t>(std::llround(std::min(bytes, kMost)));
}

LaunchWork Counter::finish() {
  LaunchWork work;
  work.assumed = assumed_;
  work.looked = looked_;
  work.operations = operations_;
  double read = read_anywhere_.bytes, written = written_anywhere_.bytes, most = 0;
  const auto elements = [&most](const Reached& reached, double bytes) {
    most = std::max(most, bytes / static_cast<double>(reached.element));
  };
  elements(read_anywhere_, read);
  elements(written_anywhere_, written);
  const auto once = [this](const Root& root, const Reached& reached) {
    double bytes = reached.bytes;
    if (!reached.anywhere && reached.high > reached.low)
      bytes = std::min(bytes, static_cast<double>(reached.high - reached.low));
    const std::uint64_t left = root.placed ? around_.left(root.base) : 0;
    return left > 0 && reached.low >= root.base ? std::min(bytes, static_cast<double>(left))
                                                : bytes;
  };
  work.all_writes = written_anywhere_.bytes == 0;
  for (const Root& root : roots_) {
    const double once_read = once(root, root.read), once_written = once(root, root.written);
    read += once_read;
    written += once_written;
    elements(root.read, once_read);
    elements(root.written, once_written);
    if (root.written.bytes > 0) work.written_at.push_back(root.base);
  }
  work.most_elements = whole_bytes(most);
  work.read = whole_bytes(read);
  work.written = whole_bytes(written);
  for (const auto& [op, site] : sites_) {
    Product product = site.product;
    if (!(product.blocks > 0)) continue;
    product.k = site.count / product.blocks;
    work.products.push_back(product);
  }
  for (const auto& [op, rows] : reductions_) {
    if (std::tie(rows.elements, rows.rows) > std::tie(work.rows.elements, work.rows.rows))
      work.rows = rows;
  }
  work.rows.exponentials = exponentials_;
  const auto key = [](const Product& one) {
    return std::tie(one.kind, one.type, one.m, one.n, one.k, one.blocks);
  };
  std::sort(work.products.begin(), work.products.end(),
            [&key](const Product& one, const Product& other) { return key(one) < key(other); });
  for (const std::string& what : unknown_) work.unknown += (work.unknown.empty() ? "" : ",") + what;
  return work;
}

}  // namespace

LaunchWork count_work(const Program& program, const Grid& grid, const std::vector<Value>& arguments,
                      Surroundings& surroundings, std::uint64_t most_steps) {
  return Counter(program, grid, surroundings, most_steps).count(arguments);
}

}  // namespace flopcast::live::triton
