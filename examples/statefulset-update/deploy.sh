#!/bin/sh -e
# Initial Deployment: three pods, one after the other, and the first revision.
kubectl create -f web.yaml
kubectl rollout status statefulset web
