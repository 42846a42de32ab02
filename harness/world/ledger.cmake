halfsent_library(NAME ledger
  SOURCES ledger_probe.cc ledger_probe_sqlite.cc ledger_probe_sqlite_files.cc ledger_probe_sqlite_log.cc
          ledger_probe_sqlite_rows.cc
  LIBRARIES halfsent_core SQLiteCpp SQLite::SQLite3 fmt::fmt PkgConfig::xxhash
  TEST_TIMEOUT 300
  TESTS ledger_probe_sqlite_crash_test.cc ledger_probe_sqlite_log_test.cc ledger_probe_sqlite_property_test.cc
        ledger_probe_sqlite_test.cc ledger_sqlite_process.cc)
