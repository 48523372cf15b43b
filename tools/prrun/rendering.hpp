// SPDX-License-Identifier: Apache-2.0
// A job file as prgen's library reads, checks and renders it for prrun, and what prgen would say about it.
#pragma once

#include <vector>

#include "pipeline.hpp"
#include "submit_flags.hpp"

namespace prrun {

/// The faults of the file have been shown.
struct FileIsWrong {};

/// What the flags ask of prgen. @throws prdist::Error
[[nodiscard]] prdist::gen::Options options_of(SubmitFlags const& flags, Words const& command);

class Rendering {
 public:
  /// Reads the files. @throws prdist::Error, prdist::gen::IoError
  Rendering(SubmitFlags const& flags, prdist::gen::Options options);

  [[nodiscard]] prdist::gen::Options& options() { return options_; }

  /// @throws FileIsWrong
  [[nodiscard]] prdist::gen::Job load();

  /// @throws FileIsWrong, prdist::gen::TemplateError
  [[nodiscard]] std::vector<prdist::gen::File> render(prdist::gen::Job const& job);

  /// Warnings and notes, once it is clear what is done with the job.
  void tell() const;

 private:
  [[nodiscard]] bool names_ssh() const;
  [[noreturn]] void fail() const;

  SubmitFlags const& flags_;
  prdist::gen::Options options_;
  prdist::gen::SourcePtr model_;
  prdist::gen::SourcePtr file_;
  prdist::gen::Diagnostics diagnostics_;
};

}  // namespace prrun
