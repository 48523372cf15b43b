// SPDX-License-Identifier: Apache-2.0
// For programs that define PRDIST_SEPARATE_COMPILATION: include this in exactly one source file.
#pragma once

#if !defined(PRDIST_SEPARATE_COMPILATION)
#error "prdist/src.hpp is for programs that define PRDIST_SEPARATE_COMPILATION everywhere"
#endif

#include <prdist/checkpoint/manifest.ipp>
#include <prdist/fleet/checkpointer.ipp>
#include <prdist/fleet/elastic_checkpoints.ipp>
#include <prdist/fleet/geo_copy.ipp>
#include <prdist/optim/kernel.ipp>
#include <prdist/server/lobby.ipp>
#include <prdist/server/saving.ipp>
#include <prdist/server/server.ipp>
#include <prdist/table/spec_json.ipp>
#include <prdist/trainer/client.ipp>
#include <prdist/trainer/client_job.ipp>
#include <prdist/transport/beast.ipp>
#include <prdist/transport/tcp.ipp>
#include <prdist/wire/file_state.ipp>
#include <prdist/wire/hello.ipp>
#include <prdist/wire/work_state.ipp>
