// How nsys spells a name that c++filt and Kineto print in their way.
#pragma once

#include <string>

namespace hotproof::catalog {

// "(int)4" for 4, "(bool)1" for true, "<unnamed>" for "(anonymous namespace)", "const float *" for
// "float const*", ">>" for "> >", "[lambda(int) (instance 1)]", functions' addresses without
// signature, T1, T2, ... for parameters of the outermost function whose types are its template
// arguments.
std::string NsysSpelling(const std::string& demangled);

}  // namespace hotproof::catalog
