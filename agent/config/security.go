package config

import "github.com/det-deploy/det-deploy/internal/document"

// Security configures the connection to the master.
type Security struct {
	TLS TLS `yaml:"tls" doc:"Encryption"`
}

// TLS configures encryption and trust of the connection.
type TLS struct {
	Enabled        bool   `yaml:"enabled" doc:"Use TLS"`
	SkipVerify     bool   `yaml:"skip_verify" doc:"Do not verify the master's certificate"`
	MasterCert     string `yaml:"master_cert" doc:"CA file for the master's certificate; default: the system's CAs"`
	MasterCertName string `yaml:"master_cert_name" doc:"Name in the master's certificate; default: master_host"`
	ClientCert     string `yaml:"client_cert" doc:"Certificate file of this agent"`
	ClientKey      string `yaml:"client_key" doc:"Private key file of this agent"`
}

// Validate returns an error for each conflicting setting.
func (t TLS) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(!t.SkipVerify || t.MasterCert == "", at("skip_verify"), "excludes master_cert; keep one")
	e.Check(t.ClientCert == "" || t.ClientKey != "", at("client_key"), "is required when client_cert is set")
	e.Check(t.ClientKey == "" || t.ClientCert != "", at("client_cert"), "is required when client_key is set")
	others := t.SkipVerify || t.MasterCert != "" || t.MasterCertName != "" || t.ClientCert != ""
	e.Check(t.Enabled || !others, at("enabled"), "must be true if other settings of tls are set")
	return e
}
