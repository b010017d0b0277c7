{{/* Names of the objects, as in the chart of Determined 0.38.1, because users type them. */}}

{{- define "determined.master" -}}determined-master-deployment-{{ .Release.Name }}{{- end -}}
{{- define "determined.masterService" -}}determined-master-service-{{ .Release.Name }}{{- end -}}
{{- define "determined.config" -}}determined-master-config-{{ .Release.Name }}{{- end -}}
{{- define "determined.check" -}}determined-check-{{ .Release.Name }}{{- end -}}
{{- define "determined.account" -}}determined-master-{{ .Release.Name }}{{- end -}}
{{- define "determined.data" -}}{{ .Values.db.existingClaim | default (printf "determined-master-data-%s" .Release.Name) }}{{- end -}}
{{- define "determined.db" -}}determined-db-deployment-{{ .Release.Name }}{{- end -}}
{{- define "determined.dbService" -}}determined-db-service-{{ .Release.Name }}{{- end -}}
{{- define "determined.dbAccount" -}}determined-db-{{ .Release.Name }}{{- end -}}
{{- define "determined.dbClaim" -}}{{ .Values.db.existingClaim | default (printf "determined-db-pvc-%s" (.Values.db.restoreSnapshotSuffix | default .Values.db.claimSuffix | default .Release.Name)) }}{{- end -}}
{{- define "determined.checkpointClaim" -}}determined-checkpoints-{{ .Release.Name }}{{- end -}}
{{- define "determined.secrets" -}}determined-secrets-{{ .Release.Name }}{{- end -}}
{{/* Cluster-scoped objects include the namespace, because releases may have the same name. */}}
{{- define "determined.wide" -}}determined-{{ .Release.Namespace }}-{{ .Release.Name }}{{- end -}}
{{/* Differs from the name in versions before preemptionPolicy was set, because that field of
     an existing class is immutable. */}}
{{- define "determined.priorityClass" -}}{{ include "determined.wide" . }}-system{{- end -}}

{{- define "determined.image" -}}
{{- $tag := .Values.image.tag | default .Values.detVersion | default .Chart.AppVersion -}}
{{- with .Values.imageRegistry }}{{ trimSuffix "/" . }}/{{ end }}{{ .Values.image.name }}:{{ $tag }}
{{- end -}}

{{/* Namespace of tasks. It includes the release's name, because releases may share a namespace. */}}
{{- define "determined.taskNamespace" -}}{{ .Values.resourceManager.defaultNamespace | default (printf "%s-%s-tasks" .Release.Namespace .Release.Name) }}{{- end -}}
{{- define "determined.taskAccount" -}}determined-task-{{ .Release.Name }}{{- end -}}

{{/* Labels of every object; the argument is (list $ "component"). */}}
{{- define "determined.labels" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: determined
app.kubernetes.io/instance: {{ $top.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ $top.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
det-deploy.dev/cluster: {{ $top.Release.Name | quote }}
release: {{ $top.Release.Name | quote }}
{{- end -}}

{{/* Labels of pods, without versions, so that a new chart does not restart unchanged pods. */}}
{{- define "determined.podLabels" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: determined
app.kubernetes.io/instance: {{ $top.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/managed-by: {{ $top.Release.Service | quote }}
det-deploy.dev/cluster: {{ $top.Release.Name | quote }}
release: {{ $top.Release.Name | quote }}
{{- end -}}

{{/* Selector of the pods of a component. Must not change: a Deployment's selector is immutable. */}}
{{- define "determined.selector" -}}
{{- $top := index . 0 -}}
app: determined-{{ index . 1 }}-{{ $top.Release.Name }}
app.kubernetes.io/instance: {{ $top.Release.Name | quote }}
{{- end -}}

{{/* Selector of a Service; the argument is (list $ "component" "system"). The master rejects
     tasks with any of these labels, because their pods would receive users' logins. */}}
{{- define "determined.serviceSelector" -}}
{{ include "determined.selector" . }}
determined-system: {{ index . 2 }}
{{- end -}}
