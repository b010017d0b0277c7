package config

import "github.com/det-deploy/det-deploy/cloud/secret"

// Telemetry is what is reported to others. det-deploy itself reports nothing.
type Telemetry struct {
	Enabled             bool         `yaml:"enabled" doc:"Usage reports; this master sends none"`
	SegmentMasterKey    secret.Value `yaml:"segment_master_key" doc:"Key for usage reports of the master"`
	SegmentWebUIKey     secret.Value `yaml:"segment_webui_key" doc:"Key for usage reports of the web UI"`
	OTelEnabled         bool         `yaml:"otel_enabled" doc:"Send traces by OpenTelemetry"`
	OTelEndpoint        string       `yaml:"otel_endpoint" doc:"Collector of the traces"`
	OTelExportedService string       `yaml:"otel_service_name" doc:"Service name in the traces"`
}

// DefaultTelemetry reports nothing.
func DefaultTelemetry() Telemetry { return Telemetry{OTelEndpoint: "localhost:4317"} }
