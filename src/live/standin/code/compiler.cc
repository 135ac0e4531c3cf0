// NVRTC, nvJitLink and the driver's linker: nothing is compiled. What comes out is an image that has the kernels' names, and
// modules take it.
#include <cctype>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "live/standin/api/api.h"
#include "live/standin/code/image.h"

namespace flopcast::live {
namespace {

/// nvrtcResult
enum CompilerStatus : int { kCompiled = 0, kCompilerInvalidInput = 3, kNoNameExpression = 10 };

struct Program {
  std::string source, image;
  std::map<std::string, std::string> expressions;  ///< and what each is called in the image
};
Program& program_of(void* program) { return *static_cast<Program*>(program); }

/// Names of functions marked __global__ in C++ source: the word before the bracket of their parameters.
std::vector<std::string> kernels_in(const std::string& source) {
  constexpr std::string_view kMark = "__global__", kBounds = "__launch_bounds__";
  std::vector<std::string> names;
  for (std::size_t at = source.find(kMark); at != source.npos; at = source.find(kMark, at)) {
    at += kMark.size();
    std::size_t open = source.find('(', at);
    const std::size_t bounds = source.find(kBounds, at);
    if (bounds < open) open = source.find('(', source.find(')', open));
    if (open == source.npos) break;
    std::size_t end = open;
    while (end > at && std::isspace(static_cast<unsigned char>(source[end - 1]))) --end;
    std::size_t begin = end;
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    while (begin > at && is_word(source[begin - 1])) --begin;
    if (begin < end) names.push_back(source.substr(begin, end - begin));
  }
  return names;
}

int compile(Program& program) {
  std::vector<std::string> names = kernels_in(program.source);
  for (const auto& [expression, name] : program.expressions) names.push_back(name);
  program.image = make_image(names);
  return kCompiled;
}

int give_text(const std::string& text, char* out) {
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kCompiled;
}
int give_size(const std::string& text, std::size_t* size) {
  *size = text.size() + 1;
  return kCompiled;
}

/// Inputs of a linker; what comes out has the kernels of all.
struct Linker {
  std::vector<std::string> kernels;
  std::string image;
};
Linker& linker_of(void* linker) { return *static_cast<Linker*>(linker); }

int add_input(Linker& linker, const void* code) {
  const std::optional<Image> image = read_image(code);
  if (!image) return kInvalidImage;
  for (const ImageKernel& kernel : image->kernels) linker.kernels.push_back(kernel.name);
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int nvrtcVersion(int* major, int* minor) {
  *major = FLOPCAST_CUDA_MAJOR;
  *minor = FLOPCAST_CUDA_MAJOR == 12 ? 8 : 2;
  return kCompiled;
}
FLOPCAST_API const char* nvrtcGetErrorString(int status) {
  return status == kCompiled           ? "NVRTC_SUCCESS"
         : status == kNoNameExpression ? "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID"
                                       : "NVRTC_ERROR_INVALID_INPUT";
}
FLOPCAST_API int nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return kCompiled;
}
FLOPCAST_API int nvrtcGetSupportedArchs(int* architectures) {
  *architectures = 90;
  return kCompiled;
}
FLOPCAST_API int nvrtcCreateProgram(void** program, const char* source, const char*, int,
                                    const char* const*, const char* const*) {
  if (!source) return kCompilerInvalidInput;
  *program = new Program{source, {}, {}};
  return kCompiled;
}
FLOPCAST_API int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return kCompiled;
}
FLOPCAST_API int nvrtcAddNameExpression(void* program, const char* expression) {
  std::string name(expression);
  std::erase(name, ' ');  // one word, and the same for the same expression
  program_of(program).expressions[expression] = name;
  return kCompiled;
}
FLOPCAST_API int nvrtcCompileProgram(void* program, int, const char* const*) {
  return compile(program_of(program));
}
FLOPCAST_API int nvrtcGetLoweredName(void* program, const char* expression, const char** name) {
  const auto& known = program_of(program).expressions;
  const auto found = known.find(expression);
  if (found == known.end()) return kNoNameExpression;
  *name = found->second.c_str();
  return kCompiled;
}
FLOPCAST_API int nvrtcGetPTXSize(void* program, std::size_t* size) {
  return give_size(program_of(program).image, size);
}
FLOPCAST_API int nvrtcGetPTX(void* program, char* out) {
  return give_text(program_of(program).image, out);
}
FLOPCAST_API int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  return give_size(program_of(program).image, size);
}
FLOPCAST_API int nvrtcGetCUBIN(void* program, char* out) {
  return give_text(program_of(program).image, out);
}
FLOPCAST_API int nvrtcGetLTOIRSize(void* program, std::size_t* size) {
  return give_size(program_of(program).image, size);
}
FLOPCAST_API int nvrtcGetLTOIR(void* program, char* out) {
  return give_text(program_of(program).image, out);
}
FLOPCAST_API int nvrtcGetProgramLogSize(void*, std::size_t* size) { return give_size({}, size); }
FLOPCAST_API int nvrtcGetProgramLog(void*, char* out) { return give_text({}, out); }

FLOPCAST_API int nvJitLinkVersion(unsigned* major, unsigned* minor) {
  *major = FLOPCAST_CUDA_MAJOR;
  *minor = FLOPCAST_CUDA_MAJOR == 12 ? 8 : 2;
  return kSuccess;
}
FLOPCAST_API int nvJitLinkCreate(void** linker, unsigned, const char**) {
  *linker = new Linker;
  return kSuccess;
}
FLOPCAST_API int nvJitLinkDestroy(void** linker) {
  delete static_cast<Linker*>(*linker);
  *linker = nullptr;
  return kSuccess;
}
FLOPCAST_API int nvJitLinkAddData(void* linker, int, const void* code, std::size_t, const char*) {
  return add_input(linker_of(linker), code);
}
FLOPCAST_API int nvJitLinkComplete(void* linker) {
  Linker& own = linker_of(linker);
  own.image = make_image(own.kernels);
  return kSuccess;
}
FLOPCAST_API int nvJitLinkGetLinkedCubinSize(void* linker, std::size_t* size) {
  return give_size(linker_of(linker).image, size);
}
FLOPCAST_API int nvJitLinkGetLinkedCubin(void* linker, char* out) {
  return give_text(linker_of(linker).image, out);
}
FLOPCAST_API int nvJitLinkGetErrorLogSize(void*, std::size_t* size) { return give_size({}, size); }
FLOPCAST_API int nvJitLinkGetErrorLog(void*, char* out) { return give_text({}, out); }
FLOPCAST_API int nvJitLinkGetInfoLogSize(void*, std::size_t* size) { return give_size({}, size); }
FLOPCAST_API int nvJitLinkGetInfoLog(void*, char* out) { return give_text({}, out); }

FLOPCAST_API int cuLinkCreate_v2(unsigned, int*, void**, void** linker) {
  *linker = new Linker;
  return kSuccess;
}
FLOPCAST_API int cuLinkAddData_v2(void* linker, int, void* code, std::size_t, const char*, unsigned,
                                  int*, void**) {
  return add_input(linker_of(linker), code);
}
FLOPCAST_API int cuLinkComplete(void* linker, void** code, std::size_t* size) {
  Linker& own = linker_of(linker);
  own.image = make_image(own.kernels);
  *code = own.image.data();
  if (size) *size = own.image.size() + 1;
  return kSuccess;
}
FLOPCAST_API int cuLinkDestroy(void* linker) {
  delete static_cast<Linker*>(linker);
  return kSuccess;
}
