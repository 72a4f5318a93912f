#!/bin/sh -e
# Rolling Forward: another target for those that are being updated.
kubectl apply -f web-forward.yaml
kubectl rollout status statefulset web
