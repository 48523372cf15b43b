// SPDX-License-Identifier: Apache-2.0
// Certificates that a test makes for itself.
#pragma once

#include <fcntl.h>

#include <stdexcept>
#include <string>

#include <prdist/core/descriptor.hpp>
#include <prdist/launch/process.hpp>

#include "support.hpp"

namespace launch_test {

/// A CA, and certificates of its: server.crt for 127.0.0.1, elsewhere.crt for another address, client.crt for whoever
/// asks. other.crt is another CA, stranger.crt a client of that one's; locked.key is client.key with a passphrase. Keys
/// are made by the openssl program.
class Certificates {
 public:
  Certificates() {
    auto const script = R"(set -e; cd "$0"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
key ca; key other; key server; key client
openssl req -x509 -new -key ca.key -days 1 -subj /CN=test-ca -out ca.crt
openssl req -x509 -new -key other.key -days 1 -subj /CN=other-ca -out other.crt
openssl req -new -key server.key -subj /CN=apiserver -out server.csr
printf 'subjectAltName=IP:127.0.0.1\n' >names
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -extfile names -out server.crt
printf 'subjectAltName=IP:10.0.0.1\n' >names
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -extfile names -out elsewhere.crt
openssl req -new -key client.key -subj /CN=node -out client.csr
openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out client.crt
openssl x509 -req -in client.csr -CA other.crt -CAkey other.key -CAcreateserial -days 1 -out stranger.crt
openssl ec -in client.key -aes128 -passout pass:secret -out locked.key
)";
    prdist::Descriptor const log(::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT, 0600));
    auto const pid =
        prdist::spawn({"/bin/sh", {"-c", script, folder_.path().string()}, {"PATH=/usr/bin:/bin"}, log.get(), -1});
    if (!pid || reap(*pid) != prdist::Ending{}) throw std::runtime_error("openssl: " + read_file(folder_ / "log"));
  }

  [[nodiscard]] std::string path(std::string const& name) const { return (folder_ / name).string(); }

  /// Made once for all tests of the program: it takes a while.
  static Certificates const& shared() {
    static Certificates const certificates;
    return certificates;
  }

 private:
  TempFolder folder_;
};

}  // namespace launch_test
