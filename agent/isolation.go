package agent

import (
	"errors"
	"slices"
	"strings"
)

// processLimits reports the features that a runtime of plain processes lacks; nil means none.
type processLimits interface {
	Isolation() error
	FixedPaths() error
}

// describeLimits returns the reasons why tasks are not isolated and why their files are not at
// fixed paths, for the master; a reason is empty if the feature is available. It logs one warning
// for both.
func describeLimits(cfg Config, p processLimits) (notIsolated, noFixedPaths string) {
	var follows, because []string
	if err := p.Isolation(); err != nil {
		notIsolated = reasonWithRemedy(err)
		because = append(because, notIsolated)
		if cfg.Settings.TrustUsers {
			follows = append(follows, "tasks are not isolated: users who may submit tasks can do everything that this agent's user can")
		} else {
			follows = append(follows, "tasks are not isolated: only tasks of administrators run here; to run tasks of all users, set trust_users: true in agent.yaml")
		}
	}
	if err := p.FixedPaths(); err != nil {
		noFixedPaths = reasonWithRemedy(err)
		because = append(because, noFixedPaths)
		follows = append(follows, "files of tasks are not at fixed paths: trials of experiments do not run here")
	}
	if len(follows) > 0 {
		cfg.Log.Warn("this agent cannot run every task", "tasks", strings.Join(follows, "; "), "because", strings.Join(slices.Compact(because), "; "))
	}
	return notIsolated, noFixedPaths
}

// reasonWithRemedy formats an error and its remedy on one line.
func reasonWithRemedy(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ") + "; " + remedyOf(err)
}

// remedyOf returns the hint of an error, or a general one.
func remedyOf(err error) string {
	if hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return hinted.Hint()
	}
	return "run the agent as root, or start Docker"
}
