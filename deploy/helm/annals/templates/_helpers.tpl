{{- define "annals.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Of everything. */}}
{{- define "annals.labels" -}}
app.kubernetes.io/part-of: annals
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Of the server's pods, and of etcd's. */}}
{{- define "annals.selector" -}}
app.kubernetes.io/name: annals
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "annals.etcdSelector" -}}
app.kubernetes.io/name: annals-etcd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "annals.recorderSelector" -}}
app.kubernetes.io/name: annals-recorder
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "annals.servingSecret" -}}
{{- default (printf "%s-serving" (include "annals.fullname" .)) .Values.certificates.servingSecretName -}}
{{- end -}}

{{- define "annals.etcdClientSecret" -}}
{{- default (printf "%s-etcd-client" (include "annals.fullname" .)) .Values.etcd.clientSecretName -}}
{{- end -}}

{{/* etcd's client URLs, separated by commas. */}}
{{- define "annals.etcdServers" -}}
{{- if .Values.etcd.bundled -}}
{{- $etcd := printf "%s-etcd" (include "annals.fullname" .) -}}
{{- range $i := until (int .Values.etcd.replicas) -}}
{{- if $i }},{{ end -}}
https://{{ $etcd }}-{{ $i }}.{{ $etcd }}.{{ $.Release.Namespace }}.svc:2379
{{- end -}}
{{- else if .Values.etcd.endpoints -}}
{{- join "," .Values.etcd.endpoints -}}
{{- else -}}
{{- fail "etcd.endpoints: say where etcd is, or let etcd.bundled be true" -}}
{{- end -}}
{{- end -}}

{{/* The members of the bundled etcd, as --initial-cluster has them. */}}
{{- define "annals.etcdMembers" -}}
{{- $etcd := printf "%s-etcd" (include "annals.fullname" .) -}}
{{- range $i := until (int .Values.etcd.replicas) -}}
{{- if $i }},{{ end -}}
{{ $etcd }}-{{ $i }}=https://{{ $etcd }}-{{ $i }}.{{ $etcd }}.{{ $.Release.Namespace }}.svc:2380
{{- end -}}
{{- end -}}

{{- define "annals.spread" -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- $.selector | nindent 6 }}
{{- end }}
{{- end -}}

{{/* What no container here needs more than. */}}
{{- define "annals.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "annals.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A Certificate of cert-manager. */}}
{{- define "annals.certificate" -}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .secret }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "annals.labels" .root | nindent 4 }}
spec:
  secretName: {{ .secret }}
  commonName: {{ .commonName }}
  duration: 2160h
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  usages: {{ prepend .usages "digital signature" | toJson }}
  {{- with .names }}
  dnsNames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .addresses }}
  ipAddresses: {{ toJson . }}
  {{- end }}
  issuerRef: {name: {{ .issuer }}, kind: Issuer}
{{ end -}}

{{/* A CA of cert-manager, which keeps its key when it is renewed: what it signed before stays good for those who have the new
     certificate, and the other way round. */}}
{{- define "annals.ca" -}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .secret }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "annals.labels" .root | nindent 4 }}
spec:
  secretName: {{ .secret }}
  commonName: {{ .secret }}
  isCA: true
  duration: 87600h
  renewBefore: 29200h
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Never}
  usages: [cert sign, crl sign]
  issuerRef: {name: {{ include "annals.fullname" .root }}-selfsigned, kind: Issuer}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .secret }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "annals.labels" .root | nindent 4 }}
spec:
  ca: {secretName: {{ .secret }}}
{{ end -}}
