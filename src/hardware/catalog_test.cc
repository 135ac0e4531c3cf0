#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text/csv_table.h"
#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "flopcast/hardware.h"
#include "hardware/entry/catalog_entry.h"
#include "hardware/entry/set_entry.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"

namespace flopcast::hardware {
namespace {

const Catalog& catalog() { return Catalog::builtin(); }

TEST(Catalog, LoadsAsItIsBuiltIn) {
  const auto loaded = Catalog::load();
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_GE(loaded->chips().size(), 40U);
  EXPECT_GE(loaded->links().size(), 20U);
}

TEST(Catalog, EveryNumberHasASourceAndAUnit) {
  const auto check = [](const std::string& entry, const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) {
      EXPECT_FALSE(fact.source.empty()) << entry << " " << fact.key;
      EXPECT_TRUE(std::isfinite(fact.value)) << entry << " " << fact.key;
    }
  };
  for (const Chip& chip : catalog().chips()) {
    check(chip.name, chip.facts);
    std::size_t rates = 0;
    for (std::size_t i = 0; i < kDataTypes; ++i) rates += chip.matrix[i].value > 0;
    EXPECT_GT(rates, 0U) << chip.name;
    EXPECT_GT(chip.hbm_bandwidth.value + chip.on_chip_memory.value, 0) << chip.name;
  }
  for (const Link& link : catalog().links()) {
    check(link.name, link.facts);
    EXPECT_GT(link.bandwidth.value, 0) << link.name;
  }
  for (const std::string& name : catalog().node_names()) {
    const auto node = catalog().cluster(name);
    ASSERT_TRUE(node) << name << ": " << node.error().text();
    check(name, node->facts);
  }
  for (const std::string& name : catalog().cluster_names()) {
    const auto cluster = catalog().cluster(name);
    ASSERT_TRUE(cluster) << name << ": " << cluster.error().text();
    check(name, cluster->facts);
  }
}

TEST(Catalog, NoTwoEntriesHaveOneName) {
  std::map<std::string, std::string> chips, links;
  const auto add = [](auto& known, const auto& entry) {
    std::vector<std::string> names = entry.aliases;
    names.push_back(entry.name);
    std::set<std::string> keys;  // an alias may spell its own name otherwise
    for (const std::string& name : names) keys.insert(name_key(name));
    for (const std::string& key : keys) {
      EXPECT_TRUE(known.emplace(key, entry.name).second) << key << " of " << entry.name;
    }
  };
  for (const Chip& chip : catalog().chips()) add(chips, chip);
  for (const Link& link : catalog().links()) add(links, link);
}

TEST(Catalog, FindsChipsByTheNamesOfMeasuredTables) {
  const std::map<std::string, std::string> expected = {
      {"h100_sxm", "h100-sxm"},
      {"h100-sxm", "h100-sxm"},
      {"H100", "h100-sxm"},
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"H100-SXM5-80GB", "h100-sxm"},
      {"a100-40g", "a100-sxm-40g"},
      {"a100", "a100-sxm-80g"},
      {"a100_sxm", "a100-sxm-80g"},
      {"A100-SXM4-80GB", "a100-sxm-80g"},
      {"h200_sxm", "h200-sxm"},
      {"b200_sxm", "b200-sxm"},
      {"b300_sxm", "b300-sxm"},
      {"gb200", "gb200"},
      {"gb300", "gb300"},
      {"GB300-NVL72", "gb300"},
      {"l40s", "l40s"},
      {"rtx_pro_6000_server", "rtx-pro-6000-server"},
      {"RTX4090", "rtx-4090"},
      {"NVIDIA GeForce RTX 3090", "rtx-3090"},
      {"RTXPRO6000", "rtx-pro-6000-server"},
      {"a40", "a40"},
      {"b60", "b60"},
      {"V100-SXM3-32GB", "v100-sxm2-32g"},
      {"MI210", "mi210"},
      {"WSE-2", "wse-2"},
  };
  for (const auto& [name, chip] : expected) {
    const auto found = catalog().chip(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->name, chip) << name;
  }
}

