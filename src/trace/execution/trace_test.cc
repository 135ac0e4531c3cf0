#include "trace/execution/trace.h"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>
#include <string>

#include "support/shared_traces.h"
#include "support/temporary_folder.h"

namespace flopcast::trace {
namespace {

using protozero::pbf_writer;

constexpr const char* kFlat = R"json({"schema":"1.0.1","pid":1,"nodes":[
  {"name":"aten::mm","id":5,"rf_id":7,"parent":2,"tid":3,"inputs":[[3,4,0,6,4,"cpu"],[1,2,0,6,4,"cpu"]],
   "input_shapes":[[2,3],[3,4]],"input_types":["Tensor(float)","Tensor(float)"],"outputs":[]},
  {"id":6,"rf_id":8},
  17,
  {"name":"aten::t","id":9}]})json";

constexpr const char* kAttributes = R"({"schema":"1.1.0-chakra.0.0.4","rank":4,"nodes":[
  {"id":5,"name":"aten::mm","ctrl_deps":2,
   "inputs":{"values":[1,"a\"b"],"shapes":[[],[]],"types":["Int","String"]},
   "outputs":{"values":[],"shapes":[],"types":[]},
   "attrs":[{"name":"rf_id","type":"uint64","value":7},{"name":"tid","type":"uint64","value":3}]}]})";

TEST(ExecutionTrace, FlatNodes) {
  StringTable strings;
  const auto trace = parse_execution_trace(kFlat, "et_rank12.json", strings);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->schema, "1.0.1");
  EXPECT_EQ(trace->rank, 12);
  ASSERT_EQ(trace->nodes.size(), 2u);
  const ExecutionNode& mm = trace->nodes[0];
  EXPECT_EQ(mm.id, 5u);
  EXPECT_EQ(mm.rf_id, 7);
  EXPECT_EQ(mm.thread, 3);
  EXPECT_EQ(strings[mm.name], "aten::mm");
  EXPECT_EQ(strings[mm.input_shapes], "[[2,3],[3,4]]");
  EXPECT_EQ(strings[mm.input_types], R"json(["Tensor(float)","Tensor(float)"])json");
  EXPECT_EQ(strings[mm.input_values], R"([[3,4,0,6,4,"cpu"],[1,2,0,6,4,"cpu"]])");
  EXPECT_EQ(trace->nodes[1].rf_id, kNoId);
  EXPECT_EQ(trace->anomalies.count("bad_node"), 2u);
}

TEST(ExecutionTrace, NodesWithAttributes) {
  StringTable strings;
  const auto trace = parse_execution_trace(std::string("\xef\xbb\xbf") + kAttributes, "x", strings);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->rank, 4);
  ASSERT_EQ(trace->nodes.size(), 1u);
  EXPECT_EQ(trace->nodes[0].rf_id, 7);
  EXPECT_EQ(trace->nodes[0].thread, 3);
  EXPECT_EQ(strings[trace->nodes[0].input_values], R"([1,"a\"b"])");
}

// --- Chakra -------------------------------------------------------------------------------------

std::string with_size(const std::string& message) {
  std::string out;
  protozero::write_varint(std::back_inserter(out), message.size());
  return out + message;
}

std::string chakra_metadata() {
  std::string message;
  pbf_writer(message).add_string(1, "0.0.4");
  return with_size(message);
}

std::string chakra_node(std::uint64_t id, const std::string& name) {
  std::string message;
  pbf_writer node(message);
  node.add_uint64(1, id);
  node.add_string(2, name);
  node.add_enum(3, 4);
  const std::uint64_t dependencies[] = {1, 2};
  node.add_packed_uint64(5, dependencies, dependencies + 2);
  {
    pbf_writer inputs(node, 8);
    inputs.add_string(1, "[[3, 'cuda:0'], None, True]");
    inputs.add_string(2, "[[2, 3], [], []]");
    inputs.add_string(3, "['Tensor(float)', 'None', 'Bool']");
  }
  {
    pbf_writer attribute(node, 10);
    attribute.add_string(1, "rf_id");
    attribute.add_int64(9, 70);
  }
  {
    pbf_writer attribute(node, 10);
    attribute.add_string(1, "is_cpu_op");
    attribute.add_bool(27, true);
  }
  return with_size(message);
}

TEST(ExecutionTrace, ChakraMessages) {
  StringTable strings;
  const std::string bytes = chakra_metadata() + chakra_node(3, "aten::mm") + chakra_node(4, "");
  const auto trace = parse_execution_trace(bytes, "dir/run.5.et", strings);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->schema, "chakra 0.0.4");
  EXPECT_EQ(trace->rank, 5);
  ASSERT_EQ(trace->nodes.size(), 2u);
  EXPECT_EQ(trace->nodes[0].id, 3u);
  EXPECT_EQ(trace->nodes[0].rf_id, 70);
  EXPECT_EQ(strings[trace->nodes[0].name], "aten::mm");
  EXPECT_EQ(strings[trace->nodes[0].input_types], R"json(["Tensor(float)", "None", "Bool"])json");
  EXPECT_EQ(strings[trace->nodes[0].input_values], R"([[3, "cuda:0"], null, true])");
}

