// Code for a GPU: what is read of it, and that programs get on with what is not compiled.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "live/engine/pricing/operator_table.h"
#include "live/wire/named_arguments.h"
#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using namespace test;

using LiveCodeThreads = LivePrograms;

/// An ELF file of sections, as ptxas writes them for one kernel of two parameters.
class CubinFile {
 public:
  explicit CubinFile(std::uint32_t first_bytes = 8) {
    section("", SHT_NULL, {}, 0, 0);
    std::string names(1, '\0');
    names += "kernel_of_two\0";
    names.push_back('\0');
    section(".strtab", SHT_STRTAB, names, 0, 0);
    Elf64_Sym symbols[2] = {};
    symbols[1].st_name = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_shndx = 4;
    section(".symtab", SHT_SYMTAB, std::string(reinterpret_cast<char*>(symbols), sizeof symbols), 1,
            0);
    // Parameters are told from the last to the first: ordinal and offset of 16 bits, the size from bit 18.
    std::string info;
    for (const std::uint32_t ordinal : {1u, 0u}) {
      const std::uint32_t size = ordinal == 0 ? first_bytes : 4;
      const std::uint32_t words[3] = {0, ordinal | ordinal * first_bytes << 16, size << 18};
      info += std::string("\x04\x17\x0c\x00", 4);
      info.append(reinterpret_cast<const char*>(words), sizeof words);
    }
    section(".nv.info.kernel_of_two", SHT_PROGBITS, info, 0, 0);
    section(".text.kernel_of_two", SHT_PROGBITS, "code", 0, 40u << 24);
    finish();
  }
  const char* data() const { return bytes_.data(); }

 private:
  void section(const std::string& name, unsigned type, const std::string& contents, unsigned link,
               unsigned info) {
    Elf64_Shdr head{};
    head.sh_name = static_cast<unsigned>(section_names_.size());
    head.sh_type = type;
    head.sh_offset = sizeof(Elf64_Ehdr) + contents_.size();
    head.sh_size = contents.size();
    head.sh_link = link;
    head.sh_info = info;
    heads_.push_back(head);
    section_names_ += name;
    section_names_.push_back('\0');
    contents_ += contents;
    contents_.resize((contents_.size() + 7) / 8 * 8);
  }
  void finish() {
    section(".shstrtab", SHT_STRTAB, section_names_ + std::string(".shstrtab") + '\0', 0, 0);
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_shoff = sizeof head + contents_.size();
    head.e_shnum = static_cast<Elf64_Half>(heads_.size());
    head.e_shstrndx = static_cast<Elf64_Half>(heads_.size() - 1);
    bytes_.assign(reinterpret_cast<const char*>(&head), sizeof head);
    bytes_ += contents_;
    bytes_.append(reinterpret_cast<const char*>(heads_.data()), heads_.size() * sizeof heads_[0]);
  }
  std::string contents_, section_names_, bytes_;
  std::vector<Elf64_Shdr> heads_;
};

/// Milliseconds that a kernel of a big grid takes if this is what its pointer leads to, or one of a structure.
float time_with(const Library& cuda, void* kernel, std::size_t bytes) {
  struct {
    void* memory = nullptr;
    std::int64_t rows = 1;
  } tensor;
  void *from = nullptr, *to = nullptr;
  cuda("cudaMalloc", &tensor.memory, bytes);
  cuda("cudaEventCreate", &from);
  cuda("cudaEventCreate", &to);
  int count = 1 << 20;
  void* arguments[] = {&tensor, &count};
  void* const stream = nullptr;
  cuda("cudaEventRecord", from, stream);
  cuda("cuLaunchKernel", kernel, 1u << 18, 1u, 1u, 256u, 1u, 1u, 0u, stream,
       static_cast<void**>(arguments), static_cast<void**>(nullptr));
  cuda("cudaEventRecord", to, stream);
  cuda("cudaDeviceSynchronize");
  float milliseconds = 0;
  cuda("cudaEventElapsedTime", &milliseconds, from, to);
  return milliseconds;
}

