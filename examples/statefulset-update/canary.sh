#!/bin/sh -e
# Canaries: pod 2 alone.
kubectl apply -f web-canary.yaml
kubectl rollout status statefulset web
