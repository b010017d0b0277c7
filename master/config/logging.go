package config

import (
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Log configures the master's own log.
type Log struct {
	Level string `yaml:"level" doc:"trace, debug, info, warn, error or fatal"`
	Color bool   `yaml:"color" doc:"Use colors on a terminal"`
}

// DefaultLog returns the default settings.
func DefaultLog() Log { return Log{Level: "info", Color: true} }

// logLevels returns the levels of Determined 0.38.1.
func logLevels() []string { return []string{"trace", "debug", "info", "warn", "error", "fatal"} }

// Validate checks the level.
func (l Log) Validate(path string) document.Errors {
	return document.OneOf(document.Join(path, "level"), l.Level, logLevels())
}

// Logging configures the storage of task logs.
type Logging struct {
	Default *DefaultLogging
	Elastic *ElasticLogging
}

// Variants returns the types of storage.
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

// ElasticSecurity configures the connection to Elasticsearch.
type ElasticSecurity struct {
	Username string       `yaml:"username" doc:"User"`
	Password secret.Value `yaml:"password" doc:"Password"`
	TLS      ElasticTLS   `yaml:"tls" doc:"Encryption"`
}

// ElasticTLS configures TLS to Elasticsearch.
type ElasticTLS struct {
	Enabled         bool   `yaml:"enabled" doc:"Use TLS"`
	SkipVerify      bool   `yaml:"skip_verify" doc:"Do not check the certificate"`
	Certificate     string `yaml:"certificate" doc:"CA file"`
	CertificateName string `yaml:"certificate_name" doc:"Name expected in the certificate"`
}

// Validate checks the settings of Elasticsearch.
func (l Logging) Validate(path string) document.Errors {
	var e document.Errors
	if l.Elastic != nil {
		e.Check(l.Elastic.Host != "", document.Join(path, "host"), "is required with type elastic")
		e.Check(l.Elastic.Port > 0 && l.Elastic.Port <= 65535, document.Join(path, "port"), "must be between 1 and 65535 (is %d)", l.Elastic.Port)
	}
	return e
}

// RetentionPolicy configures when task logs are deleted, and how long ended tasks are listed.
type RetentionPolicy struct {
	Days     *int   `yaml:"log_retention_days" doc:"Days to keep task logs; -1 or unset: keep forever"`
	Schedule string `yaml:"schedule" doc:"Interval between deletions: a duration, or five cron fields"`

	ListedHours int `yaml:"listed_hours" doc:"Hours that ended tasks are listed; 0 or unset: 24. Their logs stay"`
	ListedTasks int `yaml:"listed_tasks" doc:"Maximum number of ended tasks that are listed, most recent first; 0 or unset: all"`
}

// Listed returns how long ended tasks are listed; 0 means the default.
func (r RetentionPolicy) Listed() time.Duration { return time.Duration(r.ListedHours) * time.Hour }

// Keep returns how long task logs are kept after the end of their task; 0 means forever.
func (r RetentionPolicy) Keep() time.Duration {
	switch {
	case r.Days == nil || *r.Days < 0:
		return 0
	case *r.Days == 0:
		return 1 // the shortest time that is not zero
	default:
		return time.Duration(*r.Days) * 24 * time.Hour
	}
}

// mostHours is a hundred years.
const mostHours = 876_000

// Validate checks the numbers and the syntax of the schedule.
func (r RetentionPolicy) Validate(path string) document.Errors {
	var e document.Errors
	if r.Days != nil {
		e.Check(*r.Days >= -1, document.Join(path, "log_retention_days"), "must be at least -1 (is %d)", *r.Days)
	}
	e.Check(r.ListedHours >= 0 && r.ListedHours <= mostHours, document.Join(path, "listed_hours"), "must be 0 to %d (is %d)", mostHours, r.ListedHours)
	e.Check(r.ListedTasks >= 0, document.Join(path, "listed_tasks"), "must not be negative (is %d)", r.ListedTasks)
	if r.Schedule != "" {
		d, err := time.ParseDuration(r.Schedule)
		e.Check((err == nil && d > 0) || len(strings.Fields(r.Schedule)) == 5, document.Join(path, "schedule"),
			"must be a duration or five cron fields (is %q)", r.Schedule)
	}
	return e
}
