package config

import (
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/document"
)

// RetentionPolicy is when task logs are deleted.
type RetentionPolicy struct {
	Days     *int   `yaml:"log_retention_days" doc:"Days to keep task logs; -1 or absent for ever"`
	Schedule string `yaml:"schedule" doc:"How often to delete: a duration, or five cron fields"`
}

// Keep is how long task logs are kept after their task's end; 0 is for ever.
func (r RetentionPolicy) Keep() time.Duration {
	switch {
	case r.Days == nil || *r.Days < 0:
		return 0
	case *r.Days == 0:
		return 1 // no longer than they have to be
	default:
		return time.Duration(*r.Days) * 24 * time.Hour
	}
}

// Validate checks the days and the form of the schedule.
func (r RetentionPolicy) Validate(path string) document.Errors {
	var e document.Errors
	if r.Days != nil {
		e.Check(*r.Days >= -1, document.Join(path, "log_retention_days"), "must be at least -1 (is %d)", *r.Days)
	}
	if r.Schedule != "" {
		d, err := time.ParseDuration(r.Schedule)
		e.Check((err == nil && d > 0) || len(strings.Fields(r.Schedule)) == 5, document.Join(path, "schedule"),
			"must be a duration or five cron fields (is %q)", r.Schedule)
	}
	return e
}
