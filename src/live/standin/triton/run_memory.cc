// What a running program reads and writes: by addresses, by descriptors, by atomic operations.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "live/standin/triton/runner.h"

namespace flopcast::live::triton {
namespace {

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

}  // namespace

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

}  // namespace flopcast::live::triton
