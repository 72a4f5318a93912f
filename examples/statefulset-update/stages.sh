#!/bin/sh -e
# Staged Roll Outs: pod 2, then pod 1, then all.
kubectl apply -f web-canary.yaml
kubectl rollout status statefulset web
kubectl apply -f web-stage.yaml
kubectl rollout status statefulset web
kubectl apply -f web-update.yaml
kubectl rollout status statefulset web
