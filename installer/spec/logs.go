package spec

import (
	"regexp"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/document"
)

// AWSLogs is where all machines send what they log.
type AWSLogs struct {
	Group         string `yaml:"group" doc:"Existing CloudWatch log group, kept by down; an own one, /det-deploy/ and the cluster's id, when empty"`
	RetentionDays int    `yaml:"retention_days" doc:"Days after which lines of the own group are deleted; 0 for never"`
	KeepOnDown    bool   `yaml:"keep_on_down" doc:"Keep the own log group when the cluster is removed"`
}

// DefaultAWSLogs keeps a month: longer than it takes to notice, and paid for.
func DefaultAWSLogs() AWSLogs { return AWSLogs{RetentionDays: 30} }

// retentionDays are the numbers of days that CloudWatch accepts.
func retentionDays() []int {
	return []int{0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
}

var logGroup = regexp.MustCompile(`^[A-Za-z0-9._/#-]{1,512}$`)

// Validate checks what CloudWatch takes.
func (l AWSLogs) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(l.Group == "" || logGroup.MatchString(l.Group) && !strings.HasPrefix(l.Group, "aws/"), document.Join(path, "group"),
		"must be up to 512 letters, digits and . _ / # -, and not begin with aws/ (is %q)", l.Group)
	e.Check(l.Group == "" || l.RetentionDays == DefaultAWSLogs().RetentionDays, document.Join(path, "retention_days"),
		"has no effect on an existing group, which keeps its retention; leave it out")
	e.Check(slices.Contains(retentionDays(), l.RetentionDays), document.Join(path, "retention_days"),
		"must be a number of days that CloudWatch knows: 0 (for ever), 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653 (is %d)", l.RetentionDays)
	return e
}
