// Modules and libraries of the driver: code that programs load, its kernels and its variables.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "live/standin/api/api.h"
#include "live/standin/code/image.h"
#include "live/standin/memory/memory.h"
#include "live/standin/shim/kernels.h"
#include "live/standin/triton/source.h"

namespace flopcast::live {
namespace {

/// Behind the handles of modules and of libraries.
struct Module {
  Image image;
  std::string file;  ///< that it was loaded from; empty: from memory
  std::string code;  ///< of a cubin, until its kernel is asked for
  std::map<std::string, KernelObject*, std::less<>> kernels;
  std::map<std::string, void*, std::less<>> variables;
  std::mutex lock;
};
Module& module_of(void* module) { return *static_cast<Module*>(module); }

int load(void** module, const void* code, const char* file = "") {
  if (!module) return kInvalidValue;
  const std::optional<Image> image = read_image(code);
  if (!image) return kInvalidImage;
  auto* const made = new Module;
  made->image = *image;
  made->file = file;
  if (image->bytes > 0) made->code.assign(static_cast<const char*>(code), image->bytes);
  *module = made;
  return kSuccess;
}

int load_file(void** module, const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return kFileNotFound;
  std::string code(std::istreambuf_iterator<char>(file), {});
  if (code.size() < 64) code.resize(64);  // heads are read without asking for the length
  return load(module, code.c_str(), path);
}

KernelObject* make_kernel(Module& module, std::string_view name) {
  const auto& known = module.image.kernels;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [name](const ImageKernel& one) { return one.name == name; });
  if (found == known.end() && module.image.complete) return nullptr;
  KernelObject& kernel = Kernels::get().make(name);
  kernel.module = &module;
  if (found == known.end()) return &kernel;
  kernel.parameters = found->parameters;
  kernel.shared = found->shared;
  if (found->registers > 0) kernel.registers = found->registers;
  if (found->max_threads > 0) kernel.max_threads = found->max_threads;
  kernel.triton = triton::find_kernel(found->name, module.code, module.file);
  return &kernel;
}

int get_kernel(void** kernel, void* module, const char* name) {
  Module& own = module_of(module);
  const std::lock_guard guard(own.lock);
  KernelObject*& known = own.kernels[name];
  if (!known) known = make_kernel(own, name);
  *kernel = known;
  return known ? kSuccess : kNotFound;
}

/// A variable has its place in the device's memory once somebody asks for it.
int get_variable(void** address, std::size_t* bytes, void* module, const char* name) {
  Module& own = module_of(module);
  const auto& known = own.image.variables;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [name](const ImageVariable& one) { return one.name == name; });
  if (found == known.end()) return kNotFound;
  if (bytes) *bytes = found->bytes;
  const std::lock_guard guard(own.lock);
  void*& place = own.variables[name];
  if (!place) {
    const auto block = Memory::get().allocate(std::max<std::size_t>(1, found->bytes),
                                              current_device(), Place::kDevice);
    if (!block) return kOutOfMemory;
    place = reinterpret_cast<void*>(block->address);
  }
  if (address) *address = place;
  return kSuccess;
}

int unload(void* module) {
  Module& own = module_of(module);
  for (const auto& [name, place] : own.variables) Memory::get().free(place);
  own.variables.clear();
  // Its kernels may still be in graphs: they and it stay.
  return kSuccess;
}

