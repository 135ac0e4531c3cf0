#include "base/files/byte_source.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/files/input_file.h"
#include "base/files/memory_left.h"
#include "base/files/read_file.h"

namespace flopcast {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view text) : text_(text) {}
  std::size_t read(char* to, std::size_t room) override {
    const std::size_t n = std::min(room, text_.size() - position_);
    if (n > 0) std::memcpy(to, text_.data() + position_, n);
    position_ += n;
    return n;
  }
  std::uint64_t packed_position() const override { return position_; }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(InputFile in) : in_(std::move(in)) {}
  std::size_t read(char* to, std::size_t room) override {
    const ::ssize_t n = in_.read(to, room);
    if (n >= 0) return may_hand_on(static_cast<std::size_t>(n)) ? static_cast<std::size_t>(n) : 0;
    finish(End::kCorrupt, read_complaint());
    return 0;
  }
  std::uint64_t packed_position() const override { return in_.position(); }

 private:
  InputFile in_;
};

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(InputFile in) : in_(std::move(in)), packed_(kPackedBytes) {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.next_in = packed_.data();
    state_.avail_in = 0;
  }

  std::size_t read(char* to, std::size_t room) override {
    room = std::min(room, kMostAtOnce);
    state_.next_out = reinterpret_cast<std::uint8_t*>(to);
    state_.avail_out = static_cast<std::uint32_t>(room);
    while (!done_ && state_.avail_out == room) step();
    const std::size_t got = room - state_.avail_out;
    unpacked_ += got;
    if (unpacked_ > kLooksLikeABomb && unpacked_ / kMostRatio > in_.position()) {
      stop(End::kCorrupt,
           "unpacks to more than 1 GiB and 200 times its own size: nothing recorded does");
      return 0;
    }
    if (may_hand_on(got)) return got;
    done_ = true;
    return 0;
  }
  std::uint64_t packed_position() const override { return in_.position() - state_.avail_in; }

 private:
  static constexpr std::size_t kPackedBytes = std::size_t{128} << 10;
  static constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
  /// Traces are packed to a tenth or a thirtieth. What goes beyond this was made to fill a memory.
  static constexpr std::uint64_t kLooksLikeABomb = std::uint64_t{1} << 30, kMostRatio = 200;

  void stop(End end, std::string complaint) {
    done_ = true;
    finish(end, std::move(complaint));
  }

  // One call of the inflater, or one move between members, or one refill of its input.
  void step() {
    if (between_members_ && !next_member()) return;
    const std::uint32_t in_before = state_.avail_in, out_before = state_.avail_out;
    const int status = isal_inflate(&state_);
    if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT) {
      stop(End::kCorrupt, status == ISAL_INCORRECT_CHECKSUM ? "gzip checksum does not match"
                                                            : "bad compressed data in gzip");
    } else if (state_.block_state == ISAL_BLOCK_FINISH) {
      between_members_ = true;
    } else if (state_.avail_in == 0 && state_.avail_out > 0) {
      refill();
    } else if (state_.avail_in == in_before && state_.avail_out == out_before) {
      stop(End::kCorrupt, "bad compressed data in gzip");  // no progress: never loop on it
    }
  }

  void refill() {
    if (state_.avail_in > 0) std::memmove(packed_.data(), state_.next_in, state_.avail_in);
    const ::ssize_t n = in_.read(packed_.data() + state_.avail_in, kPackedBytes - state_.avail_in);
    state_.next_in = packed_.data();
    if (n > 0) {
      state_.avail_in += static_cast<std::uint32_t>(n);
    } else if (n < 0) {
      stop(End::kCorrupt, read_complaint());
    } else if (between_members_) {
      done_ = true;
    } else {
      stop(End::kTruncated, "unexpected end of gzip");
    }
  }

  // After a member: another one (magic 1f 8b), the end, or bytes that do not belong.
  bool next_member() {
    while (!done_ && state_.avail_in < 2) {
      const std::uint32_t before = state_.avail_in;
      refill();
      if (state_.avail_in == before) break;
    }
    if (state_.avail_in == 0) {
      done_ = true;
      return false;
    }
    if (state_.avail_in < 2 || state_.next_in[0] != 0x1f || state_.next_in[1] != 0x8b) {
      pass_trailing();
      return false;
    }
    const auto next = state_.next_in;
    const auto avail = state_.avail_in;
    isal_inflate_reset(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.next_in = next;
    state_.avail_in = avail;
    between_members_ = false;
    return true;
  }

  // Zero padding to a block size is common and means nothing; anything else is counted.
  void pass_trailing() {
    while (state_.avail_in > 0) {
      const auto zeros =
          std::count(state_.next_in, state_.next_in + state_.avail_in, std::uint8_t{0});
      count_trailing(state_.avail_in - static_cast<std::uint64_t>(zeros));
      state_.avail_in = 0;
      const ::ssize_t n = in_.read(packed_.data(), kPackedBytes);
      if (n <= 0) break;
      state_.next_in = packed_.data();
      state_.avail_in = static_cast<std::uint32_t>(n);
    }
    done_ = true;
  }

  InputFile in_;
  std::vector<std::uint8_t> packed_;
  inflate_state state_{};
  std::uint64_t unpacked_ = 0;
  bool between_members_ = false;
  bool done_ = false;
};

}  // namespace

