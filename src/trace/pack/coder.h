// Columns of a block to the fields of a protobuf message, and back.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/pack/columns.h"
#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

template <typename T>
std::uint64_t code_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (std::is_signed_v<T>) {
    return zigzag(static_cast<std::uint64_t>(std::int64_t{value}));
  } else {
    return value;
  }
}

/// False where the code is none of a T.
template <typename T>
bool value_of(std::uint64_t code, T& out) {
  if constexpr (std::is_same_v<T, float>) {
    out = std::bit_cast<float>(static_cast<std::uint32_t>(code));
    return code <= std::numeric_limits<std::uint32_t>::max() && std::isfinite(out);
  } else if constexpr (std::is_same_v<T, Category>) {
    out = static_cast<Category>(code);
    return code < kCategoryCount;
  } else if constexpr (std::is_same_v<T, SyncDetail::Kind>) {
    out = static_cast<SyncDetail::Kind>(code);
    return code <= static_cast<std::uint64_t>(SyncDetail::Kind::kOther);
  } else if constexpr (std::is_same_v<T, bool>) {
    out = code == 1;
    return code <= 1;
  } else if constexpr (std::is_signed_v<T>) {
    const auto value = static_cast<std::int64_t>(unzigzag(code));
    out = static_cast<T>(value);
    return out == value;
  } else {
    out = static_cast<T>(code);
    return out == code;
  }
}

/// Writes columns; an empty one is left out.
class Encoder {
 public:
  explicit Encoder(std::string& out) : writer_(out) {}

  template <typename T>
  void column(std::uint32_t field, const std::vector<T>& list, Coding coding = Coding::kPlain) {
    put(field, list, coding, [](const T& item) { return item; });
  }
  template <typename Row, typename T>
  void member(std::uint32_t field, const std::vector<Row>& table, T Row::*which,
              Coding coding = Coding::kPlain) {
    put(field, table, coding, [which](const Row& row) { return row.*which; });
  }
  void bytes(std::uint32_t field, const std::string& text) { writer_.add_bytes(field, text); }

 private:
  template <typename List, typename Get>
  void put(std::uint32_t field, const List& list, Coding coding, Get get) {
    if (list.empty()) return;
    codes_.clear();
    codes_.reserve(list.size());
    for (const auto& item : list) {
      const auto value = get(item);
      codes_.push_back(coding == Coding::kDelta ? static_cast<std::uint64_t>(value)
                                                : code_of(value));
    }
    writer_.add_bytes(field, packed_column(codes_, coding));
  }

  protozero::pbf_writer writer_;
  std::vector<std::uint64_t> codes_;
};

/// Finds columns again, whose tags are below `Fields`.
template <std::uint32_t Fields>
class Decoder {
 public:
  explicit Decoder(std::string_view block) {
    protozero::pbf_reader reader(block.data(), block.size());
    while (reader.next()) {
      const std::uint32_t tag = reader.tag();
      if (tag < Fields && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
        const protozero::data_view view = reader.get_view();
        fields_[tag] = {view.data(), view.size()};
      } else {
        reader.skip();  // of a later version
      }
    }
  }
  bool good() const { return good_; }

  template <typename T>
  void column(std::uint32_t field, std::vector<T>& list, Coding coding = Coding::kPlain) {
    take<T>(field, list, coding, [](T& item) -> T& { return item; });
  }
  template <typename Row, typename T>
  void member(std::uint32_t field, std::vector<Row>& table, T Row::*which,
              Coding coding = Coding::kPlain) {
    take<T>(field, table, coding, [which](Row& row) -> T& { return row.*which; });
  }
  void bytes(std::uint32_t field, std::string& text) { text = fields_[field]; }

 private:
  template <typename T, typename List, typename Get>
  void take(std::uint32_t field, List& list, Coding coding, Get get) {
    if (fields_[field].empty()) return;
    const auto codes = unpacked_column(fields_[field], coding);
    if (!codes || (!list.empty() && list.size() != codes->size())) {
      good_ = false;
      return;
    }
    list.resize(codes->size());
    for (std::size_t i = 0; i < codes->size(); ++i) {
      T value{};
      if (coding == Coding::kDelta) {
        value = static_cast<T>((*codes)[i]);
      } else if (!value_of((*codes)[i], value)) {
        good_ = false;
      }
      get(list[i]) = value;
    }
  }

  std::array<std::string_view, Fields> fields_;
  bool good_ = true;
};

}  // namespace flopcast::trace
