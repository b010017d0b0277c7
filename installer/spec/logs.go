package spec

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

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

var (
	logGroup   = regexp.MustCompile(`^[A-Za-z0-9._/#-]{1,512}$`)
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
)

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

// Validate checks the bucket's name and the numbers.
func (s AWSStorage) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(s.Bucket == "" || bucketName.MatchString(s.Bucket), at("bucket"), "must be the name of a bucket (is %q)", s.Bucket)
	e.Check(!strings.HasPrefix(s.Prefix, "/") && !strings.Contains(s.Prefix, ".."), at("prefix"), "must be a relative path without .. (is %q)", s.Prefix)
	count := func(key string, n int) { e.Check(n >= 0, at(key), "must be at least 0 (is %d)", n) }
	count("save_experiment_best", s.ExperimentBest)
	count("save_trial_best", s.TrialBest)
	count("save_trial_latest", s.TrialLatest)
	return e
}

// Tags is further tags, as a mapping or as a list of key=value.
type Tags map[string]string

// UnmarshalDocument reads a mapping, or what a flag has: key=value,key=value.
func (t *Tags) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		var m map[string]string
		if v.Decode(&m) {
			*t = m
		}
		return
	}
	out := Tags{}
	for part := range strings.SplitSeq(v.Text(), ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			v.Complain("must be key=value, separated by commas", "")
			return
		}
		out[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	*t = out
}

// DocumentShape names the written form.
func (Tags) DocumentShape() string { return "map of text" }

// MarshalDocument writes the mapping.
func (t Tags) MarshalDocument() any { return map[string]string(t) }

// tagText reports whether every service of Amazon's that the cluster uses takes s in
// a tag.
func tagText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.Z, unicode.N) && !strings.ContainsRune("_.:/=+@-", r)
	})
}

// reservedKeys are the keys that the cluster sets itself.
func reservedKeys() []string { return []string{"Name", "managed_by"} }

// maxTags is Amazon's 50 a resource, less those of the cluster's own.
const maxTags = 40

// Validate checks Amazon's limits, and that no tag of the cluster's own is taken.
func (t Tags) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(len(t) <= maxTags, path, "must be at most %d (are %d)", maxTags, len(t))
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		at := document.Join(path, key)
		// IAM takes keys that differ only in case for the same.
		same := func(name string) bool { return strings.EqualFold(name, key) }
		ours := slices.ContainsFunc(reservedKeys(), same)
		other, twice := seen[strings.ToLower(key)]
		e.Check(!twice, at, "differs from %s only in case, which IAM does not tell apart", other)
		seen[strings.ToLower(key)] = key
		for _, p := range []string{"det-deploy-", "determined-", "det-"} {
			ours = ours || strings.HasPrefix(strings.ToLower(key), p)
		}
		e.Check(!ours, at, "is a tag that the cluster puts on by itself")
		e.Check(!strings.HasPrefix(strings.ToLower(key), "aws:"), at, "begins with aws:, which is Amazon's own")
		e.Check(key != "" && len([]rune(key)) <= 128, at, "must have a key of 1 to 128 characters")
		e.Check(t[key] != "" && len([]rune(t[key])) <= 256, at, "must have a value of 1 to 256 characters")
		e.Check(tagText(key+t[key]), at, "must be letters, digits, spaces and _ . : / = + - @ only, as must its value (is %q)", t[key])
	}
	return e
}
