# Rules that are scripts. They hold for the tree, not for one build, so the sanitizer presets leave them out.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_test(NAME checks.layers COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/layers.py)
set_tests_properties(checks.layers PROPERTIES LABELS checks TIMEOUT 60)
