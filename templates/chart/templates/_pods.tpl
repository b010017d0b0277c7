{{/* Parts of the pods. */}}

{{- define "determined.priority" -}}
{{- if .Values.master.priorityClassName }}
priorityClassName: {{ .Values.master.priorityClassName | quote }}
{{- else if .Values.createNonNamespacedObjects }}
priorityClassName: {{ include "determined.priorityClass" . }}
{{- end }}
{{- end -}}

{{/* A mapping with string values, such as labels, annotations and selectors. helm --set and
     YAML convert some values to numbers or booleans, such as on and 1e3. A null removes the
     key. */}}
{{- define "determined.texts" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ $key | quote }}: {{ if kindIs "string" $value }}{{ $value | quote }}{{ else }}{{ toJson $value | quote }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The argument is a mapping with nodeSelector, tolerations and affinity. */}}
{{- define "determined.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- include "determined.texts" . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The argument is (list $ path). */}}
{{- define "determined.health" -}}
path: {{ index . 1 }}
port: master
{{- if (index . 0).Values.tlsSecret }}
scheme: HTTPS
{{- end }}
{{- end -}}

{{/* The argument is (list cpuRequest memRequest cpuLimit memLimit). */}}
{{- define "determined.resources" -}}
requests:
  {{- with index . 0 }}
  cpu: {{ . | quote }}
  {{- end }}
  {{- with index . 1 }}
  memory: {{ . | quote }}
  {{- end }}
{{- if or (index . 2) (index . 3) }}
limits:
  {{- with index . 2 }}
  cpu: {{ . | quote }}
  {{- end }}
  {{- with index . 3 }}
  memory: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "determined.dbResources" -}}
{{- include "determined.resources" (list .Values.db.cpuRequest .Values.db.memRequest .Values.db.cpuLimit .Values.db.memLimit) -}}
{{- end -}}

{{- define "determined.masterResources" -}}
{{- include "determined.resources" (list .Values.masterCpuRequest .Values.masterMemRequest .Values.masterCpuLimit .Values.masterMemLimit) -}}
{{- end -}}

{{/* Existing Secrets that the values name, as name=reference. Each entry is mounted at
     /etc/determined/given/<name> in the master. */}}
{{- define "determined.given" -}}
{{- $given := dict -}}
{{- with .Values.initialUserPasswordExistingSecret }}{{ $_ := set $given "admin-password" . }}{{ end -}}
{{- with .Values.initialDeterminedPasswordExistingSecret }}{{ $_ := set $given "determined-password" . }}{{ end -}}
{{- with .Values.db.passwordExistingSecret }}{{ $_ := set $given "db-password" . }}{{ end -}}
{{- range $name := list "accessKey" "secretKey" "connectionString" "credential" -}}
{{- with get $.Values.checkpointStorage (printf "%sExistingSecret" $name) }}{{ $_ := set $given (printf "storage-%s" (kebabcase $name)) . }}{{ end -}}
{{- end -}}
{{- toYaml $given -}}
{{- end -}}

{{- define "determined.masterMounts" -}}
- {name: config, mountPath: /etc/determined/helm, readOnly: true}
- {name: data, mountPath: /var/lib/determined}
- {name: tmp, mountPath: /tmp}
{{- if include "determined.makesSecrets" . }}
- {name: secrets, mountPath: /run/determined/secrets, readOnly: true}
{{- end }}
{{- if fromYaml (include "determined.given" .) }}
- {name: given, mountPath: /etc/determined/given, readOnly: true}
{{- end }}
{{- if include "determined.handsPullSecret" . }}
- {name: pull, mountPath: /etc/determined/pull, readOnly: true}
{{- end }}
{{- if .Values.tlsSecret }}
- {name: tls, mountPath: /etc/determined/tls, readOnly: true}
{{- end }}
{{- if .Values.db.certResourceName }}
- {name: db-ca, mountPath: /etc/determined/db-ca, readOnly: true}
{{- end }}
{{- if .Values.externalCaCertSecretName }}
- {name: ca, mountPath: /etc/determined/ca, readOnly: true}
{{- end }}
{{- if (.Values.taskContainerDefaults).harnessWheel }}
- {name: harness, mountPath: /etc/determined/harness, readOnly: true}
{{- end }}
{{- if .Values.checkpointStorage.mountToServer }}
- {name: checkpoints, mountPath: {{ .Values.checkpointStorage.hostPath | default "/tmp/checkpoints" | quote }}}
{{- end }}
{{- end -}}

{{- define "determined.masterVolumes" -}}
- name: config
  secret:
    secretName: {{ include "determined.config" . }}
    items: [{key: values.yaml, path: values.yaml}]
- name: data
  {{- if include "determined.hasEmbedded" . }}
  persistentVolumeClaim: {claimName: {{ include "determined.data" . | quote }}}
  {{- else }}
  emptyDir: {}
  {{- end }}
- name: tmp
  emptyDir: {}
{{- if include "determined.makesSecrets" . }}
- name: secrets
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end }}
{{- with fromYaml (include "determined.given" .) }}
- name: given
  projected:
    sources:
      {{- range $name, $ref := . }}
      - secret:
          name: {{ $ref.name | quote }}
          items: [{key: {{ $ref.key | quote }}, path: {{ $name }}}]
      {{- end }}
{{- end }}
{{- if include "determined.handsPullSecret" . }}
- name: pull
  secret: {secretName: {{ .Values.imagePullSecretName | quote }}, optional: true}
{{- end }}
{{- with (.Values.taskContainerDefaults).harnessWheel }}
- name: harness
  configMap: {name: {{ .configMap | quote }}}
{{- end }}
{{- with .Values.tlsSecret }}
- name: tls
  secret: {secretName: {{ . | quote }}}
{{- end }}
{{- if .Values.db.certResourceName }}
- name: db-ca
  {{- if eq (.Values.db.resourceType | default "secret") "configMap" }}
  configMap: {name: {{ .Values.db.certResourceName | quote }}}
  {{- else }}
  secret: {secretName: {{ .Values.db.certResourceName | quote }}}
  {{- end }}
{{- end }}
{{- with .Values.externalCaCertSecretName }}
- name: ca
  secret: {secretName: {{ . | quote }}}
{{- end }}
{{- if .Values.checkpointStorage.mountToServer }}
- name: checkpoints
  hostPath: {path: {{ .Values.checkpointStorage.hostPath | default "/tmp/checkpoints" | quote }}, type: DirectoryOrCreate}
{{- end }}
{{- end -}}

{{/* A pod that validates the values with the master's image and placement. */}}
{{- define "determined.imageCheck" -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
{{- include "determined.placement" .Values.master }}
{{- with .Values.imagePullSecretName }}
imagePullSecrets: [{name: {{ . | quote }}}]
{{- end }}
securityContext: {{- include "determined.podSecurity" (list . 65532) | nindent 2 }}
containers:
  - name: image
    image: {{ include "determined.image" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    args: [master, config, validate, --chart-values, /etc/determined/helm/values.yaml]
    securityContext: {{- include "determined.containerSecurity" . | nindent 6 }}
    {{- /* Small requests, because the old master is still running. */}}
    resources: {{- include "determined.resources" (list "10m" "64Mi" .Values.masterCpuLimit .Values.masterMemLimit) | nindent 6 }}
    volumeMounts:
      - {name: config, mountPath: /etc/determined/helm, readOnly: true}
volumes:
  - name: config
    secret: {secretName: {{ include "determined.check" . }}}
{{- end -}}
