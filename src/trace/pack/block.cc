#include "trace/pack/block.h"

#include <utility>

#include "base/text/utf8.h"
#include "trace/pack/coder.h"
#include "trace/raw/append.h"

namespace flopcast::trace {
namespace {

/// Most bytes of an unpacked block: the text of kTextOfBlock and a row as long as rows may be, and columns.
constexpr std::size_t kMostBlockBytes = std::size_t{1} << 29;

/// Columns of a block by their protobuf tags. A number once given is never used for anything else.
enum Field : std::uint32_t {
  kTextBytes = 1,
  kTextSizes,
  kTrackPid,
  kTrackTid,
  kStart = 10,
  kDuration,
  kName,
  kTrack,
  kCategory,
  kFlags,
  kStream,
  kDevice,
  kCorrelation,
  kExternalId,
  kRowRank,
  kOrder,
  kKernel = 30,
  kCopy = 40,
  kSync = 50,
  kOp = 60,
  kCollective = 70,
  kFlow = 90,
  kNameRow = 100,
  kBegin = 110,
  kEnd = 120,
  kFieldCount = 130,
};

/// What a row has, by bit.
enum Flag : std::uint8_t {
  kHasDetail = 1,
  kHasCollective = 2,
  kHasCorrelation = 4,
  kHasExternal = 8
};

/// Columns in which rows that have nothing are left out.
struct SparseColumns {
  std::vector<std::uint8_t> flags;
  std::vector<std::int64_t> correlations, external_ids;
};

/// The columns of the side tables and of what is beside the events, once for writing and for reading.
template <typename Coder, typename Raw>
void visit_tables(Coder& c, Raw& raw) {
  auto& t = raw.trace;
  c.member(kKernel, t.kernels, &KernelDetail::blocks);
  c.member(kKernel + 1, t.kernels, &KernelDetail::threads_per_block);
  c.member(kKernel + 2, t.kernels, &KernelDetail::blocks_per_sm);
  c.member(kKernel + 3, t.kernels, &KernelDetail::graph_node);
  c.member(kKernel + 4, t.kernels, &KernelDetail::registers);
  c.member(kKernel + 5, t.kernels, &KernelDetail::shared_memory);
  c.member(kCopy, t.copies, &CopyDetail::bytes);
  c.member(kSync, t.syncs, &SyncDetail::kind);
  c.member(kSync + 1, t.syncs, &SyncDetail::wait_on_stream);
  c.member(kSync + 2, t.syncs, &SyncDetail::record_correlation, Coding::kDelta);
  c.member(kSync + 3, t.syncs, &SyncDetail::event_id);
  c.member(kOp, t.ops, &OpDetail::sequence_number);
  c.member(kOp + 1, t.ops, &OpDetail::forward_thread);
  c.member(kOp + 2, t.ops, &OpDetail::record_function_id, Coding::kDelta);
  c.member(kOp + 3, t.ops, &OpDetail::input_dims);
  c.member(kOp + 4, t.ops, &OpDetail::input_types);
  c.member(kOp + 5, t.ops, &OpDetail::concrete_inputs);
  c.member(kCollective, t.collectives, &CollectiveDetail::name);
  c.member(kCollective + 1, t.collectives, &CollectiveDetail::dtype);
  c.member(kCollective + 2, t.collectives, &CollectiveDetail::group_name);
  c.member(kCollective + 3, t.collectives, &CollectiveDetail::group_desc);
  c.member(kCollective + 4, t.collectives, &CollectiveDetail::group_ranks);
  c.member(kCollective + 5, t.collectives, &CollectiveDetail::group_size);
  c.member(kCollective + 6, t.collectives, &CollectiveDetail::in_elements);
  c.member(kCollective + 7, t.collectives, &CollectiveDetail::out_elements);
  c.member(kCollective + 8, t.collectives, &CollectiveDetail::sequence, Coding::kDelta);
  c.member(kCollective + 9, t.collectives, &CollectiveDetail::is_wait);
  c.member(kCollective + 10, t.collectives, &CollectiveDetail::is_async);
  c.member(kFlow, raw.flows, &RawTrace::Flow::id, Coding::kDelta);
  c.member(kFlow + 1, raw.flows, &RawTrace::Flow::track);
  c.member(kFlow + 2, raw.flows, &RawTrace::Flow::time_ns, Coding::kDelta);
  c.member(kFlow + 3, raw.flows, &RawTrace::Flow::is_source);
  c.member(kNameRow, raw.names, &RawTrace::NameRow::pid);
  c.member(kNameRow + 1, raw.names, &RawTrace::NameRow::tid);
  c.member(kNameRow + 2, raw.names, &RawTrace::NameRow::name);
  c.member(kNameRow + 3, raw.names, &RawTrace::NameRow::of_process);
  c.member(kBegin, raw.begins, &RawTrace::Begin::row, Coding::kDelta);
  c.member(kBegin + 1, raw.begins, &RawTrace::Begin::order, Coding::kDelta);
  c.member(kEnd, raw.ends, &RawTrace::End::track);
  c.member(kEnd + 1, raw.ends, &RawTrace::End::time_ns, Coding::kDelta);
  c.member(kEnd + 2, raw.ends, &RawTrace::End::order, Coding::kDelta);
  c.member(kTrackPid, t.tracks, &Track::pid);
  c.member(kTrackTid, t.tracks, &Track::tid);
}

template <typename Coder, typename Raw, typename Sparse>
void visit_events(Coder& c, Raw& raw, Sparse& sparse) {
  auto& events = raw.trace.events;
  c.column(kStart, raw.start_ns, Coding::kDelta);
  c.column(kDuration, raw.duration_ns);
  c.column(kName, events.name);
  c.column(kTrack, events.track);
  c.column(kCategory, events.category);
  c.column(kFlags, sparse.flags);
  c.column(kStream, events.stream);
  c.column(kDevice, events.device);
  c.column(kCorrelation, sparse.correlations, Coding::kDelta);
  c.column(kExternalId, sparse.external_ids, Coding::kDelta);
  c.column(kRowRank, raw.row_rank);
  c.column(kOrder, raw.order, Coding::kDelta);
}

// --- Writing -----------------------------------------------------------------------------------

SparseColumns sparse_columns(const Events& events) {
  SparseColumns out;
  for (std::size_t row = 0; row < events.name.size(); ++row) {
    std::uint8_t flags = 0;
    if (events.detail[row] != kNoDetail) flags |= kHasDetail;
    if (events.collective[row] != kNoDetail) flags |= kHasCollective;
    if (events.correlation[row] != kNoId) {
      flags |= kHasCorrelation;
      out.correlations.push_back(events.correlation[row]);
    }
    if (events.external_id[row] != kNoId) {
      flags |= kHasExternal;
      out.external_ids.push_back(events.external_id[row]);
    }
    out.flags.push_back(flags);
  }
  return out;
}

// --- Reading -----------------------------------------------------------------------------------

// Numbers of texts, cut from one text. False where they do not fit.
bool read_texts(Decoder<kFieldCount>& in, StringTable& strings) {
  std::string text;
  std::vector<std::uint32_t> sizes;
  in.bytes(kTextBytes, text);
  in.column(kTextSizes, sizes);
  std::string_view rest = text;
  for (const std::uint32_t size : sizes) {
    if (size > rest.size()) return false;
    const std::string_view one = rest.substr(0, size);
    if (valid_utf8(one) != one) return false;
    const std::size_t known = strings.size();
    if (strings.intern(one) != known) return false;  // twice, or the empty one
    rest.remove_prefix(size);
  }
  return rest.empty();
}

// Side tables are in the order of the rows that use them.
bool spread(const SparseColumns& sparse, Trace& trace) {
  Events& events = trace.events;
  TableSizes next{};
  std::size_t collective = 0, correlation = 0, external = 0;
  for (std::size_t row = 0; row < sparse.flags.size(); ++row) {
    const std::uint8_t flags = sparse.flags[row];
    std::size_t* table = next.of(events.category[row]);
    const bool detail = (flags & kHasDetail) != 0;
    if (detail && table == nullptr) return false;
    events.detail.push_back(detail ? static_cast<std::uint32_t>((*table)++) : kNoDetail);
    events.collective.push_back(
        (flags & kHasCollective) != 0 ? static_cast<std::uint32_t>(collective++) : kNoDetail);
    const auto given = [](bool there, const std::vector<std::int64_t>& list, std::size_t& at) {
      if (!there) return kNoId;
      return at < list.size() ? list[at++] : (++at, kNoId);
    };
    events.correlation.push_back(
        given((flags & kHasCorrelation) != 0, sparse.correlations, correlation));
    events.external_id.push_back(given((flags & kHasExternal) != 0, sparse.external_ids, external));
  }
  return next == TableSizes::of(trace) && collective == trace.collectives.size() &&
         correlation == sparse.correlations.size() && external == sparse.external_ids.size();
}

template <typename Row, typename... Members>
bool all_below(const std::vector<Row>& table, std::size_t limit, Members... members) {
  for (const Row& row : table) {
    if (((row.*members >= limit) || ...)) return false;
  }
  return true;
}

bool ids_fit(const RawTrace& raw) {
  const Trace& t = raw.trace;
  const std::size_t texts = raw.strings.size(), tracks = t.tracks.size();
  for (const std::uint32_t name : t.events.name) {
    if (name >= texts) return false;
  }
  for (const std::uint32_t track : t.events.track) {
    if (track >= tracks) return false;
  }
  for (const std::int64_t duration : raw.duration_ns) {
    if (duration < 0) return false;
  }
  return all_below(t.tracks, texts, &Track::pid, &Track::tid) &&
         all_below(t.ops, texts, &OpDetail::input_dims, &OpDetail::input_types,
                   &OpDetail::concrete_inputs) &&
         all_below(t.collectives, texts, &CollectiveDetail::name, &CollectiveDetail::dtype,
                   &CollectiveDetail::group_name, &CollectiveDetail::group_desc,
                   &CollectiveDetail::group_ranks) &&
         all_below(raw.flows, tracks, &RawTrace::Flow::track) &&
         all_below(raw.names, texts, &RawTrace::NameRow::pid, &RawTrace::NameRow::tid,
                   &RawTrace::NameRow::name) &&
         all_below(raw.begins, raw.events(), &RawTrace::Begin::row) &&
         all_below(raw.ends, tracks, &RawTrace::End::track);
}

bool columns_fit(const RawTrace& raw, const SparseColumns& sparse) {
  const Events& events = raw.trace.events;
  const std::size_t rows = raw.events();
  return raw.duration_ns.size() == rows && events.name.size() == rows &&
         events.track.size() == rows && events.category.size() == rows &&
         sparse.flags.size() == rows && events.stream.size() == rows &&
         events.device.size() == rows && (raw.row_rank.empty() || raw.row_rank.size() == rows) &&
         (raw.order.empty() || raw.order.size() == rows);
}

}  // namespace

std::string packed_block(const RawTrace& raw) {
  const SparseColumns sparse = sparse_columns(raw.trace.events);
  std::string texts;
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t id = 1; id < raw.strings.size(); ++id) {
    texts += raw.strings[id];
    sizes.push_back(static_cast<std::uint32_t>(raw.strings[id].size()));
  }
  std::string plain;
  Encoder out(plain);
  out.bytes(kTextBytes, texts);
  out.column(kTextSizes, sizes);
  visit_events(out, raw, sparse);
  visit_tables(out, raw);
  return compressed(plain);
}

std::optional<RawTrace> unpacked_block(std::string_view bytes) {
  const auto plain = decompressed(bytes, kMostBlockBytes);
  if (!plain) return std::nullopt;
  try {
    Decoder<kFieldCount> in(*plain);
    std::optional<RawTrace> raw(std::in_place);
    SparseColumns sparse;
    if (!read_texts(in, raw->strings)) return std::nullopt;
    visit_events(in, *raw, sparse);
    visit_tables(in, *raw);
    const bool good =
        in.good() && columns_fit(*raw, sparse) && spread(sparse, raw->trace) && ids_fit(*raw);
    return good ? std::move(raw) : std::nullopt;
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

}  // namespace flopcast::trace
