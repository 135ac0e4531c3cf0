#include "trace/pack/index.h"

#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

#include "base/pack/columns.h"
#include "base/text/utf8.h"

namespace flopcast::trace {
namespace {

using protozero::pbf_builder;
using protozero::pbf_message;

/// An index tells some dozen bytes of a block.
constexpr std::size_t kMostIndexBytes = std::size_t{1} << 28;

// Tags of the messages. A number once given is never used for anything else.
enum class InIndex : protozero::pbf_tag_type { kLabel = 1, kMember = 2 };
enum class InMember : protozero::pbf_tag_type {
  kName = 1,
  kFacts = 2,
  kPython = 3,
  kBlock = 4,
  kStep = 5
};
enum class InFacts : protozero::pbf_tag_type {
  kRank = 1,
  kWorldSize,
  kBackend,
  kDevice,
  kBaseNs,
  kStepNs,
  kWindowEndNs,
  kRowCounts,
  kOtherRows,
  kBytesRead,
  kAnomaly
};
enum class InDevice : protozero::pbf_tag_type {
  kId = 1,
  kName,
  kSmCount,
  kMemoryBytes,
  kThreads,
  kRegisters,
  kSharedMemory
};
enum class InAnomaly : protozero::pbf_tag_type { kKind = 1, kCount, kFirst };
enum class InBlock : protozero::pbf_tag_type {
  kOffset = 1,
  kBytes,
  kRows,
  kPython,
  kAlways,
  kFirstNs,
  kLastNs,
  kFirstCorrelation,
  kLastCorrelation
};
enum class InStep : protozero::pbf_tag_type { kName = 1, kStartNs, kDurationNs };

// --- Writing -----------------------------------------------------------------------------------

void write_device(pbf_builder<InDevice> out, const Device& device) {
  out.add_sint32(InDevice::kId, device.id);
  out.add_string(InDevice::kName, device.name);
  out.add_sint32(InDevice::kSmCount, device.sm_count);
  out.add_sint64(InDevice::kMemoryBytes, device.memory_bytes);
  out.add_sint32(InDevice::kThreads, device.threads_per_sm);
  out.add_sint32(InDevice::kRegisters, device.registers_per_sm);
  out.add_sint32(InDevice::kSharedMemory, device.shared_memory_per_sm);
}

void write_facts(pbf_builder<InFacts> out, const RawTrace& raw) {
  const Trace& trace = raw.trace;
  if (trace.rank) out.add_sint32(InFacts::kRank, *trace.rank);
  if (trace.world_size) out.add_sint32(InFacts::kWorldSize, *trace.world_size);
  out.add_string(InFacts::kBackend, trace.backend);
  for (const Device& device : trace.devices) {
    write_device(pbf_builder<InDevice>(out, InFacts::kDevice), device);
  }
  out.add_sint64(InFacts::kBaseNs, raw.base_ns);
  out.add_sint64(InFacts::kStepNs, raw.step_ns);
  if (raw.window_end_ns) out.add_sint64(InFacts::kWindowEndNs, *raw.window_end_ns);
  out.add_packed_uint64(InFacts::kRowCounts, std::begin(trace.row_counts),
                        std::end(trace.row_counts));
  out.add_uint64(InFacts::kOtherRows, trace.other_rows);
  out.add_uint64(InFacts::kBytesRead, trace.bytes_read);
  for (const Anomaly& anomaly : trace.anomalies.list()) {
    pbf_builder<InAnomaly> item(out, InFacts::kAnomaly);
    item.add_string(InAnomaly::kKind, anomaly.kind);
    item.add_uint64(InAnomaly::kCount, anomaly.count);
    item.add_string(InAnomaly::kFirst, anomaly.first);
  }
}

void write_block_place(pbf_builder<InBlock> out, const BlockPlace& block) {
  out.add_uint64(InBlock::kOffset, block.offset);
  out.add_uint64(InBlock::kBytes, block.bytes);
  out.add_uint64(InBlock::kRows, block.rows);
  out.add_bool(InBlock::kPython, block.python);
  out.add_bool(InBlock::kAlways, block.always);
  out.add_sint64(InBlock::kFirstNs, block.first_ns);
  out.add_sint64(InBlock::kLastNs, block.last_ns);
  out.add_sint64(InBlock::kFirstCorrelation, block.first_correlation);
  out.add_sint64(InBlock::kLastCorrelation, block.last_correlation);
}

void write_member(pbf_builder<InMember> out, const PackMember& member) {
  out.add_string(InMember::kName, member.name);
  write_facts(pbf_builder<InFacts>(out, InMember::kFacts), member.facts);
  write_facts(pbf_builder<InFacts>(out, InMember::kPython), member.python);
  for (const BlockPlace& block : member.blocks) {
    write_block_place(pbf_builder<InBlock>(out, InMember::kBlock), block);
  }
  for (const StepPlace& step : member.steps) {
    pbf_builder<InStep> item(out, InMember::kStep);
    item.add_string(InStep::kName, step.name);
    item.add_sint64(InStep::kStartNs, step.start_ns);
    item.add_sint64(InStep::kDurationNs, step.duration_ns);
  }
}

// --- Reading -----------------------------------------------------------------------------------

/// Thrown, and caught in unpacked_index(), where a value is none that was written.
struct BadIndex {};

// A field of another kind than it is written as is none of ours.
template <typename Message>
Message& of_kind(Message& in, protozero::pbf_wire_type kind) {
  if (!in.has_wire_type(kind)) throw BadIndex();
  return in;
}
template <typename Message>
Message& varint(Message& in) {
  return of_kind(in, protozero::pbf_wire_type::varint);
}
template <typename Message>
Message& delimited(Message& in) {
  return of_kind(in, protozero::pbf_wire_type::length_delimited);
}

std::string good_text(const std::string& text) {
  if (valid_utf8(text) != text) throw BadIndex();
  return text;
}

std::int32_t count_of(std::int32_t value) {
  if (value < 0) throw BadIndex();
  return value;
}

Device read_device(pbf_message<InDevice> in) {
  Device device;
  while (in.next()) {
    switch (in.tag()) {
      case InDevice::kId:
        device.id = count_of(varint(in).get_sint32());
        break;
      case InDevice::kName:
        device.name = good_text(delimited(in).get_string());
        break;
      case InDevice::kSmCount:
        device.sm_count = count_of(varint(in).get_sint32());
        break;
      case InDevice::kMemoryBytes:
        device.memory_bytes = varint(in).get_sint64();
        break;
      case InDevice::kThreads:
        device.threads_per_sm = count_of(varint(in).get_sint32());
        break;
      case InDevice::kRegisters:
        device.registers_per_sm = count_of(varint(in).get_sint32());
        break;
      case InDevice::kSharedMemory:
        device.shared_memory_per_sm = count_of(varint(in).get_sint32());
        break;
      default:
        in.skip();
    }
  }
  return device;
}

void read_anomaly(pbf_message<InAnomaly> in, Anomalies& anomalies) {
  std::string kind, first;
  std::uint64_t count = 0;
  while (in.next()) {
    switch (in.tag()) {
      case InAnomaly::kKind:
        kind = good_text(delimited(in).get_string());
        break;
      case InAnomaly::kCount:
        count = varint(in).get_uint64();
        break;
      case InAnomaly::kFirst:
        first = delimited(in).get_string();  // as it stands in the file
        break;
      default:
        in.skip();
    }
  }
  anomalies.add(
      kind, [&] { return first; }, count);
}

void read_row_counts(pbf_message<InFacts>& in, Trace& trace) {
  std::size_t place = 0;
  for (const std::uint64_t count : delimited(in).get_packed_uint64()) {
    if (place >= std::size(trace.row_counts)) throw BadIndex();
    trace.row_counts[place++] = count;
  }
}

void read_facts(pbf_message<InFacts> in, RawTrace& raw) {
  Trace& trace = raw.trace;
  raw.any_phase = true;
  while (in.next()) {
    switch (in.tag()) {
      case InFacts::kRank:
        trace.rank = count_of(varint(in).get_sint32());
        break;
      case InFacts::kWorldSize:
        trace.world_size = count_of(varint(in).get_sint32());
        break;
      case InFacts::kBackend:
        trace.backend = good_text(delimited(in).get_string());
        break;
      case InFacts::kDevice:
        trace.devices.push_back(read_device(delimited(in).get_message()));
        break;
      case InFacts::kBaseNs:
        raw.base_ns = varint(in).get_sint64();
        break;
      case InFacts::kStepNs:
        raw.step_ns = varint(in).get_sint64();
        if (raw.step_ns < 1 || raw.step_ns > 1000) throw BadIndex();
        break;
      case InFacts::kWindowEndNs:
        raw.window_end_ns = varint(in).get_sint64();
        break;
      case InFacts::kRowCounts:
        read_row_counts(in, trace);
        break;
      case InFacts::kOtherRows:
        trace.other_rows = varint(in).get_uint64();
        break;
      case InFacts::kBytesRead:
        trace.bytes_read = varint(in).get_uint64();
        break;
      case InFacts::kAnomaly:
        read_anomaly(delimited(in).get_message(), trace.anomalies);
        break;
      default:
        in.skip();
    }
  }
}

BlockPlace read_block_place(pbf_message<InBlock> in) {
  BlockPlace block;
  while (in.next()) {
    switch (in.tag()) {
      case InBlock::kOffset:
        block.offset = varint(in).get_uint64();
        break;
      case InBlock::kBytes:
        block.bytes = varint(in).get_uint64();
        break;
      case InBlock::kRows:
        block.rows = varint(in).get_uint64();
        break;
      case InBlock::kPython:
        block.python = varint(in).get_uint64() != 0;
        break;
      case InBlock::kAlways:
        block.always = varint(in).get_uint64() != 0;
        break;
      case InBlock::kFirstNs:
        block.first_ns = varint(in).get_sint64();
        break;
      case InBlock::kLastNs:
        block.last_ns = varint(in).get_sint64();
        break;
      case InBlock::kFirstCorrelation:
        block.first_correlation = varint(in).get_sint64();
        break;
      case InBlock::kLastCorrelation:
        block.last_correlation = varint(in).get_sint64();
        break;
      default:
        in.skip();
    }
  }
  return block;
}

StepPlace read_step(pbf_message<InStep> in) {
  StepPlace step;
  while (in.next()) {
    switch (in.tag()) {
      case InStep::kName:
        step.name = good_text(delimited(in).get_string());
        break;
      case InStep::kStartNs:
        step.start_ns = varint(in).get_sint64();
        break;
      case InStep::kDurationNs:
        step.duration_ns = varint(in).get_sint64();
        break;
      default:
        in.skip();
    }
  }
  return step;
}

PackMember read_member(pbf_message<InMember> in) {
  PackMember member;
  while (in.next()) {
    switch (in.tag()) {
      case InMember::kName:
        member.name = delimited(in).get_string();
        break;
      case InMember::kFacts:
        read_facts(delimited(in).get_message(), member.facts);
        break;
      case InMember::kPython:
        read_facts(delimited(in).get_message(), member.python);
        break;
      case InMember::kBlock:
        member.blocks.push_back(read_block_place(delimited(in).get_message()));
        break;
      case InMember::kStep:
        member.steps.push_back(read_step(delimited(in).get_message()));
        break;
      default:
        in.skip();
    }
  }
  return member;
}

std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

}  // namespace

std::string packed_index(const PackIndex& index) {
  std::string plain;
  pbf_builder<InIndex> out(plain);
  out.add_string(InIndex::kLabel, index.label);
  for (const PackMember& member : index.members) {
    write_member(pbf_builder<InMember>(out, InIndex::kMember), member);
  }
  return compressed(plain);
}

std::optional<PackIndex> unpacked_index(std::string_view bytes) {
  const auto plain = decompressed(bytes, kMostIndexBytes);
  if (!plain) return std::nullopt;
  try {
    std::optional<PackIndex> index(std::in_place);
    pbf_message<InIndex> in(*plain);
    while (in.next()) {
      switch (in.tag()) {
        case InIndex::kLabel:
          index->label = delimited(in).get_string();
          break;
        case InIndex::kMember:
          index->members.push_back(read_member(delimited(in).get_message()));
          break;
        default:
          in.skip();
      }
    }
    return index;
  } catch (const protozero::exception&) {
    return std::nullopt;
  } catch (const BadIndex&) {
    return std::nullopt;
  }
}

std::string pack_head() { return std::string(kPackMagic) + little_endian(kPackVersion, 4); }

std::string pack_tail(std::uint64_t index_offset, std::uint64_t index_bytes) {
  return little_endian(index_offset, 8) + little_endian(index_bytes, 8) + std::string(kPackMagic);
}

std::uint64_t number_at(std::string_view bytes, std::size_t offset, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  }
  return value;
}

}  // namespace flopcast::trace
