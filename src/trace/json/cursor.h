// Moves over JSON text inside a window, token by token, without building anything.
//
// Why not a general parser: rows must be read from a sliding window of a file of any size, in a
// single pass whose result depends on the bytes alone and never on where the window happens to end;
// values that are not JSON (NaN, a word, a control character inside a name) may cost one row and
// never the file; and the byte where a file is damaged must be exact. Text is looked at 16 bytes a
// step (SSE2, or plain C++ elsewhere). Past the end of the window lie kPadding zero bytes, so that
// a step needs no bounds check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace flopcast::trace {

#define FLOPCAST_INLINE inline __attribute__((always_inline))
inline constexpr std::size_t kPadding = 64;
inline constexpr int kMaxDepth = 1024;

enum class Scan : std::uint8_t {
  kOk,
  kMore,  ///< the window ends inside the value: move the window and start again
  kBad,   ///< not JSON: see Cursor::complaint()
};

/// A value as it stands in the text. Valid until the window moves.
struct JsonSlice {
  enum class Kind : std::uint16_t { kNone, kString, kScalar, kNested };
  const char* data = nullptr;  ///< strings: without the quotes
  std::uint32_t size = 0;
  Kind kind = Kind::kNone;
  /// Not 0: a string holding a backslash. As wide as it is so that no byte of a slice is padding,
  /// around which copies would have to step.
  std::uint16_t escaped = 0;

  std::string_view text() const { return {data, size}; }
  bool is_string() const { return kind == Kind::kString; }
};
static_assert(sizeof(JsonSlice) == 16 || sizeof(void*) != 8);

/// 16 bytes compared at once; bit i of a mask stands for byte i.
class Block {
 public:
#ifdef __SSE2__
  FLOPCAST_INLINE explicit Block(const char* p)
      : bytes_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))) {}
  /// Ends of a plain stretch of a string: quote, backslash, zero.
  FLOPCAST_INLINE unsigned string_stops() const {
    const __m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8('"')),
                                                   _mm_cmpeq_epi8(bytes_, _mm_set1_epi8('\\'))),
                                      _mm_cmpeq_epi8(bytes_, _mm_setzero_si128()));
    return mask(hits);
  }
  /// Quotes, brackets and zero. '[' and '{', ']' and '}' differ in bit 5 only.
  FLOPCAST_INLINE unsigned bracket_stops() const {
    const __m128i folded = _mm_or_si128(bytes_, _mm_set1_epi8(0x20));
    const __m128i brackets = _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                          _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
    const __m128i rest = _mm_or_si128(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8('"')),
                                      _mm_cmpeq_epi8(bytes_, _mm_setzero_si128()));
    return mask(_mm_or_si128(brackets, rest));
  }
  /// Everything but blank, tab, newline and carriage return.
  FLOPCAST_INLINE unsigned not_space() const {
    const __m128i spaces = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(' ')),
                                                     _mm_cmpeq_epi8(bytes_, _mm_set1_epi8('\n'))),
                                        _mm_or_si128(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8('\r')),
                                                     _mm_cmpeq_epi8(bytes_, _mm_set1_epi8('\t'))));
    return ~mask(spaces) & 0xffffU;
  }
  /// Everything but digits, '.' and '-' ('/' stands among them).
  FLOPCAST_INLINE unsigned not_plain_number() const {
    const __m128i above = _mm_sub_epi8(bytes_, _mm_set1_epi8('-'));
    const __m128i inside = _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8('9' - '-')), above);
    return ~mask(inside) & 0xffffU;
  }
  /// Bytes that are not those of the other.
  FLOPCAST_INLINE unsigned differences(const Block& other) const {
    return ~mask(_mm_cmpeq_epi8(bytes_, other.bytes_)) & 0xffffU;
  }

 private:
  FLOPCAST_INLINE static unsigned mask(__m128i hits) {
    return static_cast<unsigned>(_mm_movemask_epi8(hits));
  }
  __m128i bytes_;
