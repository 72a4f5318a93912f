module annals.dev/tests/cluster/peers/prometheus-operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.89.0
