# Writes OUTPUT, a C++ file whose function FUNCTION gives the text of each of FILES (a list) as a raw
# string literal.
set(_code "#include \"catalog/builtin_rules.h\"\n\nnamespace hotproof::catalog {\nnamespace {\n\nconstexpr BuiltinRules kRules[] = {\n")
foreach(_file IN LISTS FILES)
  file(READ "${_file}" _text)
  get_filename_component(_name "${_file}" NAME)
  string(APPEND _code "    {\"${_name}\", R\"textproto(${_text})textproto\"},\n")
endforeach()
string(APPEND _code "};\n\n}  // namespace\n\nstd::span<const BuiltinRules> ${FUNCTION}() { return kRules; }\n\n}  // namespace hotproof::catalog\n")
file(WRITE "${OUTPUT}" "${_code}")