#else
  FLOPCAST_INLINE explicit Block(const char* p) { std::memcpy(bytes_, p, sizeof bytes_); }
  FLOPCAST_INLINE unsigned string_stops() const {
    return match([](char c) { return c == '"' || c == '\\' || c == 0; });
  }
  FLOPCAST_INLINE unsigned bracket_stops() const {
    return match(
        [](char c) { return (c | 0x20) == '{' || (c | 0x20) == '}' || c == '"' || c == 0; });
  }
  FLOPCAST_INLINE unsigned not_space() const {
    return match([](char c) { return c != ' ' && c != '\n' && c != '\r' && c != '\t'; });
  }
  FLOPCAST_INLINE unsigned not_plain_number() const {
    return match([](char c) { return c < '-' || c > '9'; });
  }
  FLOPCAST_INLINE unsigned differences(const Block& other) const {
    unsigned hits = 0;
    for (unsigned i = 0; i < sizeof bytes_; ++i)
      hits |= static_cast<unsigned>(bytes_[i] != other.bytes_[i]) << i;
    return hits;
  }

 private:
  template <typename Test>
  unsigned match(Test test) const {
    unsigned hits = 0;
    for (unsigned i = 0; i < sizeof bytes_; ++i)
      hits |= static_cast<unsigned>(test(bytes_[i])) << i;
    return hits;
  }
  char bytes_[16];
#endif
};

/// Whether so many bytes are equal. Whole blocks are read at both places.
FLOPCAST_INLINE bool equal_blocks(const char* a, const char* b, std::size_t size) {
  for (; size > 16; a += 16, b += 16, size -= 16) {
    if (Block(a).differences(Block(b)) != 0) return false;
  }
  return (Block(a).differences(Block(b)) << (16 - size) & 0xffffU) == 0;
}

class Cursor {
 public:
  /// [p, end) is text; kPadding zero bytes must follow `end`.
  Cursor(const char* p, const char* end) : p_(p), end_(end) {}

  const char* at() const { return p_; }
  const char* end() const { return end_; }
  Scan status() const { return status_; }
  const char* complaint() const { return complaint_; }
  /// Whether it could not go on for the depth of what it read, of which nothing behind can be told.
  bool too_deep() const { return complaint_ == kTooDeep; }
  /// Goes on behind what was no JSON, from where it stands.
  void recover() {
    status_ = Scan::kOk;
    complaint_ = "";
  }
  /// Where the text must go on: false, and kMore at the end of the window.
  bool ends() { return p_ < end_ ? false : (more(), true); }