TEST_F(LiveCodeThreads, KernelsTakeAsLongAsWhatTheirArgumentsLeadTo) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    const CubinFile file;
    void *module = nullptr, *kernel = nullptr;
    cuda("cuModuleLoadData", &module, static_cast<const void*>(file.data()));
    cuda("cuModuleGetFunction", &kernel, module, "kernel_of_two");
    const CubinFile structured(16);
    void *other = nullptr, *of_structure = nullptr;
    cuda("cuModuleLoadData", &other, static_cast<const void*>(structured.data()));
    cuda("cuModuleGetFunction", &of_structure, other, "kernel_of_two");
    const float small = time_with(cuda, kernel, std::size_t{4} << 20);
    const float large = time_with(cuda, kernel, std::size_t{1} << 30);
    const float covered = time_with(cuda, kernel, std::size_t{4} << 30);
    const float within = time_with(cuda, of_structure, std::size_t{1} << 30);
    said["in_a_structure_as_alone"] = std::abs(within - large) < large / 100 ? 1 : 0;
    said["no_more_than_is_allocated"] = small > 0 && small < large / 10 ? 1 : 0;
    // 2^26 threads move 2^30 bytes.
    said["no_more_than_the_grid_covers"] = std::abs(covered - large) < large / 100 ? 1 : 0;
    said["at_the_speed_of_memory"] = large > 0.3 && large < 0.6 ? 1 : 0;
  });
  EXPECT_EQ(told, (Told{{"in_a_structure_as_alone", 1},
                        {"no_more_than_is_allocated", 1},
                        {"no_more_than_the_grid_covers", 1},
                        {"at_the_speed_of_memory", 1}}));
}

int cutlass_made = 0, cutlass_loaded = 0;
std::string cutlass_raised;

/// As code that CUTLASS's DSL compiles calls its runtime, once for each of its functions.
int of_cutlass(const Library& cuda, void** library, int status) {
  static int answer = 0;
  answer = status;
  int (*const make)(void**) = [](void** handle) {
    ++cutlass_made;
    *handle = &cutlass_made;
    return answer;
  };
  int (*const load)(void**, int) = [](void**, int) {
    ++cutlass_loaded;
    return 0;
  };
  void (*const raise)(const char*, const char*) = [](const char*, const char* what) {
    cutlass_raised = what;
  };
  return cuda("cuda_dialect_init_library_once", library, make, load, raise);
}

TEST_F(LiveCodeThreads, ALibraryOfCutlassIsMadeOnceAndLoadedOntoEveryDevice) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    void* library = nullptr;
    said["failed"] = of_cutlass(cuda, &library, 301);
    said["none"] = library == nullptr ? 1 : 0;
    said["told"] = cutlass_raised.find("cudaErrorFileNotFound") != std::string::npos ? 1 : 0;
    said["first"] = of_cutlass(cuda, &library, 0);
    said["again"] = of_cutlass(cuda, &library, 0);
    said["is"] = library == &cutlass_made ? 1 : 0;
    said["made"] = cutlass_made;
    said["loaded"] = cutlass_loaded;
    int device = -1;
    said["get"] = cuda("_cudaGetDevice", &device);
    said["device"] = device;
  });
  EXPECT_EQ(told, (Told{{"failed", -1},
                        {"none", 1},
                        {"told", 1},
                        {"first", 0},
                        {"again", 0},
                        {"is", 1},
                        {"made", 2},
                        {"loaded", 8},
                        {"get", 0},
                        {"device", 0}}));
}

