{{/* Properties of the values that several objects use; each is "true" or empty. */}}

{{- define "determined.hasEmbedded" -}}{{ if eq .Values.db.type "embedded" }}true{{ end }}{{- end -}}
{{- define "determined.hasPostgres" -}}{{ if and (eq .Values.db.type "postgres") (not .Values.db.hostAddress) }}true{{ end }}{{- end -}}

{{/* The chart creates the namespace of tasks unless an existing one is named. */}}
{{- define "determined.makesTaskNamespace" -}}
{{- if and .Values.createNonNamespacedObjects (not .Values.resourceManager.defaultNamespace) }}true{{ end }}
{{- end -}}
{{- define "determined.tasksElsewhere" -}}
{{- if ne (include "determined.taskNamespace" .) .Release.Namespace }}true{{ end }}
{{- end -}}

{{/* Pods can use pull Secrets of their own namespace only, so the master copies the
     release's Secret for each task. */}}
{{- define "determined.handsPullSecret" -}}
{{- if and .Values.imagePullSecretName (include "determined.tasksElsewhere" .) }}true{{ end }}
{{- end -}}

{{/* The Pod Security level of tasks: baseline, unless the values give tasks, or permit
     them, something that baseline forbids. The directory of shared_fs is a host path. */}}
{{- define "determined.taskSecurity" -}}
{{- $given := toJson (list .Values.taskContainerDefaults .Values.resourcePools .Values.taskPolicy) -}}
{{- $more := list
  "\"(privileged|host_?[nN]etwork|host_?(PID|pid|Pid)|host_?(IPC|ipc|Ipc)|hostProcess)\":true"
  "\"(hostPath|hostPort|procMount|gitRepo|flexVolume)\":"
  "\"(host_?[pP]aths|devices|capabilities|add_capabilities|addCapabilities|add|bind_?[mM]ounts)\":\\[[^]]"
  "\"network_?[mM]ode\":\"host\""
  "\"Unconfined\"" -}}
{{- if .Values.resourceManager.podSecurity }}{{ .Values.resourceManager.podSecurity }}
{{- else if regexMatch (join "|" $more) $given }}privileged
{{- else if and (eq (.Values.checkpointStorage.type | default "shared_fs") "shared_fs") .Values.checkpointStorage.hostPath }}privileged
{{- else }}baseline{{ end }}
{{- end -}}

{{/* Whether the tasks' namespace, which the chart creates, forbids mounting the directory of
     shared_fs, a host path. If the values do not set that directory, or set a claim, the
     master creates a volume claim instead. */}}
{{- define "determined.hidesDirectory" -}}
{{- if and (include "determined.makesTaskNamespace" .) (eq (.Values.checkpointStorage.type | default "shared_fs") "shared_fs") (not .Values.checkpointStorage.existingClaim) (ne (include "determined.taskSecurity" .) "privileged") }}true{{ end }}
{{- end -}}
{{- define "determined.makesCheckpointClaim" -}}
{{- $s := .Values.checkpointStorage -}}
{{- $wished := or (include "determined.hidesDirectory" .) $s.storageSize $s.storageClassName $s.accessMode -}}
{{- if and $wished (eq ($s.type | default "shared_fs") "shared_fs") (not (or $s.existingClaim $s.hostPath $s.mountToServer)) }}true{{ end }}
{{- end -}}
{{- define "determined.refusesCheckpoints" -}}
{{- if and (include "determined.hidesDirectory" .) (not (include "determined.makesCheckpointClaim" .)) }}true{{ end }}
{{- end -}}

{{/* Names of objects that no task may use, in addition to those that the chart creates:
     the objects that the values name, if tasks run in the release's namespace. */}}
{{- define "determined.protected" -}}
{{- $names := list -}}
{{- if and .Values.createNonNamespacedObjects (not .Values.master.priorityClassName) }}{{ $names = append $names (include "determined.priorityClass" .) }}{{ end -}}
{{- if not (include "determined.tasksElsewhere" .) -}}
{{- range list .Values.tlsSecret .Values.ingress.tlsSecret .Values.externalCaCertSecretName .Values.db.certResourceName .Values.db.existingClaim -}}
{{- if . }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- range fromYaml (include "determined.given" .) }}{{ $names = append $names .name }}{{ end -}}
{{- end -}}
{{- uniq $names | sortAlpha | toJson -}}
{{- end -}}

