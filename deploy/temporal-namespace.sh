#!/bin/sh
# Creates the namespace of Waybill's workflows unless it is there. Safe to repeat.
set -eu

namespace="$TEMPORAL_NAMESPACE"
temporal operator namespace describe -n "$namespace" >/dev/null 2>&1 ||
  temporal operator namespace create -n "$namespace" --retention 7d
