package config

import (
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
)

// Logging is where task logs are stored.
type Logging struct {
	Default *DefaultLogging
	Elastic *ElasticLogging
}

// Variants lists the places.
func (l *Logging) Variants() []document.Variant {
	return []document.Variant{
		{Type: "default", Field: &l.Default, Default: true},
		{Type: "elastic", Field: &l.Elastic},
	}
}

// DefaultLogging stores task logs in the master's database.
type DefaultLogging struct{}

// ElasticLogging stores task logs in Elasticsearch.
type ElasticLogging struct {
	Host     string          `yaml:"host" doc:"Host of Elasticsearch"`
	Port     int             `yaml:"port" doc:"Port of Elasticsearch"`
	Security ElasticSecurity `yaml:"security" doc:"How to connect"`
}

// ElasticSecurity is how to connect to Elasticsearch.
type ElasticSecurity struct {
	Username string       `yaml:"username" doc:"User"`
	Password secret.Value `yaml:"password" doc:"Password"`
	TLS      ElasticTLS   `yaml:"tls" doc:"Encryption"`
}

// ElasticTLS is how the connection is encrypted.
type ElasticTLS struct {
	Enabled         bool   `yaml:"enabled" doc:"Use TLS"`
	SkipVerify      bool   `yaml:"skip_verify" doc:"Do not check the certificate"`
	Certificate     string `yaml:"certificate" doc:"CA file"`
	CertificateName string `yaml:"certificate_name" doc:"Name expected in the certificate"`
}

// Validate checks what Elasticsearch needs.
func (l Logging) Validate(path string) document.Errors {
	var e document.Errors
	if l.Elastic != nil {
		e.Check(l.Elastic.Host != "", document.Join(path, "host"), "is required with type elastic")
		e.Check(l.Elastic.Port > 0 && l.Elastic.Port <= 65535, document.Join(path, "port"), "must be between 1 and 65535 (is %d)", l.Elastic.Port)
	}
	return e
}
