#!/bin/sh -e
# Rolling out an Update: pods 2, 1 and 0.
kubectl apply -f web-update.yaml
kubectl rollout status statefulset web
