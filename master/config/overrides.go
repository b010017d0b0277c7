package config

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Overrides returns the settings of the master that have flags and environment variables.
// Environment variables take precedence over the file, and flags over both.
func Overrides() []document.Override {
	rows := []document.Override{
		{Path: "log.level", Usage: "trace, debug, info, warn, error or fatal", Values: logLevels()},
		{Path: "log.color", Usage: "use colors on a terminal", Bool: true},
		{Path: "port", Usage: "port to listen on; 0 means 8443 with TLS and 8080 without"},
		{Path: "root", Usage: "no effect: the web pages are part of the program"},
		{Path: "data_dir", Usage: "directory of the embedded database and the cluster's keys"},
		{Path: "cluster_name", Usage: "name of the cluster shown to users"},
		{Path: "db.type", Usage: "embedded or postgres", Values: []string{DBEmbedded, DBPostgres}},
		{Path: "db.url", Usage: "PostgreSQL connection URL, or a reference to it", Reference: true},
		{Path: "db.user", Usage: "PostgreSQL user"},
		{Path: "db.password", Usage: "PostgreSQL password, or a reference to it", Reference: true},
		{Path: "db.host", Usage: "PostgreSQL host"},
		{Path: "db.port", Usage: "PostgreSQL port"},
		{Path: "db.name", Usage: "PostgreSQL database"},
		{Path: "db.ssl_mode", Usage: "disable, allow, prefer, require, verify-ca or verify-full", Values: sslModes()},
		{Path: "db.ssl_root_cert", Usage: "CA file for the database's certificate"},
		{Path: "security.default_task.user", Usage: "Unix user of tasks whose owner has none"},
		{Path: "security.default_task.uid", Usage: "user ID"},
		{Path: "security.default_task.group", Usage: "Unix group of tasks whose owner has none"},
		{Path: "security.default_task.gid", Usage: "group ID"},
		{Path: "security.tls.cert", Usage: "certificate file with its full chain"},
		{Path: "security.tls.key", Usage: "private key file"},
		{Path: "security.initial_user_password", Usage: "password of admin in a new database, or a reference to it", Reference: true},
		{Path: "security.initial_determined_password", Usage: "password of determined in a new database, or a reference to it", Reference: true},
		{Path: "security.allow_blank_password", Flag: "allow-blank-password", Usage: "start a new database without a password", Bool: true},
		{Path: "security.allow_plain_http", Flag: "allow-plain-http", Usage: "listen on other addresses than loopback without TLS", Bool: true},
		{Path: "webhooks.signing_key", Usage: "key that signs webhooks, or a reference to it", Reference: true},
		{Path: "webhooks.base_url", Usage: "address of this cluster in webhooks"},
		{Path: "telemetry.enabled", Usage: "usage reports; this master sends none", Bool: true},
		{Path: "telemetry.segment_master_key", Usage: "key for usage reports of the master", Reference: true},
		{Path: "telemetry.segment_webui_key", Usage: "key for usage reports of the web UI", Reference: true},
		{Path: "telemetry.otel_enabled", Usage: "send traces", Bool: true},
		{Path: "telemetry.otel_endpoint", Usage: "collector of the traces"},
		{Path: "observability.enable_prometheus", Usage: "serve metrics for Prometheus", Bool: true},
		{Path: "enable_cors", Usage: "no effect by itself; use --cors-origins", Bool: true},
		{Path: "cors_origins", Usage: "comma-separated sites whose pages may call the API (CORS)"},
		{Path: "task_container_defaults.harness_wheel", Flag: "harness-wheel", Usage: "wheel of the library determined, for trials whose image lacks it"},
		{Path: "launch_error", Usage: "fail tasks whose machines cannot be launched", Bool: true},
	}
	for i := range rows {
		rows[i].Env = document.EnvName(rows[i].Path)
		if rows[i].Flag == "" {
			rows[i].Flag = document.FlagName(rows[i].Path)
		}
	}
	return rows
}

// StateOverrides returns those of Overrides that locate the master's state.
func StateOverrides() []document.Override {
	return slices.DeleteFunc(Overrides(), func(o document.Override) bool {
		return o.Path != "data_dir" && !strings.HasPrefix(o.Path, "db.")
	})
}