bool ByteSource::may_hand_on(std::size_t bytes) {
  constexpr std::uint64_t kLookAgain = std::uint64_t{1} << 28;
  constexpr std::int64_t kLeast = std::int64_t{1} << 29;
  handed_on_ += bytes;
  if (handed_on_ - looked_at_ < kLookAgain) return true;
  looked_at_ = handed_on_;
  if (memory_left() >= kLeast) return true;
  finish(End::kCorrupt, fmt::format("there is no memory left for it, after {:.1f} GB of text",
                                    static_cast<double>(handed_on_) * 1e-9));
  return false;
}

std::string read_all(ByteSource& source, std::size_t most) {
  std::string text;
  std::size_t size = 0;
  for (std::size_t n = 1; n > 0 && size <= most; size += n) {
    if (text.size() - size < (std::size_t{64} << 10)) {
      const std::size_t enough = std::max(most, most + (std::size_t{1} << 20));
      text.resize(std::min(std::max(text.size() * 2, std::size_t{1} << 20), enough));
    }
    n = source.read(text.data() + size, text.size() - size);
  }
  text.resize(size);
  return text;
}

std::unique_ptr<ByteSource> memory_source(std::string_view text) {
  return std::make_unique<MemorySource>(text);
}

Result<std::unique_ptr<ByteSource>> file_source(const std::filesystem::path& path,
                                                std::string_view hint) {
  Result<InputFile> file = InputFile::open(path, hint);
  if (!file) return file.error();
  const ::ssize_t have = file->peek(kGzipMagic.size());
  if (have <= 0) {
    return Diagnostic{ErrorCode::kBadInput, path.string(),
                      have < 0 ? read_complaint() : "the file is empty (0 bytes)",
                      std::string(hint)};
  }
  const bool gzip = file->head().starts_with(kGzipMagic);
  if (gzip) return std::unique_ptr<ByteSource>(std::make_unique<GzipSource>(std::move(*file)));
  return std::unique_ptr<ByteSource>(std::make_unique<PlainSource>(std::move(*file)));
}

Result<std::string> read_unpacked(const std::filesystem::path& path, std::string_view hint) {
  Result<std::unique_ptr<ByteSource>> source = file_source(path, hint);
  if (!source) return source.error();
  std::string text = read_all(**source, kMostTextBytes);
  if (text.size() > kMostTextBytes) return too_much_text(path);
  if ((*source)->end() != ByteSource::End::kClean) {
    return Diagnostic{ErrorCode::kBadInput, path.string(),
                      "the file is damaged: " + (*source)->complaint(), "fetch or write it again"};
  }
  return text;
}

}  // namespace flopcast