// The tiles that DFModel describes give the peak it states, in single precision.
TEST(Catalog, TilesOfPublishedChipsGiveTheirPeak) {
  std::size_t tiled = 0;
  for (const Chip& chip : catalog().chips()) {
    if (chip.tiles.count == 0) continue;
    const FlopsPerSecond peak = chip.matrix_rate(
        chip.matrix_rate(DataType::kBf16).value > 0 ? DataType::kBf16 : DataType::kFp16);
    EXPECT_NEAR(chip.tiles.peak() / peak, 1, 2e-3) << chip.name;
    ++tiled;
  }
  EXPECT_GE(tiled, 14U);
  const Chip chip = *catalog().chip("sn10-dfmodel");
  EXPECT_EQ(chip.tiles.count, 640U);
  EXPECT_EQ(chip.tiles.width, 32U);
  EXPECT_EQ(chip.tiles.height, 6U);
  EXPECT_EQ(chip.tiles.peak().value, 307.2e12);
}

TEST(Catalog, MemoryAndInterconnectTechnologies) {
  const auto hbm = catalog().memory("HBM");
  ASSERT_TRUE(hbm) << hbm.error().text();
  EXPECT_EQ(hbm->bandwidth.value, 3072e9);
  EXPECT_EQ(hbm->capacity.value, 103079215104);
  EXPECT_EQ(hbm->w_per_gbps, 0.05624);
  EXPECT_EQ(catalog().memory("3d")->capacity.value, 0);
  const auto nvlink = catalog().interconnect("nvlink");
  ASSERT_TRUE(nvlink) << nvlink.error().text();
  EXPECT_EQ(nvlink->bandwidth.value, 450e9);
  EXPECT_EQ(catalog().interconnect("switch")->usd_per_gbps, 24);
  EXPECT_EQ(catalog().memories().size(), 3U);
  EXPECT_EQ(catalog().interconnects().size(), 3U);
  for (const MemoryTechnology& memory : catalog().memories()) {
    for (const Fact& fact : memory.facts) EXPECT_FALSE(fact.source.empty()) << fact.key;
  }
  EXPECT_EQ(catalog().memory("hbn").error().what, "no memory technology is called 'hbn'");
  EXPECT_NE(catalog().memory("hbn").error().hint.find("'hbm'"), std::string::npos);
  EXPECT_NE(catalog().interconnect("?").error().hint.find("hw list interconnects"),
            std::string::npos);
}

TEST(Catalog, UnknownNamesListTheNearest) {
  const auto chip = catalog().chip("h10O");
  ASSERT_FALSE(chip);
  EXPECT_EQ(chip.error().what, "no chip is called 'h10O'");
  EXPECT_NE(chip.error().hint.find("'h100'"), std::string::npos) << chip.error().hint;
  EXPECT_FALSE(catalog().link("nvlonk4"));
  EXPECT_NE(catalog().link("nvlonk4").error().hint.find("'nvlink4'"), std::string::npos);
}

TEST(Catalog, ANumberWithoutSourceIsAMistakeOfTheBuiltInFiles) {
  const auto file = parse_toml("[chip.x]\ncores = 4\n", "chips.toml", true);
  ASSERT_TRUE(file);
  const auto tables = tables_of(*file, "chip");
  ASSERT_TRUE(tables);
  const auto settings = settings_of(*file, *tables->front().table);
  ASSERT_TRUE(settings);
  Chip chip;
  ASSERT_FALSE(set_chip(chip, settings->front()));
  const auto failure = check_sources(*file, tables->front(), chip.facts);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->what, "x: cores has no source");
  EXPECT_EQ(failure->where, "chips.toml:1:1");
}

TEST(Catalog, AUsersFileAddsAndReplaces) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "mine.toml",
                   "[chip.h100-sxm]\nlike = \"h100-sxm\"\nhbm_bandwidth = \"3TB/s\"\n"
                   "[chip.h100-fast]\nlike = \"h100-sxm\"\nmatrix.bf16 = \"1.2PFLOPS\"\n"
                   "[node.duo]\nchip = \"h100-fast\"\n"
                   "level = [{ fabric = \"switch\", size = 2, link = \"18 x nvlink4\" }]\n"
                   "nic = { fabric = \"rail\", ports = 2, bandwidth = \"400Gb/s\" }\n"
                   "[memory.ddr]\nbandwidth = \"400GB/s\"\n"
                   "[interconnect.photonic]\nbandwidth = \"1TB/s\"\nusd_per_gbps = 5\n"
                   "[cluster.ours]\nis = \"4 x duo, latency 3us\"\n");
  const auto loaded = Catalog::load({folder.path()});
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded->chip("h100-sxm")->hbm_bandwidth.value, 3e12);
  EXPECT_EQ(loaded->chip("h100-fast")->matrix_rate(DataType::kBf16).value, 1.2e15);
  EXPECT_EQ(loaded->chip("h100-fast")->matrix_rate(DataType::kFp8).value, 1978.9e12);
  EXPECT_EQ(loaded->memory("ddr")->bandwidth.value, 400e9);
  EXPECT_EQ(loaded->interconnect("photonic")->usd_per_gbps, 5);
  EXPECT_EQ(loaded->memories().size(), 3U);
  const auto cluster = loaded->cluster("ours");
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->chips(), 8U);
  EXPECT_EQ(cluster->chip.name, "h100-fast");
  EXPECT_DOUBLE_EQ(cluster->levels[1].latency.value, 3e-6);
}

