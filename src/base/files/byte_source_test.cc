#include "base/files/byte_source.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/gzip.h"
#include "support/temporary_folder.h"

namespace flopcast {
namespace {

struct Unpacked {
  std::string text;
  ByteSource::End end = ByteSource::End::kClean;
  std::uint64_t trailing = 0;
};

Unpacked unpack(const std::string& file, std::size_t piece) {
  const test::TemporaryFolder folder;
  auto source = file_source(folder.write("x", file));
  Unpacked out;
  if (!source) {
    ADD_FAILURE() << source.error().text();
    return out;
  }
  std::vector<char> buffer(piece);
  while (const std::size_t n = (*source)->read(buffer.data(), piece))
    out.text.append(buffer.data(), n);
  EXPECT_EQ((*source)->read(buffer.data(), piece), 0U);  // and stays at the end
  EXPECT_EQ((*source)->packed_position(), file.size());
  out.end = (*source)->end();
  out.trailing = (*source)->trailing_bytes();
  return out;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += std::to_string(i * 7919) + ",";
  return text;
}

TEST(ByteSource, PlainAndGzipInPiecesOfAnySize) {
  const std::string text = long_text();
  for (const std::size_t piece : {1U, 7U, 4096U, 1U << 20}) {
    EXPECT_EQ(unpack(text, piece).text, text);
    const Unpacked gzip = unpack(test::packed(text), piece);
    EXPECT_EQ(gzip.text, text);
    EXPECT_EQ(gzip.end, ByteSource::End::kClean);
  }
}

TEST(ByteSource, AllMembersAndPaddingBehindThem) {
  const std::string text = long_text();
  const Unpacked two = unpack(test::packed(text) + test::packed("") + test::packed("tail"), 1000);
  EXPECT_EQ(two.text, text + "tail");
  EXPECT_EQ(two.end, ByteSource::End::kClean);
  EXPECT_EQ(unpack(test::packed("a") + std::string(200000, '\0'), 10).trailing, 0U);
  EXPECT_EQ(unpack(test::packed("a") + "xyz", 10).trailing, 3U);
  EXPECT_EQ(unpack(test::packed("a") + "\x1f", 10).trailing, 1U);
}

TEST(ByteSource, ATruncatedStreamGivesWhatItHas) {
  const std::string text = long_text(), gzip = test::packed(text);
  for (const std::size_t cut :
       {gzip.size() - 1, gzip.size() - 8, gzip.size() / 2, std::size_t{11}, std::size_t{3}}) {
    const Unpacked part = unpack(gzip.substr(0, cut), 4096);
    EXPECT_EQ(part.end, ByteSource::End::kTruncated) << cut;
    EXPECT_EQ(text.compare(0, part.text.size(), part.text), 0) << cut;
    if (cut > gzip.size() / 3) {
      EXPECT_GT(part.text.size(), text.size() / 4) << cut;
    }
  }
}

TEST(ByteSource, WrongBytesAreFound) {
  const std::string text = long_text(), gzip = test::packed(text);
  for (std::size_t place = 12; place < gzip.size(); place += gzip.size() / 50) {
    std::string wrong = gzip;
    wrong[place] = static_cast<char>(wrong[place] ^ 0x10);
    const test::TemporaryFolder folder;
    auto source = file_source(folder.write("x", wrong));
    ASSERT_TRUE(source);
    std::vector<char> buffer(4096);
    while ((*source)->read(buffer.data(), buffer.size()) > 0) {
    }
    EXPECT_NE((*source)->end(), ByteSource::End::kClean) << place;
  }
}

TEST(ByteSource, WhatCannotBeOpened) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(file_source(folder.path() / "absent"));
  EXPECT_FALSE(file_source(folder.path()));
  EXPECT_NE(file_source(folder.write("none", "")).error().text().find("empty"), std::string::npos);
  EXPECT_EQ(unpack("x", 10).text, "x");
}

}  // namespace
}  // namespace flopcast
