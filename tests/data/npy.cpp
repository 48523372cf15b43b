#include <prdist/data/npy.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

using namespace prdist;

namespace {
std::string content(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
}  // namespace

TEST(Npy, WritesWhatNumpyReads) {
  auto const path = testing::TempDir() + "prdist_npy_test.npy";
  std::vector<float> const values = {1, 2, 3, 4, 5, 6};
  write_npy<float>(path, values, {2, 3});
  auto const bytes = content(path);
  ASSERT_EQ(bytes.size() % 64, 24U);  // a header of a multiple of 64 bytes, then six floats
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_NE(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }"), std::string::npos);
  EXPECT_EQ(std::memcmp(bytes.data() + bytes.size() - 24, values.data(), 24), 0);
  std::remove(path.c_str());
}

TEST(Npy, AFolderThatIsNotThereIsNamed) {
  std::vector<std::uint64_t> const keys = {1};
  try {
    write_npy<std::uint64_t>("/no/such/folder/x.npy", keys, {1});
    FAIL();
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), Errc::data_file);
    EXPECT_NE(std::string(error.what()).find("/no/such/folder/x.npy"), std::string::npos);
  }
}
