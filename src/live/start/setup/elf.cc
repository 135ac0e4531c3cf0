#include "live/start/setup/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

constexpr std::uint16_t kHidden = 0x8000;  // bit of a version's number
/// Numbers of versions have 15 bits: who has more entries than that goes in circles.
constexpr std::size_t kMostVersions = 0x8000;
/// Names may share their ends, but all of them together are not many times the library.
constexpr std::size_t kNamesOfSize = 16;

Diagnostic no_library(const std::filesystem::path& path, std::string_view what) {
  return {ErrorCode::kBadInput, path.string(), std::string(what),
          "expected a shared library for 64-bit Linux: install PyTorch again"};
}

/// A file as memory.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct ::stat facts {};
    if (!file || ::fstat(file.get(), &facts) != 0 || facts.st_size <= 0) return;
    const auto size = static_cast<std::size_t>(facts.st_size);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), size};
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::span<const char> bytes() const { return bytes_; }

 private:
  std::span<const char> bytes_;
};

/// Every look into it is checked.
class ElfBytes {
 public:
  explicit ElfBytes(std::span<const char> bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> at(std::size_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  /// A text of a section of texts; empty where it has none.
  std::string_view text(const Elf64_Shdr* texts, std::size_t offset) const {
    if (!texts || texts->sh_offset > bytes_.size()) return {};
    const std::string_view all(bytes_.data(), bytes_.size());
    const std::string_view own = all.substr(texts->sh_offset, texts->sh_size);
    if (offset >= own.size()) return {};
    const std::size_t end = own.find('\0', offset);
    return end == own.npos ? std::string_view() : own.substr(offset, end - offset);
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::span<const char> bytes_;
};

/// Sections that speak of symbols.
struct Sections {
  std::map<std::uint32_t, Elf64_Shdr> by_type;
  std::vector<Elf64_Shdr> all;

  const Elf64_Shdr* of(std::uint32_t type) const {
    const auto found = by_type.find(type);
    return found == by_type.end() ? nullptr : &found->second;
  }
  /// The section that has the texts of a section; null for one that is not there.
  const Elf64_Shdr* texts_of(const Elf64_Shdr& section) const {
    return section.sh_link < all.size() ? &all[section.sh_link] : nullptr;
  }
};

std::optional<Sections> sections_of(const ElfBytes& file) {
  const auto head = file.at<Elf64_Ehdr>(0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB ||
      head->e_type != ET_DYN)
    return std::nullopt;
  Sections sections;
  for (std::size_t i = 0; i < head->e_shnum; ++i) {
    const auto section = file.at<Elf64_Shdr>(head->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    sections.all.push_back(*section);
    sections.by_type.emplace(section->sh_type, *section);
  }
  return sections;
}

/// Names of versions by number. They are lists: an entry says where the next one is, the last says 0.
class Versions {
 public:
  Versions(const ElfBytes& file, const Sections& sections) : file_(file), sections_(sections) {
    if (const Elf64_Shdr* wanted = sections.of(SHT_GNU_verneed)) read_wanted(*wanted);
    if (const Elf64_Shdr* own = sections.of(SHT_GNU_verdef)) read_own(*own);
  }
  /// Empty: none.
  std::string_view name(std::uint16_t number) const {
    const auto found = names_.find(number & static_cast<std::uint16_t>(~kHidden));
    return found == names_.end() ? std::string_view() : found->second;
  }

 private:
  void read_wanted(const Elf64_Shdr& section) {
    const Elf64_Shdr* texts = sections_.texts_of(section);
    for (std::size_t at = section.sh_offset, next = 1; next != 0 && take_step(); at += next) {
      const auto need = file_.at<Elf64_Verneed>(at);
      if (!need) return;
      if (need->vn_cnt > 0) read_parts(texts, at + need->vn_aux);
      next = need->vn_next;
    }
  }
  /// Of one library.
  void read_parts(const Elf64_Shdr* texts, std::size_t at) {
    for (std::size_t next = 1; next != 0 && take_step(); at += next) {
      const auto version = file_.at<Elf64_Vernaux>(at);
      if (!version) return;
      names_[version->vna_other & ~kHidden] = file_.text(texts, version->vna_name);
      next = version->vna_next;
    }
  }
  void read_own(const Elf64_Shdr& section) {
    const Elf64_Shdr* texts = sections_.texts_of(section);
    for (std::size_t at = section.sh_offset, next = 1; next != 0 && take_step(); at += next) {
      const auto own = file_.at<Elf64_Verdef>(at);
      const auto name = own ? file_.at<Elf64_Verdaux>(at + own->vd_aux) : std::nullopt;
      if (!name) return;
      if ((own->vd_flags & VER_FLG_BASE) == 0)
        names_[own->vd_ndx & ~kHidden] = file_.text(texts, name->vda_name);
      next = own->vd_next;
    }
  }
  bool take_step() { return ++steps_ <= kMostVersions; }

  const ElfBytes& file_;
  const Sections& sections_;
  std::size_t steps_ = 0;
  std::map<std::uint16_t, std::string_view> names_;
};

}  // namespace

Result<std::vector<DynamicSymbol>> dynamic_symbols(std::span<const char> bytes,
                                                   const std::filesystem::path& library) {
  const ElfBytes file(bytes);
  const std::optional<Sections> sections = sections_of(file);
  const Elf64_Shdr* table = sections ? sections->of(SHT_DYNSYM) : nullptr;
  if (!table) return no_library(library, "is no shared library");
  const Versions versions(file, *sections);
  const Elf64_Shdr* numbers = sections->of(SHT_GNU_versym);
  const Elf64_Shdr* texts = sections->texts_of(*table);
  std::vector<DynamicSymbol> symbols;
  std::size_t names = 0;
  for (std::size_t i = 1; i < table->sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = file.at<Elf64_Sym>(table->sh_offset + i * sizeof(Elf64_Sym));
    if (!symbol) return no_library(library, "ends inside its symbols");
    const auto number = numbers ? file.at<std::uint16_t>(numbers->sh_offset + 2 * i)
                                : std::optional<std::uint16_t>();
    const std::string_view name = file.text(texts, symbol->st_name);
    const std::string_view version = versions.name(number.value_or(0));
    names += name.size() + version.size();
    if (names / kNamesOfSize > file.size())
      return no_library(library, "has names that are longer than itself");
    symbols.push_back({std::string(name), std::string(version), symbol->st_shndx != SHN_UNDEF,
                       ELF64_ST_BIND(symbol->st_info) == STB_WEAK});
  }
  return symbols;
}

Result<std::vector<DynamicSymbol>> dynamic_symbols(const std::filesystem::path& library) {
  const MappedFile file(library);
  if (file.bytes().empty()) return no_library(library, "cannot be read");
  return dynamic_symbols(file.bytes(), library);
}

}  // namespace flopcast::live