int enumerate(void** kernels, unsigned count, void* module) {
  Module& own = module_of(module);
  for (unsigned i = 0; i < count && i < own.image.kernels.size(); ++i)
    get_kernel(&kernels[i], module, own.image.kernels[i].name.c_str());
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cuModuleLoadData(void** module, const void* code) { return load(module, code); }
FLOPCAST_API int cuModuleLoadDataEx(void** module, const void* code, unsigned, int*, void**) {
  return load(module, code);
}
FLOPCAST_API int cuModuleLoadFatBinary(void** module, const void* code) {
  return load(module, code);
}
FLOPCAST_API int cuModuleLoad(void** module, const char* path) { return load_file(module, path); }
FLOPCAST_API int cuModuleUnload(void* module) { return unload(module); }
FLOPCAST_API int cuModuleGetFunction(void** kernel, void* module, const char* name) {
  return get_kernel(kernel, module, name);
}
FLOPCAST_API int cuModuleGetFunctionCount(unsigned* count, void* module) {
  *count = static_cast<unsigned>(module_of(module).image.kernels.size());
  return kSuccess;
}
FLOPCAST_API int cuModuleEnumerateFunctions(void** kernels, unsigned count, void* module) {
  return enumerate(kernels, count, module);
}
FLOPCAST_API int cuModuleGetGlobal_v2(void** address, std::size_t* bytes, void* module,
                                      const char* name) {
  return get_variable(address, bytes, module, name);
}
/// CU_MODULE_LAZY_LOADING
FLOPCAST_API int cuModuleGetLoadingMode(int* mode) {
  *mode = 2;
  return kSuccess;
}

FLOPCAST_API int cudaLibraryLoadData(void** library, const void* code, int*, void**, unsigned, int*,
                                     void**, unsigned) {
  return remembered(load(library, code));
}
FLOPCAST_API int cudaLibraryLoadFromFile(void** library, const char* path, int*, void**, unsigned,
                                         int*, void**, unsigned) {
  return remembered(load_file(library, path));
}
FLOPCAST_API int cudaLibraryUnload(void* library) { return unload(library); }
FLOPCAST_API int cudaLibraryGetKernel(void** kernel, void* library, const char* name) {
  return remembered(get_kernel(kernel, library, name));
}
FLOPCAST_API int cudaLibraryGetUnifiedFunction(void** kernel, void* library, const char* name) {
  return remembered(get_kernel(kernel, library, name));
}
FLOPCAST_API int cudaLibraryGetGlobal(void** address, std::size_t* bytes, void* library,
                                      const char* name) {
  return remembered(get_variable(address, bytes, library, name));
}
FLOPCAST_API int cudaLibraryGetKernelCount(unsigned* count, void* library) {
  return cuModuleGetFunctionCount(count, library);
}
FLOPCAST_API int cudaLibraryEnumerateKernels(void** kernels, unsigned count, void* library) {
  return enumerate(kernels, count, library);
}
FLOPCAST_API int cuLibraryGetModule(void** module, void* library) {
  *module = library;
  return kSuccess;
}
FLOPCAST_API int cuLibraryGetGlobal(void** address, std::size_t* bytes, void* library,
                                    const char* name) {
  return get_variable(address, bytes, library, name);
}

FLOPCAST_API int cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return kSuccess;
}
FLOPCAST_API int cuKernelGetLibrary(void** library, void* kernel) {
  *library = static_cast<KernelObject*>(kernel)->module;
  return kSuccess;
}
FLOPCAST_API int cuFuncGetModule(void** module, void* kernel) {
  return cuKernelGetLibrary(module, kernel);
}
FLOPCAST_API int cuFuncLoad(void*) { return kSuccess; }
FLOPCAST_API int cuFuncIsLoaded(int* loaded, void*) {
  *loaded = 1;
  return kSuccess;
}
FLOPCAST_API int cuFuncGetName(const char** name, void* kernel) {
  *name = Kernels::get().find(kernel).name.c_str();
  return kSuccess;
}
FLOPCAST_API int cuKernelGetName(const char** name, void* kernel) {
  return cuFuncGetName(name, kernel);
}
FLOPCAST_API int cudaFuncGetName(const char** name, const void* function) {
  *name = Kernels::get().find(function).name.c_str();
  return kSuccess;
}
FLOPCAST_API int cudaGetFuncBySymbol(void** kernel, const void* function) {
  *kernel = &Kernels::get().find(function);
  return kSuccess;
}
/// Parameters lie one behind the other, each at a multiple of its size up to eight bytes.
FLOPCAST_API int cuFuncGetParamInfo(void* kernel, std::size_t index, std::size_t* offset,
                                    std::size_t* bytes) {
  const auto& sizes = Kernels::get().find(kernel).parameters;
  if (index >= sizes.size()) return kInvalidValue;
  std::size_t at = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    const std::size_t alignment = std::clamp<std::size_t>(sizes[i], 1, 8);
    at = (at + alignment - 1) / alignment * alignment;
    if (i < index) at += sizes[i];
  }
  *offset = at;
  if (bytes) *bytes = sizes[index];
  return kSuccess;
}
FLOPCAST_API int cuKernelGetParamInfo(void* kernel, std::size_t index, std::size_t* offset,
                                      std::size_t* bytes) {
  return cuFuncGetParamInfo(kernel, index, offset, bytes);
}
