package spec

import (
	"regexp"
	"strings"

	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Storage is where experiments store checkpoints.
type Storage struct {
	config.Saved `yaml:",inline"`
	Bucket       string `yaml:"bucket" doc:"Existing bucket, kept by down; an own one when empty"`
	Prefix       string `yaml:"prefix" doc:"Beginning of each object's name"`
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func (s Storage) validate(path string) document.Errors {
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
