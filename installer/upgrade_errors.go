package installer

import (
	"fmt"

	"github.com/det-deploy/det-deploy/installer/record"
)

// AbsentError is a cluster that has no master to work on.
type AbsentError struct{ Cluster string }

func (e *AbsentError) Error() string { return fmt.Sprintf("cluster %s has no master", e.Cluster) }

// Hint says how to get one.
func (e *AbsentError) Hint() string { return "run `up` for it first" }

// unfinishedError is an upgrade that went past the point of no return and was not
// finished.
type unfinishedError struct{ to record.Release }

func (e *unfinishedError) Error() string {
	return fmt.Sprintf("the upgrade to %s was committed and is not finished", e.to)
}

func (e *unfinishedError) Hint() string {
	return fmt.Sprintf("run upgrade with det-deploy %s first, then upgrade again", e.to)
}

// UnderWayError refuses to bring a cluster up in the middle of an upgrade: what is on
// hold would begin to serve untried.
type UnderWayError struct {
	Cluster string
	To      record.Release
}

func (e *UnderWayError) Error() string {
	return fmt.Sprintf("an upgrade of cluster %s to %s is under way", e.Cluster, e.To)
}

// Hint says how to finish it.
func (e *UnderWayError) Hint() string {
	return "run `det-deploy upgrade --cluster-id " + e.Cluster + "` to finish it"
}

// CommittedError is a new master that does not serve although it could when it was
// tried.
type CommittedError struct {
	Upgrade record.Upgrade
	Err     error
}

func (e *CommittedError) Error() string {
	return fmt.Sprintf("start %s after the commit: %v", e.Upgrade.To, e.Err)
}

func (e *CommittedError) Unwrap() error { return e.Err }

// Hint says how to go on.
func (e *CommittedError) Hint() string {
	if e.Upgrade.Backup == "" {
		return "run the same command again; it goes on from here"
	}
	return "run the same command again; it goes on from here. The store as it was before is in " + e.Upgrade.Backup
}

// ReleaseError is a program that differs from the one that the cluster runs.
type ReleaseError struct {
	Cluster   string
	Runs, Own record.Release
	// Command upgrades: "det-deploy local upgrade".
	Command string
}

func (e *ReleaseError) Error() string {
	if e.Runs.Version == e.Own.Version {
		return fmt.Sprintf("cluster %s runs another build of det-deploy %s than this one", e.Cluster, e.Own.Version)
	}
	return fmt.Sprintf("cluster %s runs det-deploy %s and this is %s", e.Cluster, e.Runs.Version, e.Own.Version)
}

// Hint says what changes it.
func (e *ReleaseError) Hint() string {
	return fmt.Sprintf("run `%s` to bring the cluster to this one, or use det-deploy %s", e.Command, e.Runs.Version)
}