{{- define "determined.makesAdminPassword" -}}
{{- if not (or .Values.initialUserPassword .Values.defaultPassword .Values.initialUserPasswordExistingSecret) }}true{{ end }}
{{- end -}}
{{- /* If only the password of admin is set, determined gets the same one. */ -}}
{{- define "determined.makesDeterminedPassword" -}}
{{- if and (include "determined.makesAdminPassword" .) (not (or .Values.initialDeterminedPassword .Values.initialDeterminedPasswordExistingSecret)) }}true{{ end }}
{{- end -}}
{{- define "determined.makesDBPassword" -}}
{{- if and (include "determined.hasPostgres" .) (not (or .Values.db.password .Values.db.passwordExistingSecret)) }}true{{ end }}
{{- end -}}
{{- define "determined.makesSecrets" -}}
{{- if or (include "determined.makesAdminPassword" .) (include "determined.makesDBPassword" .) }}true{{ end }}
{{- end -}}

{{- define "determined.serviceType" -}}
{{- if .Values.masterService.type }}{{ .Values.masterService.type }}
{{- else if .Values.useNodePortForMaster }}NodePort
{{- else if or .Values.ingress.enabled .Values.openshiftRoute.enabled }}ClusterIP
{{- else }}LoadBalancer{{ end }}
{{- end -}}

{{/* The master's configuration document: all values, and release data from Helm. Values
     that concern Kubernetes objects only are omitted, so that changing them does not restart
     the master. */}}
{{- define "determined.document" -}}
{{- $values := omit .Values "master" "masterService" "ingress" "openshiftRoute" "networkPolicy" "serviceAccount" "serviceMonitor" "rbac" "coscheduler" "loadBalancerSourceRanges" "useNodePortForMaster" "masterCpuRequest" "masterMemRequest" "masterCpuLimit" "masterMemLimit" "global" -}}
{{- /* helm --set passes 7.5 as a string. */}}
{{- with .Values.slotResourceRequests.cpu }}{{- $_ := set $values "slotResourceRequests" (dict "cpu" (float64 .)) }}{{- end }}
{{- /* Older files have a namespace in a pool, which has no effect. */}}
{{- with .Values.resourcePools }}
  {{- $pools := list }}{{- range . }}{{- $pools = append $pools (omit . "kubernetes_namespace") }}{{- end }}
  {{- $_ := set $values "resourcePools" $pools }}
{{- end }}
{{- $release := dict "name" .Release.Name "namespace" .Release.Namespace "appVersion" .Chart.AppVersion "image" (include "determined.image" .) "taskNamespace" (include "determined.taskNamespace" .) "taskAccount" (include "determined.taskAccount" .) "protected" (include "determined.protected" . | fromJsonArray) -}}
{{- if include "determined.makesDeterminedPassword" . }}{{- $_ := set $release "determinedPassword" true }}{{ end }}
{{- if include "determined.makesCheckpointClaim" . }}{{- $_ := set $release "checkpointClaim" (include "determined.checkpointClaim" .) }}{{ end }}
{{- if include "determined.refusesCheckpoints" . }}{{- $_ := set $release "refusesCheckpoints" true }}{{ end }}
{{- dict "release" $release "values" $values | toJson -}}
{{- end -}}

{{/* Pod security context of the level restricted; the argument is (list $ user). OpenShift
     gives each namespace its own range of users, and rejects pods with others. */}}
{{- define "determined.podSecurity" -}}
runAsNonRoot: true
{{- if not ((index . 0).Capabilities.APIVersions.Has "security.openshift.io/v1") }}
runAsUser: {{ int (index . 1) }}
runAsGroup: {{ int (index . 1) }}
fsGroup: {{ int (index . 1) }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}
{{- define "determined.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Generates missing secrets, once; the argument is (list $ directory keys…). It writes a
     copy to the directory, because a volume cannot wait for a Secret that a container of
     its own pod creates. */}}
{{- define "determined.secretsInit" -}}
{{- $top := index . 0 -}}
- name: init-secrets
  image: {{ include "determined.image" $top | quote }}
  imagePullPolicy: {{ $top.Values.image.pullPolicy }}
  args:
    - k8s
    - init-secrets
    - --cluster-id={{ $top.Release.Name }}
    - --secret={{ include "determined.secrets" $top }}
    {{- range slice . 2 }}
    - --key={{ . }}
    {{- end }}
    - --to={{ index . 1 }}
  securityContext: {{- include "determined.containerSecurity" $top | nindent 4 }}
  {{- /* The same as the main container, which does not increase the pod's requests and
         satisfies quotas that require them for each container. */}}
  resources: {{- include "determined.masterResources" $top | nindent 4 }}
  volumeMounts:
    - {name: secrets, mountPath: {{ index . 1 }}}
{{- end -}}