TEST_F(LiveCodeThreads, CubinsSayWhichKernelsTheyHave) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    const CubinFile file;
    void *module = nullptr, *kernel = nullptr;
    said["load"] = cuda("cuModuleLoadData", &module, static_cast<const void*>(file.data()));
    said["get"] = cuda("cuModuleGetFunction", &kernel, module, "kernel_of_two");
    int registers = 0;
    cuda("cuFuncGetAttribute", &registers, 4, kernel);
    said["registers"] = registers;
    std::size_t offset = 0, size = 0;
    cuda("cuFuncGetParamInfo", kernel, std::size_t{1}, &offset, &size);
    said["second_at"] = static_cast<double>(offset);
    said["second_size"] = static_cast<double>(size);
    said["third"] = cuda("cuFuncGetParamInfo", kernel, std::size_t{2}, &offset, &size);
    void* none = nullptr;
    said["other"] = cuda("cuModuleGetFunction", &none, module, "kernel_of_three");
    said["launch"] =
        cuda("cuLaunchKernel", kernel, 3u, 1u, 1u, 32u, 1u, 1u, 0u, static_cast<void*>(nullptr),
             static_cast<void**>(nullptr), static_cast<void**>(nullptr));
    said["no_code"] =
        cuda("cuModuleLoadData", &module, static_cast<const void*>("\x01\x02\x03\x04"));
    cuda("cuCtxSynchronize");
  });
  EXPECT_EQ(told, (Told{{"load", 0},
                        {"get", 0},
                        {"registers", 40},
                        {"second_at", 8},
                        {"second_size", 4},
                        {"third", 1},
                        {"other", 500},
                        {"launch", 0},
                        {"no_code", 200}}));
  EXPECT_TRUE(tasks().back().find("kernel_of_two") != std::string::npos ||
              std::any_of(tasks().begin(), tasks().end(), [](const std::string& task) {
                return task.ends_with("kernel kernel_of_two");
              }));
}

TEST_F(LiveCodeThreads, WhatIsCompiledAtRunTimeHasItsNames) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    const char* const source =
        "template <typename T> __global__ void scale(T* x, T by) { *x *= by; }\n"
        "extern \"C\" __global__ __launch_bounds__(128) void plain(int n) {}\n";
    void* program = nullptr;
    cuda("nvrtcCreateProgram", &program, source, "scale.cu", 0, static_cast<const char**>(nullptr),
         static_cast<const char**>(nullptr));
    cuda("nvrtcAddNameExpression", program, "scale<float>");
    said["compile"] = cuda("nvrtcCompileProgram", program, 0, static_cast<const char**>(nullptr));
    const char* name = nullptr;
    said["lowered"] = cuda("nvrtcGetLoweredName", program, "scale<float>", &name);
    said["not_asked_for"] = cuda("nvrtcGetLoweredName", program, "scale<int>", &name);
    cuda("nvrtcGetLoweredName", program, "scale<float>", &name);
    std::size_t size = 0;
    cuda("nvrtcGetPTXSize", program, &size);
    std::vector<char> code(size);
    cuda("nvrtcGetPTX", program, code.data());
    void *module = nullptr, *kernel = nullptr;
    said["load"] = cuda("cuModuleLoadDataEx", &module, static_cast<const void*>(code.data()), 0u,
                        static_cast<int*>(nullptr), static_cast<void**>(nullptr));
    said["template"] = cuda("cuModuleGetFunction", &kernel, module, name);
    said["plain"] = cuda("cuModuleGetFunction", &kernel, module, "plain");
    unsigned count = 0;
    cuda("cuModuleGetFunctionCount", &count, module);
    said["kernels"] = count;
    cuda("nvrtcDestroyProgram", &program);
    cuda("cudaDeviceSynchronize");  // a run ends when its process has been heard
  });
  EXPECT_EQ(told, (Told{{"compile", 0},
                        {"lowered", 0},
                        {"not_asked_for", 10},
                        {"load", 0},
                        {"template", 0},
                        {"plain", 0},
                        {"kernels", 3}}));
}

