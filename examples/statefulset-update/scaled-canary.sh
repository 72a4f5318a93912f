#!/bin/sh -e
# Canaries: one pod more, which is the canary.
kubectl apply -f web-scaled-canary.yaml
kubectl rollout status statefulset web