std::string export_chip(const std::string& matrix) {
  return "[chip.h100-export]\nlike = \"h100-sxm\"\nmatrix = { " + matrix + " }\n";
}

// An H100 with 148 TFLOP/s in bf16 has no 989 in fp16 "published".
TEST(Catalog, AChipThatIsSlowerInOneTypeStatesTheOthers) {
  const test::TemporaryFolder folder;
  const auto load = [&](const std::string& text) {
    test::write_text(folder / "mine.toml", text);
    return Catalog::load({folder.path()});
  };
  const auto silent = load(export_chip("bf16 = \"148TFLOP/s\", fp8 = \"296TFLOP/s\""));
  ASSERT_FALSE(silent);
  EXPECT_NE(silent.error().where.find("mine.toml:1"), std::string::npos) << silent.error().where;
  EXPECT_NE(silent.error().what.find("matrix.bf16 is lower"), std::string::npos)
      << silent.error().what;
  EXPECT_NE(silent.error().what.find("matrix.fp64, matrix.tf32, matrix.fp16, matrix.int8"),
            std::string::npos)
      << silent.error().what;
  const std::string all =
      "fp64 = 1e12, tf32 = 74e12, bf16 = 148e12, fp16 = 148e12, fp8 = 296e12, int8 = 0";
  const auto told = load(export_chip(all));
  EXPECT_TRUE(told) << told.error().text();
  EXPECT_TRUE(load(export_chip("bf16 = 2e15")));  // faster: the rest may be as it was
}

TEST(Catalog, NumbersTakenOverFromAnotherChipSaySo) {
  const test::TemporaryFolder folder;
  test::write_text(
      folder / "mine.toml",
      "[chip.mine]\nlike = \"h100-sxm\"\n"
      "hbm_bandwidth = { value = \"3TB/s\", source = \"ours\", basis = \"measured\" }\n");
  const auto loaded = Catalog::load({folder.path()});
  ASSERT_TRUE(loaded) << loaded.error().text();
  const Chip mine = *loaded->chip("mine"), parent = *loaded->chip("h100-sxm");
  const auto fact = [](const Chip& chip, std::string_view key) {
    return *std::ranges::find(chip.facts, key, &Fact::key);
  };
  EXPECT_EQ(fact(mine, "matrix.bf16").basis, Basis::kAssumed);
  EXPECT_EQ(fact(mine, "matrix.bf16").source,
            "taken over from h100-sxm (" + fact(parent, "matrix.bf16").source + ")");
  EXPECT_EQ(fact(mine, "hbm_bandwidth").source, "ours");
  EXPECT_EQ(fact(mine, "hbm_bandwidth").basis, Basis::kMeasured);
  // The catalogue vouches for its own relatives.
  EXPECT_NE(fact(*loaded->chip("h200-sxm"), "matrix.bf16").basis, Basis::kAssumed);
}

struct Broken {
  std::string text, what;
};
class BrokenCatalog : public testing::TestWithParam<Broken> {};

