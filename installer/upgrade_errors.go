package installer

import (
	"cmp"
	"fmt"

	"github.com/det-deploy/det-deploy/installer/record"
)

// AbsentError reports that the cluster has no master.
type AbsentError struct {
	Cluster string
	// Command installs one; empty means `up`.
	Command string
}

func (e *AbsentError) Error() string { return fmt.Sprintf("cluster %s has no master", e.Cluster) }

// Hint names the command.
func (e *AbsentError) Hint() string { return "run `" + cmp.Or(e.Command, "up") + "` for it first" }

// unfinishedError reports a committed upgrade that is not finished.
type unfinishedError struct {
	to record.Release
	// abandon is the command that abandons it, or "".
	abandon string
}

func (e *unfinishedError) Error() string {
	return fmt.Sprintf("the upgrade to %s was committed and is not finished", e.to)
}

func (e *unfinishedError) Hint() string {
	return fmt.Sprintf("run upgrade with det-deploy %s first, then upgrade again", e.to) + orAbandon(e.abandon)
}

// orAbandon returns a phrase with the command that abandons an upgrade, or "".
func orAbandon(command string) string {
	if command == "" {
		return ""
	}
	return "; or abandon it with `" + command + "`"
}

// UnderWayError reports an upgrade in progress to `up`, which would make an untested master serve.
type UnderWayError struct {
	Cluster string
	To      record.Release
	// Abandon is the command that abandons it, or "".
	Abandon string
}

func (e *UnderWayError) Error() string {
	return fmt.Sprintf("an upgrade of cluster %s to %s is in progress", e.Cluster, e.To)
}

// Hint names the command that finishes it.
func (e *UnderWayError) Hint() string {
	return "run `det-deploy upgrade --cluster-id " + e.Cluster + "` to finish it" + orAbandon(e.Abandon)
}

// CommittedError reports that the new master does not serve, although it passed its test on hold.
type CommittedError struct {
	Upgrade record.Upgrade
	Err     error

	abandon string
}

func (e *CommittedError) Error() string {
	return fmt.Sprintf("start %s after the commit: %v", e.Upgrade.To, e.Err)
}

func (e *CommittedError) Unwrap() error { return e.Err }

// Hint names the commands that continue.
func (e *CommittedError) Hint() string {
	again := "run the same command again; it continues from here" + orAbandon(e.abandon)
	if e.Upgrade.Backup == "" {
		return again
	}
	return again + ". The store as it was before is in " + e.Upgrade.Backup
}

// ReleaseError reports that this program differs from the one that the cluster runs.
type ReleaseError struct {
	Cluster   string
	Runs, Own record.Release
	// Command is the command that upgrades, such as "det-deploy local upgrade".
	Command string
}

func (e *ReleaseError) Error() string {
	if e.Runs.Version == e.Own.Version {
		return fmt.Sprintf("cluster %s runs a different build of det-deploy %s", e.Cluster, e.Own.Version)
	}
	return fmt.Sprintf("cluster %s runs det-deploy %s and this is %s", e.Cluster, e.Runs.Version, e.Own.Version)
}

// Hint names the command.
func (e *ReleaseError) Hint() string {
	return fmt.Sprintf("run `%s` to upgrade the cluster to this version, or use det-deploy %s", e.Command, e.Runs.Version)
}

// TakenBackError reports that the new master did not start to serve and the old one was restored.
type TakenBackError struct{ Err error }

func (e *TakenBackError) Error() string {
	return fmt.Sprintf("%v; the release was rolled back, and serves", e.Err)
}

func (e *TakenBackError) Unwrap() error { return e.Err }

// StandingError reports that an action is impossible in the state of the cluster.
type StandingError struct {
	Cluster, Platform string
	At                Standing
	Act               Act
	Observation       Observation
}

func (e *StandingError) Error() string {
	switch e.At {
	case Unproven:
		return fmt.Sprintf("the master of cluster %s, det-deploy %s, has not answered yet, and nothing else has", e.Cluster, e.Observation.Runs)
	case Ill:
		return fmt.Sprintf("the master of cluster %s, det-deploy %s, has not answered; before it ran %s", e.Cluster, e.Observation.Runs, e.Observation.Former)
	case Taken:
		return fmt.Sprintf("the new master of cluster %s, det-deploy %s, has answered, and the old one cannot read the data that it has written", e.Cluster, e.Observation.Runs)
	case Missing, Serving, Lost, Begun, Halted, Committed, Stuck, Returned:
	}
	return fmt.Sprintf("cluster %s is %s", e.Cluster, e.At)
}

// Hint names the action that leads on.
func (e *StandingError) Hint() string {
	next := e.At.Instead(e.Act)
	hint := "run `" + formatCommand(e.Platform, e.Cluster, next) + "`"
	switch next {
	case ActInstall:
		return hint + " with correct values or the correct version"
	case ActUninstall:
		return hint + ", or install again with correct values or the correct version"
	case ActAbandon:
		return hint + " to go back to it first"
	case ActUpgrade:
	}
	return hint + " to finish the upgrade"
}
