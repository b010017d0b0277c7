{{/* Reference to the database's password: an existing Secret, the values' or the generated one. */}}
{{- define "determined.dbPasswordRef" -}}
{{- if .Values.db.passwordExistingSecret -}}
{name: {{ .Values.db.passwordExistingSecret.name | quote }}, key: {{ .Values.db.passwordExistingSecret.key | quote }}}
{{- else if .Values.db.password -}}
{name: {{ include "determined.config" . }}, key: db-password}
{{- else -}}
{name: {{ include "determined.secrets" . }}, key: db-password}
{{- end -}}
{{- end -}}

{{- define "determined.dbReady" -}}
[pg_isready, --host=127.0.0.1, {{ printf "--username=%s" .Values.db.user | quote }}, {{ printf "--dbname=%s" .Values.db.name | quote }}]
{{- end -}}