TEST(ExecutionTrace, ChakraCutShortNamesTheByte) {
  StringTable strings;
  const std::string whole = chakra_metadata() + chakra_node(3, "aten::mm");
  const std::string cut = whole.substr(0, whole.size() - 5);
  const auto trace = parse_execution_trace(cut, "x.et", strings);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().where, "x.et, byte " + std::to_string(chakra_metadata().size()));
  EXPECT_NE(trace.error().hint.find("truncated"), std::string::npos);
}

TEST(ExecutionTrace, OneDamagedChakraNodeIsCounted) {
  StringTable strings;
  const std::string bytes = chakra_metadata() + with_size("\xff\xff\xff") + chakra_node(3, "a");
  const auto trace = parse_execution_trace(bytes, "x.et", strings);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->nodes.size(), 1u);
  EXPECT_EQ(trace->anomalies.count("bad_node"), 1u);
}

TEST(ExecutionTrace, PythonReprBecomesJson) {
  EXPECT_EQ(json_from_python_repr("['it\\'s', \"a\", (1, -2.5e-3), nan]"),
            R"(["it's", "a", [1, -2.5e-3], null])");
  EXPECT_EQ(json_from_python_repr("[['x']"), R"("[['x']")");
  EXPECT_EQ(json_from_python_repr("<Tensor>"), R"("<Tensor>")");
  EXPECT_EQ(json_from_python_repr(""), "");
}

// --- What is no execution trace -----------------------------------------------------------------

Diagnostic error_of(std::string_view bytes) {
  StringTable strings;
  const auto trace = parse_execution_trace(bytes, "file", strings);
  EXPECT_FALSE(trace.ok());
  return trace.ok() ? Diagnostic{} : trace.error();
}

TEST(ExecutionTrace, BrokenFilesSayWhatTheyAre) {
  using testing::Test;
  const std::pair<std::string, const char*> cases[] = {
      {"", "empty"},
      {" \n ", "white space"},
      {std::string("\0\5\26\7\0\2\0\0Mac OS X", 16), "AppleDouble"},
      {"graph {\n  node {\n    name: \"x\"\n  }\n}\n", "protobuf in text form"},
      {"[1, 2]", "a JSON array"},
      {R"({"traceEvents":[]})", "profiler trace"},
      {R"({"schema":"1.0.1"})", "no \"nodes\" array"},
      {R"({"nodes":{}})", "no \"nodes\" array"},
      {R"({"nodes":[{"name":"a","id":1})", "ends in the middle"},
      {std::string("\x7f"
                   "ELF\2\1\1\0\0\0",
                   10),
       "neither JSON nor a Chakra trace"},
      {std::string("\0\0\0\0", 4), "neither JSON nor a Chakra trace"},
  };
  for (const auto& [bytes, expected] : cases) {
    const Diagnostic error = error_of(bytes);
    EXPECT_NE(error.what.find(expected), std::string::npos) << error.text();
    EXPECT_EQ(error.where.rfind("file", 0), 0u);
    EXPECT_EQ(error.code, ErrorCode::kBadInput);
  }
}

TEST(ExecutionTrace, DamagedJsonNamesTheByte) {
  EXPECT_EQ(error_of(R"({"nodes":[{"name":]})").where, "file, byte 18");
}

TEST(ExecutionTrace, DeepNestingIsAnError) {
  EXPECT_FALSE(error_of("{\"nodes\":" + std::string(100000, '[')).what.empty());
}

TEST(ExecutionTrace, FilesAreNamedInErrors) {
  StringTable strings;
  const test::TemporaryFolder dir;
  test::write_text(dir / "zero.json", "");
  for (const auto& path : {dir / "zero.json", dir / "absent.json", dir.path()}) {
    const auto trace = read_execution_trace(path, strings);
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().where, path.string());
    EXPECT_NE(trace.error().hint.find("execution trace"), std::string::npos);
  }
}

TEST(ExecutionTrace, RecordedFiles) {
  FLOPCAST_SHARED_OR_SKIP(megatron, "traces/megatron_tp8_a100/et_rank3.json.gz");
  StringTable strings;
  const auto trace = read_execution_trace(megatron, strings);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->schema, "1.0.1");
  EXPECT_EQ(trace->rank, 3);
  EXPECT_EQ(trace->nodes.size(), 5424u);
  EXPECT_TRUE(trace->anomalies.empty());
}

TEST(ExecutionTrace, RecordedFilesThatAreDamaged) {
  FLOPCAST_SHARED_OR_SKIP(odd, "traces/odd_derived");
  StringTable strings;
  for (const auto& file : std::filesystem::directory_iterator(odd)) {
    EXPECT_FALSE(read_execution_trace(file.path(), strings).ok()) << file.path();
  }
}

}  // namespace
}  // namespace flopcast::trace
