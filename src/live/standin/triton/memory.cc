// Loads and stores: which bytes they reach.
#include <algorithm>

#include "live/standin/triton/counter.h"

namespace flopcast::live::triton {

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
    const std::int64_t base =
        pointer.root < 0 ? pointer.low : roots_[static_cast<std::size_t>(pointer.root)].base;
    const auto found =
        around_.read(pointer.low, static_cast<std::size_t>(bytes_of(type.element)), base);
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
  } else if (name == "tt.dot_scaled" && typed) {
    scaled_dot(op, weight);
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

}  // namespace flopcast::live::triton
