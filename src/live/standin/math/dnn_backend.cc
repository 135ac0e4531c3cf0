// cuDNN's backend: descriptors, two engines for every graph, and plans that are executed.
#include <algorithm>
#include <cstring>

#include "live/standin/api/api.h"
#include "live/standin/math/dnn.h"
#include "live/standin/math/dnn_descriptor.h"

namespace flopcast::live {
namespace {

/// cudnnBackendAttributeType_t
enum ValueType : int {
  kBooleanValue = 2,
  kInt64Value = 3,
  kDoubleValue = 5,
  kPointerValue = 6,
  kDescriptorValue = 15,
  kCharacterValue = 24,
  kFractionValue = 26,
};

/// The first engine uses tensor cores; whoever does not want that takes the second.
constexpr std::int64_t kEngines = 2;
/// CUDNN_NUMERICAL_NOTE_TENSOR_CORE, ..._DOWN_CONVERT_INPUTS
constexpr int kTensorCoreNotes[] = {0, 1};

std::size_t bytes_of_value(int type) {
  switch (type) {
    case 0:  // a handle
    case kInt64Value:
    case kDoubleValue:
    case kPointerValue:
      return 8;
    case kBooleanValue:
    case kCharacterValue:
      return 1;
    case kFractionValue:
      return 16;
    default:
      return 4;
  }
}

/// Behind a program's handle. What one descriptor holds of another outlives that one's handle.
struct DnnObject {
  DnnShared contents = std::make_shared<DnnDescriptor>();
};
DnnDescriptor& contents(void* object) { return *static_cast<DnnObject*>(object)->contents; }

void set_number(DnnDescriptor& descriptor, int attribute, std::int64_t number) {
  DnnValue& value = descriptor.values[attribute];
  value.type = kInt64Value;
  value.count = 1;
  value.bytes.resize(sizeof number);
  std::memcpy(value.bytes.data(), &number, sizeof number);
}

void set_part(DnnDescriptor& descriptor, int attribute, DnnShared part) {
  DnnValue& value = descriptor.values[attribute];
  value.type = kDescriptorValue;
  value.count = 1;
  value.descriptors.assign(1, std::move(part));
}

/// A configuration of one of the engines for a graph.
DnnShared configuration(const DnnShared& graph, std::int64_t index) {
  auto engine = std::make_shared<DnnDescriptor>();
  engine->kind = DnnKind::kEngine;
  set_part(*engine, kEngineGraph, graph);
  set_number(*engine, kEngineIndex, index);
  auto made = std::make_shared<DnnDescriptor>();
  made->kind = DnnKind::kEngineConfiguration;
  set_part(*made, kConfigurationEngine, engine);
  return made;
}

/// The caller has made the descriptors whose contents it gets.
int give_descriptors(const std::vector<DnnShared>& parts, std::int64_t room, std::int64_t* count,
                     void* out) {
  const std::int64_t given =
      out ? std::min<std::int64_t>(room, static_cast<std::int64_t>(parts.size())) : 0;
  for (std::int64_t i = 0; i < given; ++i) {
    void* const target = static_cast<void**>(out)[i];
    if (target) contents(target) = *parts[static_cast<std::size_t>(i)];
  }
  if (count) *count = out && room > 0 ? given : static_cast<std::int64_t>(parts.size());
  return kDnnSuccess;
}

int give_heuristics(const DnnDescriptor& heuristics, std::int64_t room, std::int64_t* count,
                    void* out) {
  const auto graph = heuristics.values.find(kHeuristicsGraph);
  if (graph == heuristics.values.end()) return kDnnBadParameter;
  std::vector<DnnShared> all;
  for (std::int64_t i = 0; i < kEngines; ++i)
    all.push_back(configuration(graph->second.descriptors.front(), i));
  return give_descriptors(all, room, count, out);
}

int give_bytes(const void* from, std::size_t bytes_each, std::int64_t known, std::int64_t room,
               std::int64_t* count, void* out) {
  if (count) *count = known;
  if (out) std::memcpy(out, from, bytes_each * static_cast<std::size_t>(std::min(known, room)));
  return kDnnSuccess;
}

int get_attribute(const DnnDescriptor& own, int attribute, int type, std::int64_t room,
                  std::int64_t* count, void* out) {
  if (attribute == kHeuristicsResults) return give_heuristics(own, room, count, out);
  const std::int64_t zero = 0;
  if (attribute == kPlanWorkspace || attribute == kConfigurationWorkspace)
    return give_bytes(&zero, sizeof zero, 1, room, count, out);
  if (attribute == kConfigurationShared)  // of 32 bits, all zero
    return give_bytes(&zero, sizeof(std::int32_t), 1, room, count, out);
  if (attribute == kGraphEngines)
    return give_bytes(&kEngines, sizeof kEngines, 1, room, count, out);
  if (attribute == kEngineNumericalNotes && own.number(kEngineIndex) == 0)
    return give_bytes(kTensorCoreNotes, sizeof kTensorCoreNotes[0], std::size(kTensorCoreNotes),
                      room, count, out);
  const auto found = own.values.find(attribute);
  // Notes, knobs, intermediate results: there are none.
  if (found == own.values.end()) return give_bytes(&zero, 0, 0, room, count, out);
  const DnnValue& value = found->second;
  if (type == kDescriptorValue) return give_descriptors(value.descriptors, room, count, out);
  return give_bytes(value.bytes.data(), bytes_of_value(value.type), value.count, room, count, out);
}

}  // namespace

std::int64_t DnnDescriptor::number(int attribute, std::int64_t otherwise) const {
  const std::vector<std::int64_t> all = numbers(attribute);
  return all.empty() ? otherwise : all.front();
}

std::vector<std::int64_t> DnnDescriptor::numbers(int attribute) const {
  const auto found = values.find(attribute);
  if (found == values.end()) return {};
  const DnnValue& value = found->second;
  const std::size_t bytes = bytes_of_value(value.type);
  std::vector<std::int64_t> all;
  for (std::size_t at = 0; at + bytes <= value.bytes.size(); at += bytes) {
    std::int64_t number = 0;  // of the little-endian machine that all of this runs on
    std::memcpy(&number, value.bytes.data() + at, std::min(bytes, sizeof number));
    all.push_back(number);
  }
  return all;
}

const DnnDescriptor* DnnDescriptor::part(int attribute) const {
  const auto found = values.find(attribute);
  return found == values.end() || found->second.descriptors.empty()
             ? nullptr
             : found->second.descriptors.front().get();
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  auto* const made = new DnnObject;
  made->contents->kind = static_cast<DnnKind>(kind);
  *descriptor = made;
  return kDnnSuccess;
}
FLOPCAST_API int cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<DnnObject*>(descriptor);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnBackendInitialize(void*) { return kDnnSuccess; }
FLOPCAST_API int cudnnBackendFinalize(void*) { return kDnnSuccess; }
FLOPCAST_API int cudnnBackendSetAttribute(void* descriptor, int attribute, int type,
                                          std::int64_t count, const void* elements) {
  if (count < 0 || (count > 0 && !elements)) return kDnnBadParameter;
  DnnValue value{type, count, {}, {}};
  if (type == kDescriptorValue) {
    for (std::int64_t i = 0; i < count; ++i) {
      void* const part = static_cast<void* const*>(elements)[i];
      if (!part) return kDnnBadParameter;
      value.descriptors.push_back(static_cast<DnnObject*>(part)->contents);
    }
  } else {
    const auto* const begin = static_cast<const unsigned char*>(elements);
    value.bytes.assign(begin, begin + static_cast<std::size_t>(count) * bytes_of_value(type));
  }
  contents(descriptor).values[attribute] = std::move(value);
  return kDnnSuccess;
}
FLOPCAST_API int cudnnBackendGetAttribute(void* descriptor, int attribute, int type,
                                          std::int64_t room, std::int64_t* count, void* elements) {
  return get_attribute(contents(descriptor), attribute, type, room, count, elements);
}
FLOPCAST_API int cudnnBackendExecute(void* handle, void* plan, void*) {
  const DnnDescriptor* part = contents(plan).part(kPlanConfiguration);
  const DnnDescriptor* const engine = part ? part->part(kConfigurationEngine) : nullptr;
  const DnnDescriptor* const graph = engine ? engine->part(kEngineGraph) : nullptr;
  if (!graph) return kDnnBadParameter;
  submit_graph(stream_of_dnn(handle), *graph, engine->number(kEngineIndex) == 0);
  return kDnnSuccess;
}
