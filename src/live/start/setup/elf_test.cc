#include "live/start/setup/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/temporary_folder.h"

namespace flopcast::live {
namespace {

/// A library of four sections behind the empty one: what it asks of others, versions by symbol, symbols, texts.
class LittleLibrary {
 public:
  LittleLibrary() {
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_DYN;
    head.e_shoff = sizeof head;
    head.e_shnum = 5;
    put(head);
    for (int i = 0; i < 5; ++i) put(Elf64_Shdr{});
    need = put(Elf64_Verneed{1, 1, 0, sizeof(Elf64_Verneed), 0});
    part = put(Elf64_Vernaux{0, 0, 2, kVersionName, 0});
    const std::size_t numbers = put(std::uint16_t{0});
    put(std::uint16_t{0x8002});
    symbols = put(Elf64_Sym{});
    put(Elf64_Sym{kSymbolName, ELF64_ST_INFO(STB_WEAK, STT_FUNC), 0, SHN_UNDEF, 0, 0});
    const std::size_t texts = bytes.size();
    bytes += std::string("\0cudaMalloc\0libcudart.so.13\0", 28);
    section(1, SHT_GNU_verneed, need, part + sizeof(Elf64_Vernaux) - need, 4).sh_info = 1;
    section(2, SHT_GNU_versym, numbers, 4, 3);
    section(3, SHT_DYNSYM, symbols, 2 * sizeof(Elf64_Sym), 4);
    section(4, SHT_STRTAB, texts, 28, 0);
  }
  template <typename T>
  std::size_t put(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return bytes.size() - sizeof value;
  }
  template <typename T>
  T& at(std::size_t offset) {
    return *reinterpret_cast<T*>(bytes.data() + offset);
  }
  Elf64_Shdr& section(std::size_t index) {
    return at<Elf64_Shdr>(sizeof(Elf64_Ehdr) + index * sizeof(Elf64_Shdr));
  }
  Elf64_Shdr& section(std::size_t index, std::uint32_t type, std::size_t offset, std::size_t size,
                      std::uint32_t link) {
    Elf64_Shdr& own = section(index);
    own.sh_type = type;
    own.sh_offset = offset;
    own.sh_size = size;
    own.sh_link = link;
    return own;
  }
  Result<std::vector<DynamicSymbol>> read() const { return dynamic_symbols(bytes, "little.so"); }

  static constexpr std::uint32_t kSymbolName = 1, kVersionName = 12;
  std::string bytes;
  std::size_t need = 0, part = 0, symbols = 0;
};

TEST(LiveElf, ASymbolHasItsNameAndItsVersion) {
  const auto symbols = LittleLibrary().read();
  ASSERT_TRUE(symbols) << symbols.error().text();
  ASSERT_EQ(symbols->size(), 1u);
  EXPECT_EQ(symbols->front().name, "cudaMalloc");
  EXPECT_EQ(symbols->front().version, "libcudart.so.13");
  EXPECT_TRUE(symbols->front().weak);
  EXPECT_FALSE(symbols->front().defined);
}

TEST(LiveElf, ListsOfVersionsEndWhereTheySay) {
  // Four thousand million entries by the section's head, none by the list: read in no time.
  LittleLibrary library;
  library.section(1).sh_info = ~std::uint32_t{0};
  library.at<Elf64_Verneed>(library.need).vn_cnt = 0xffff;
  const auto symbols = library.read();
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->front().version, "libcudart.so.13");
}

TEST(LiveElf, ListsOfVersionsThatGoInCirclesEnd) {
  LittleLibrary library;
  library.at<Elf64_Verneed>(library.need).vn_next = 1;
  library.at<Elf64_Vernaux>(library.part).vna_next = 1;
  library.bytes.append(std::size_t{1} << 22, '\1');  // each byte of it an entry that goes on
  EXPECT_TRUE(library.read());
}

TEST(LiveElf, TablesBeyondTheFileAreErrors) {
  LittleLibrary library;
  library.section(3).sh_size = ~std::uint64_t{0};
  const auto symbols = library.read();
  ASSERT_FALSE(symbols);
  EXPECT_NE(symbols.error().text().find("little.so: ends inside its symbols"), std::string::npos);
  library.section(3).sh_offset = ~std::uint64_t{0} - 8;
  EXPECT_FALSE(library.read());
}

TEST(LiveElf, TextsThatAreNotThereAreEmpty) {
  for (const std::uint32_t link : {5u, 0xffffffffu}) {
    LittleLibrary library;
    library.section(3).sh_link = link;
    const auto symbols = library.read();
    ASSERT_TRUE(symbols);
    EXPECT_EQ(symbols->front().name, "");
  }
  LittleLibrary beyond;
  beyond.section(4).sh_size = 5;  // ends inside the name
  const auto symbols = beyond.read();
  ASSERT_TRUE(symbols);
  EXPECT_EQ(symbols->front().name, "");
}

TEST(LiveElf, ManySymbolsOfOneLongNameAreRefused) {
  LittleLibrary library;
  constexpr std::size_t kSymbols = 20'000, kLength = 200'000;
  const std::size_t texts = library.bytes.size();
  library.bytes.append(kLength, 'x').push_back('\0');
  const std::size_t symbols = library.bytes.size();
  for (std::size_t i = 0; i < kSymbols; ++i) library.put(Elf64_Sym{});
  library.section(4, SHT_STRTAB, texts, kLength + 1, 0);
  library.section(3, SHT_DYNSYM, symbols, kSymbols * sizeof(Elf64_Sym), 4);
  const auto read = library.read();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("longer than itself"), std::string::npos);
}

TEST(LiveElf, ReadsTheSymbolsOfARealOne) {
#ifdef FLOPCAST_LIVE_CORE
  const auto symbols = dynamic_symbols(FLOPCAST_LIVE_CORE);
  ASSERT_TRUE(symbols) << symbols.error().text();
  const auto of = [&](std::string_view name) {
    return std::find_if(symbols->begin(), symbols->end(),
                        [&](const auto& symbol) { return symbol.name == name; });
  };
  ASSERT_NE(of("cudaMalloc"), symbols->end());
  EXPECT_EQ(of("cudaMalloc")->version, "libcudart.so.13");
  EXPECT_TRUE(of("cudaMalloc")->defined);
  EXPECT_EQ(of("ncclAllReduce")->version, "");
  ASSERT_NE(of("mmap"), symbols->end());
  EXPECT_FALSE(of("mmap")->defined);
#else
  GTEST_SKIP() << "the stand-ins are not built here";
#endif
}

TEST(LiveElf, DamagedLibrariesAreErrors) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(dynamic_symbols(folder.write("empty.so", "")));
  EXPECT_FALSE(dynamic_symbols(folder.write("text.so", std::string(5000, 'x'))));
  EXPECT_FALSE(dynamic_symbols(folder / "absent.so"));
  const std::string whole = LittleLibrary().bytes;
  // Cut anywhere, it is refused or read as far as it goes, and never read beyond.
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto symbols = dynamic_symbols(cut, "cut.so");
    EXPECT_TRUE(!symbols || size > LittleLibrary().symbols) << size;
  }
}

}  // namespace
}  // namespace flopcast::live
