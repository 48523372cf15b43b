// SPDX-License-Identifier: Apache-2.0
// Names that a cluster accepts: DNS labels, environment variables, paths, hosts, label keys. Each check answers with
// what is wrong, so that a message can say it, or with nothing.
#pragma once

#include <string>
#include <string_view>

namespace prdist::gen {

/// What hinders `text` from being an RFC 1123 label (lower case, digits, '-', at most 63) that begins with a letter,
/// which services and pods' host names need; empty when nothing does.
[[nodiscard]] std::string label_fault(std::string_view text);

/// The same for names that may begin with a digit: namespaces, volumes.
[[nodiscard]] std::string dns_label_fault(std::string_view text);

/// A label close to `text`: PaddleRec_CTR becomes paddlerec-ctr. Empty when nothing is left of it.
[[nodiscard]] std::string label_from(std::string_view text);

/// An RFC 1123 subdomain: labels joined by dots, at most 253.
[[nodiscard]] std::string subdomain_fault(std::string_view text);

/// A variable's name as shells know it.
[[nodiscard]] bool env_name(std::string_view text);

/// A key of a label or an annotation: an optional prefix and a slash, then up to 63 of letters, digits, '-', '_', '.'.
[[nodiscard]] bool qualified_name(std::string_view text);

/// A value of a label or a taint: up to 63 of letters, digits, '-', '_', '.'; it may be empty.
[[nodiscard]] bool label_value(std::string_view text);

/// A key inside a Secret or a ConfigMap: letters, digits, '-', '_', '.', and neither '.' nor '..' in front.
[[nodiscard]] bool data_key(std::string_view text);

/// An absolute path without '..' and without ':', which mounts do not take.
[[nodiscard]] std::string mount_fault(std::string_view text);

/// What hinders a job's name from being the name of a folder, for targets that are no Kubernetes; empty when nothing
/// does.
[[nodiscard]] std::string folder_fault(std::string_view text);

/// `text` without '.', doubled and trailing slashes: two mounts collide when this is equal.
[[nodiscard]] std::string normal_path(std::string_view text);

/// A host name or address that no program can take for an option; user@ in front is allowed.
[[nodiscard]] std::string host_fault(std::string_view text);

/// What hinders an image reference (registry/name:tag@digest); empty when nothing does.
[[nodiscard]] std::string image_fault(std::string_view text);

/// The tag or digest of a correct image reference; empty when there is none.
[[nodiscard]] std::string image_tag(std::string_view text);

}  // namespace prdist::gen
