#!/bin/bash
# Runs functions of upstream's test/cmd (unmodified, in $1, where build.sh has put them) against the server on 127.0.0.1, port $2, as whoever has the token
# "admin-token": run_X_tests for each X that follows. kubectl is that of the PATH.
set -eu
export KUBE_ROOT=$1 SECURE_API_PORT=$2
shift 2
export WHAT="$*" SUPPORTED_RESOURCES="statefulsets controllerrevisions" ALLOW_SKEW=1
export HOME TMPDIR KUBE_JUNIT_REPORT_DIR CONTEXT=test
HOME=$(mktemp -d)
TMPDIR=$HOME
trap 'rm -rf "$HOME"' EXIT
KUBE_JUNIT_REPORT_DIR=$HOME/junit
cd "$KUBE_ROOT"

# Some of what they make is nobody's to remove.
mktemp() {
	command mktemp "${@/#\/tmp\//$HOME/}"
}

source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
kube::util::ensure-temp-dir
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"
runTests
