// Text as a gzip file.
#pragma once

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::test {

inline std::string packed(std::string_view text) {
  isal_zstream stream{};
  isal_deflate_init(&stream);
  std::string out(text.size() + 1024, '\0');
  std::vector<std::uint8_t> level_buffer(ISAL_DEF_LVL1_DEFAULT);
  stream.level = 1;
  stream.level_buf = level_buffer.data();
  stream.level_buf_size = static_cast<std::uint32_t>(level_buffer.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  std::string input(text);
  stream.next_in = reinterpret_cast<std::uint8_t*>(input.data());
  stream.avail_in = static_cast<std::uint32_t>(input.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

}  // namespace flopcast::test