TEST(LiveLibraries, HaveTheNamesThatProgramsLookFor) {
  const std::filesystem::path folder = std::filesystem::path(FLOPCAST_LIVE_CORE).parent_path();
  for (const char* const part : {"adv", "cnn", "engines_precompiled", "engines_runtime_compiled",
                                 "graph", "heuristic", "ops"}) {
    const std::string name = std::string("libcudnn_") + part + ".so.9";
    EXPECT_TRUE(std::filesystem::equivalent(folder / name, folder / "libcudnn.so.9")) << name;
  }
  for (const char* const name : {"libcuda.so", "libcudnn.so", "libcurand.so", "libnvrtc.so"})
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
}

/// A kernel that was compiled at run time, by its name or the expression that names it.
void* compiled(const Library& cuda, const char* source, const char* expression, const char* name) {
  void *program = nullptr, *module = nullptr, *kernel = nullptr;
  cuda("nvrtcCreateProgram", &program, source, "kernels.cu", 0, static_cast<const char**>(nullptr),
       static_cast<const char**>(nullptr));
  if (expression) cuda("nvrtcAddNameExpression", program, expression);
  cuda("nvrtcCompileProgram", program, 0, static_cast<const char**>(nullptr));
  if (expression) cuda("nvrtcGetLoweredName", program, expression, &name);
  std::size_t size = 0;
  cuda("nvrtcGetCUBINSize", program, &size);
  std::vector<char> code(size);
  cuda("nvrtcGetCUBIN", program, code.data());
  cuda("cuModuleLoadData", &module, static_cast<const void*>(code.data()));
  cuda("cuModuleGetFunction", &kernel, module, name);
  return kernel;
}

float milliseconds_with(const Library& cuda, void* kernel, void** arguments) {
  void *from = nullptr, *to = nullptr, *const stream = nullptr;
  cuda("cudaEventCreate", &from);
  cuda("cudaEventCreate", &to);
  cuda("cudaEventRecord", from, stream);
  cuda("cuLaunchKernel", kernel, 1u, 1u, 1u, 256u, 1u, 1u, 0u, stream, arguments,
       static_cast<void**>(nullptr));
  cuda("cudaEventRecord", to, stream);
  cuda("cudaEventSynchronize", to);
  float time = 0;
  cuda("cudaEventElapsedTime", &time, from, to);
  return time;
}

/// Kernels as Transformer Engine compiles them when it runs: their sizes are numbers, or lie in a structure.
TEST_F(LiveCodeThreads, KernelsOfTheTableTakeWhatTheirArgumentsSay) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    const std::string asked = OperatorTable::builtin().wanted_arguments();
    setenv(kArgumentsVariable, asked.c_str(), 1);
    void* const transpose =
        compiled(cuda, "__global__ void transpose_optimized_kernel(const T* in, size_t columns) {}",
                 nullptr, "transpose_optimized_kernel");
    void* pointer = nullptr;
    std::uint64_t columns = 16, rows = 16;
    void* transposed[] = {&pointer, &pointer, &pointer, &columns, &rows};
    said["small"] = milliseconds_with(cuda, transpose, transposed);
    columns = 1 << 15;
    rows = 1 << 16;
    said["transpose"] = milliseconds_with(cuda, transpose, transposed);
    void* const norm =
        compiled(cuda, "template <typename T> __global__ void rmsnorm_fwd_kernel(Parameters p) {}",
                 "&::te::rmsnorm_fwd_kernel<::te::Kernel_traits<::te::fp32>>", nullptr);
    struct {
      int blocks_by_rows = 132, blocks_of_row = 1, rows = 1 << 16, columns = 1 << 13;
      void* x = nullptr;
    } parameters;
    void* structure[] = {&parameters};
    said["norm"] = milliseconds_with(cuda, norm, structure);
  });
  const double least = 1e3 * 2 * (std::uint64_t{1} << 31) / 3.35e12;  // 2 GiB read, as many written
  EXPECT_LT(told.at("small"), 0.02);
  for (const char* const name : {"transpose", "norm"}) {
    EXPECT_GE(told.at(name), least) << name;
    EXPECT_LE(told.at(name), 1.5 * least) << name;
  }
}

}  // namespace
}  // namespace flopcast::live