  /// The functions below return false where they cannot go on; status() then says why.
  FLOPCAST_INLINE bool skip_space() {
    if (is_dark(p_[0])) return inside();
    if (p_[0] == ' ' && is_dark(p_[1])) return ++p_, inside();  // ": " and ", ", most of all
    for (; p_ < end_; p_ += 16) {
      if (const unsigned hits = Block(p_).not_space()) {
        p_ += __builtin_ctz(hits);
        return inside();
      }
    }
    p_ = end_;
    return more();
  }
  /// Passes bytes, which the caller has looked at.
  void pass(std::size_t size = 1) { p_ += size; }
  bool fail(const char* complaint) { return p_ < end_ ? bad(complaint) : more(); }
  FLOPCAST_INLINE bool expect(char wanted, const char* otherwise) {
    if (*p_ != wanted) return fail(otherwise);
    ++p_;
    return true;
  }
  /// Whether these bytes stand here, none of them zero. Whole blocks of them are read.
  FLOPCAST_INLINE bool starts_with(const char* text, std::size_t size) const {
    return equal_blocks(text, p_, size);
  }
  /// At a quote: past the string.
  FLOPCAST_INLINE bool read_string(JsonSlice& out) {
    ++p_;
    if (read_rest_of_string(out)) return true;
    --p_;
    return false;
  }
  /// Behind the opening quote: past the string.
  FLOPCAST_INLINE bool read_rest_of_string(JsonSlice& out) {
    const char* q = p_;
    std::uint16_t escaped = 0;
    for (;;) {
      const unsigned hits = Block(q).string_stops();
      if (hits == 0) {
        q += 16;
        continue;
      }
      q += __builtin_ctz(hits);
      if (q >= end_) return more();
      if (*q == '"') break;
      if (*q == '\\') {
        escaped = 1;
        ++q;
      }
      ++q;  // what follows a backslash, or a zero byte within the string
      if (q > end_) return more();
    }
    out = {p_, static_cast<std::uint32_t>(q - p_), JsonSlice::Kind::kString, escaped};
    p_ = q + 1;
    return true;
  }
  /// At the first byte of any value: past it.
  FLOPCAST_INLINE bool read_value(JsonSlice& out) {
    if (*p_ == '"') return read_string(out);
    if (*p_ == '{' || *p_ == '[') return read_nested(out);
    return read_scalar(out);
  }
  /// Behind the opening bracket of an object or array: past the closing one.
  bool read_rest_of_nested(JsonSlice& out) {
    const char* begin = p_ - 1;
    if (!skip_rest()) return false;
    out = {begin, static_cast<std::uint32_t>(p_ - begin), JsonSlice::Kind::kNested, 0};
    return true;
  }
  /// Any run of other characters: numbers, true, and also NaN or words, which the reader of the
  /// value judges. The end of the window is no end of a number.
  FLOPCAST_INLINE bool read_scalar(JsonSlice& out) {
    const char* q = p_;
    unsigned others = Block(q).not_plain_number();
    for (; others == 0; others = Block(q).not_plain_number()) q += 16;
    q += __builtin_ctz(others);
    while (!ends_scalar(*q)) ++q;
    if (q >= end_) return more();
    if (q == p_) return bad("expected a value");
    out = {p_, static_cast<std::uint32_t>(q - p_), JsonSlice::Kind::kScalar, 0};
    p_ = q;
    return true;
  }
  /// Inside an object or array: past its closing bracket.
  bool skip_rest(int depth = 1) {
    for (const char* block = p_;;) {
      unsigned hits = Block(block).bracket_stops();
      const char* next = block + 16;
      for (; hits != 0; hits &= hits - 1) {
        const char* q = block + __builtin_ctz(hits);
        if (q >= end_) return more();
        if (*q == '"') {
          JsonSlice ignored;
          p_ = q;
          if (!read_string(ignored)) return false;
          next = p_;
          break;
        }
        if (*q == '{' || *q == '[') {
          if (++depth > kMaxDepth) return p_ = q, bad(kTooDeep);
        } else if (*q != 0 && --depth == 0) {
          p_ = q + 1;
          return true;
        }
      }
      block = next;
    }
  }

 private:
  static constexpr const char* kTooDeep = "nested deeper than 1024 levels";
  static bool is_dark(char c) { return static_cast<unsigned char>(c) > ' '; }
  bool more() { return status_ = Scan::kMore, false; }
  bool bad(const char* complaint) {
    status_ = Scan::kBad;
    complaint_ = complaint;
    return false;
  }
  bool inside() { return p_ < end_ || more(); }

  bool read_nested(JsonSlice& out) {
    ++p_;
    return read_rest_of_nested(out);
  }
  static constexpr std::array<bool, 256> kEndsScalar = [] {
    std::array<bool, 256> ends{};
    for (unsigned c = 0; c <= ' '; ++c) ends[c] = true;
    for (const unsigned char c : {',', '}', ']', '"', ':', '{', '['}) ends[c] = true;
    return ends;
  }();
  FLOPCAST_INLINE static bool ends_scalar(char c) {
    return kEndsScalar[static_cast<unsigned char>(c)];
  }
  const char* p_;
  const char* end_;
  Scan status_ = Scan::kOk;
  const char* complaint_ = "";
};

}  // namespace flopcast::trace