TEST_P(BrokenCatalog, IsRefusedWithItsLine) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "bad.toml", "\n" + GetParam().text);
  const auto loaded = Catalog::load({folder / "bad.toml"});
  ASSERT_FALSE(loaded) << GetParam().text;
  EXPECT_NE(loaded.error().what.find(GetParam().what), std::string::npos) << loaded.error().text();
  EXPECT_NE(loaded.error().where.find("bad.toml:"), std::string::npos) << loaded.error().where;
  EXPECT_FALSE(loaded.error().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenCatalog,
    testing::Values(
        Broken{"[chip.x]\nhbm_bandwith = 3e12\n", "a chip has no 'hbm_bandwith'"},
        Broken{"[chip.x]\nhbm_bandwidth = \"3us\"\n", "expected a bandwidth, found a time"},
        Broken{"[chip.x]\nhbm_bandwidth = -3e12\n", "negative"},
        Broken{"[chip.x]\ncores = 1.5\n", "expected a whole number"},
        Broken{"[chip.x]\nmatrix.bf17 = 1e12\n", "no data type is called 'bf17'"},
        Broken{"[chip.x]\nlike = \"h1000\"\n", "no chip is called"},
        Broken{"[chip.x]\npower_w = { value = 3, basis = \"guess\" }\n", "no basis is called"},
        Broken{"[chip.x]\npower_w = { value = 3, sauce = \"x\" }\n", "unexpected 'sauce'"},
        Broken{"chip = 3\n", "expected a table"},
        Broken{"[link.x]\nkind = \"fast\"\n", "no kind of link"},
        Broken{"[link.x]\nefficiency = 0\n", "at least 0.001"},
        Broken{"[link.x]\nbandwidth = {}\n", "bandwidth: is empty"},
        Broken{"[link.x]\nbandwidth = [1e9]\n", "expected one value, found a list"},
        Broken{"[link.x]\nbandwidth = 400\n", "at least 1 MB/s"},
        Broken{"[chip.x]\nhbm_capacity = \"0GB\"\n", "at least 1 MB"},
        Broken{"[chip.x]\ncores = [132]\n", "expected one value, found a list"},
        Broken{"[chip.x]\ntile_frequency = \"3us\"\n", "expected a frequency, found a time"},
        Broken{"[chip.x]\ntiles = 0\n", "expected a whole number"},
        Broken{"[chip.x]\nvisible_share = 1.5\n", "of at most 1, found '1.5'"},
        Broken{"[interconnect.x]\nreach = 0\n", "of at least 1, found '0'"},
        Broken{"[memory.x]\nbandwidth = 0\n", "at least 1 MB/s"},
        Broken{"[memory.x]\nlatency = 3\n", "a memory technology has no 'latency'"},
        Broken{"[interconnect.x]\ncapacity = 3\n", "an interconnect technology has no 'capacity'"},
        Broken{"[node.x]\nchip = \"h100\"\n", "[[level]] missing"},
        Broken{"[node.x]\nchip = \"h100\"\nlevel = [{ fabric = \"wheel\" }]\n",
               "no fabric is called"},
        Broken{"[cluster.x]\nhas = \"h100\"\n", "a cluster of the catalogue has no 'has'"},
        Broken{"[machines.x]\n", "a catalogue has no 'machines'"}, Broken{"[chip\n", ""},
        Broken{"[chip.x]\ncores = \"\xff\"\n", "the byte 0xff is no text"},
        Broken{"[chip.x]\n# \x01\n", "the byte 0x01 is no text"}));

TEST(DataType, NamesAndSpellings) {
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(parse_data_type(name(type)), type);
  }
  EXPECT_EQ(parse_data_type("bfloat16"), DataType::kBf16);
  EXPECT_EQ(parse_data_type("half"), DataType::kFp16);
  EXPECT_EQ(parse_data_type("Float"), DataType::kFp32);
  EXPECT_EQ(parse_data_type("float8_e4m3fn"), DataType::kFp8);
  EXPECT_FALSE(parse_data_type("fp5"));
  EXPECT_EQ(bytes_per_element(DataType::kFp4), 0.5);
  EXPECT_EQ(bytes_per_element(DataType::kBf16), 2);
}

// What is published of the machines that the kernel tables were measured on.
TEST(Catalog, AgreesWithTheSystemsOfMeasuredKernels) {
  const Result<CsvTable> systems = CsvTable::read(test::data_path("chips.csv"));
  ASSERT_TRUE(systems) << systems.error().text();
  std::size_t compared = 0;
  for (std::size_t row = 0; row < systems->rows(); ++row) {
    const std::string_view name = systems->text(row, *systems->column("chip"));
    const auto chip = catalog().chip(name);
    if (!chip) continue;
    const auto near = [&](const char* key, double ours) {
      const std::size_t column = *systems->column(key);
      if (systems->text(row, column).empty()) return;
      EXPECT_NEAR(ours / *systems->number(row, column), 1, 0.02) << name << " " << key;
    };
    near("mem_bw", chip->hbm_bandwidth.value);
    near("mem_capacity", chip->hbm_capacity.value);
    near("bfloat16_tc_flops", chip->matrix_rate(DataType::kBf16).value);
    near("int8_tc_flops", chip->matrix_rate(DataType::kInt8).value);
    near("fp4_tc_flops", chip->matrix_rate(DataType::kFp4).value);
    near("power", chip->power_w);
    ++compared;
  }
  EXPECT_GE(compared, 14U);
}

}  // namespace
}  // namespace flopcast::hardware
