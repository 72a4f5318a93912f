#!/bin/sh -e
# Rollbacks: to the revision before; of an update in progress, to the current one.
kubectl rollout undo statefulset web
kubectl rollout status statefulset web
