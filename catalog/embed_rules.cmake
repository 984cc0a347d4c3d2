# Writes OUTPUT, a C++ file whose function FUNCTION gives each of FILES (a list of textprotos) as a
# serialized RuleSet in a string literal. PROTOC reads the text; SOURCE_DIR has proto/catalog.proto.
set(_code "#include \"catalog/builtin_rules.h\"\n\nnamespace hotproof::catalog {\nnamespace {\n\n")
string(APPEND _code "using namespace std::string_view_literals;\n\nconstexpr BuiltinRules kRules[] = {\n")
foreach(_file IN LISTS FILES)
  get_filename_component(_name "${_file}" NAME)
  set(_message "${OUTPUT}.${_name}.bin")
  execute_process(
    COMMAND "${PROTOC}" -I "${SOURCE_DIR}" --encode=hotproof.catalog.RuleSet proto/catalog.proto
    INPUT_FILE "${_file}" OUTPUT_FILE "${_message}" ERROR_VARIABLE _error RESULT_VARIABLE _failed)
  if(_failed)
    message(FATAL_ERROR "${_file}: ${_error}see docs/catalog.md for the fields")
  endif()
  file(READ "${_message}" _bytes HEX)
  file(REMOVE "${_message}")
  string(REGEX REPLACE "(..)" "\\\\x\\1" _bytes "${_bytes}")
  string(APPEND _code "    {\"${_name}\", \"${_bytes}\"sv},\n")
endforeach()
string(APPEND _code "};\n\n}  // namespace\n\nstd::span<const BuiltinRules> ${FUNCTION}() { return kRules; }\n\n}  // namespace hotproof::catalog\n")
file(WRITE "${OUTPUT}" "${_code}")
