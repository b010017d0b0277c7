package spec

import (
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Security is who may do what, and what that may cost, as in master.yaml.
type Security struct {
	DefaultTask config.AgentUser  `yaml:"default_task" doc:"Unix user of tasks whose owner has none linked"`
	TrustUsers  bool              `yaml:"trust_users" doc:"Let every user submit tasks; otherwise only administrators may"`
	Visibility  config.Visibility `yaml:"visibility" doc:"Whose logs users see: open, everybody's; private, their own"`
	Audit       config.AuditLog   `yaml:"audit" doc:"Who did what: det-deploy audit"`
	Proxies     config.Proxies    `yaml:"proxies" doc:"Balancers and proxies in front of the master"`
	Limits      config.Limits     `yaml:"limits" doc:"What strangers and users may cost"`
}

// DefaultSecurity is the security before the user says anything.
func DefaultSecurity() Security {
	m := config.DefaultSecurity()
	return Security{m.DefaultTask, m.TrustUsers, m.Visibility, m.Audit, m.Proxies, m.Limits}
}

// Over puts the settings over those of a master.
func (s Security) Over(m config.Security) config.Security {
	m.DefaultTask, m.TrustUsers, m.Visibility = s.DefaultTask, s.TrustUsers, s.Visibility
	m.Audit, m.Proxies, m.Limits = s.Audit, s.Proxies, s.Limits
	return m
}

// Validate keeps the rules of master.yaml.
func (s Security) Validate(path string) document.Errors {
	return s.Over(config.DefaultSecurity()).Validate(path)
}
