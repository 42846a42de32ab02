if(BUILD_TESTING)
  # That watching changes nothing. The oracle is strace, without any harness; where it is missing the tests say so.
  add_library(halfsent_innocence INTERFACE)
  target_link_libraries(halfsent_innocence INTERFACE halfsent_explore halfsent_ledger halfsent_world)
  halfsent_test(NAME innocence SOURCES innocence_test.cc world_test_support.cc TIMEOUT 300)
  # Of the common support of tests about worlds, which none of these runs.
  add_dependencies(halfsent_innocence_test halfsent_world_test_program)
  target_compile_definitions(halfsent_innocence_test PRIVATE
    HALFSENT_TEST_PROGRAM="$<TARGET_FILE:halfsent_world_test_program>")
endif()
