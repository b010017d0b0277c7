package k8s

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

// status is the JSON output of status.
type status struct {
	Schema    string `json:"schema"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Context   string `json:"context"`
	// State is running, degraded if there are problems, or absent if only kept data exists.
	State installer.State `json:"state"`
	// Version is the tag of the master's image.
	Version string  `json:"version"`
	Release release `json:"release"`
	// URL is the master's external address, or empty if it has none.
	URL     string `json:"url"`
	Service string `json:"service"`
	// Upgrade is the upgrade in progress, or null.
	Upgrade *record.Upgrade `json:"upgrade"`
	// Wrong lists the problems, one sentence each.
	Wrong []string      `json:"wrong"`
	Pods  []target.Pod  `json:"pods"`
	Tasks []target.Task `json:"tasks"`

	flags string
}

// release describes the Helm release. Its status is "applied" if the chart was applied without Helm.
type release struct {
	Status   string    `json:"status"`
	Revision int       `json:"revision"`
	Chart    string    `json:"chart"`
	Updated  time.Time `json:"updated,omitzero"`
}

// Inspect reads the cluster's release, objects, pods and tasks.
func (c *opened) Inspect(ctx context.Context) (cluster.Answer, installer.State, error) {
	r, err := inspectCluster(ctx, c.Opened)
	r.flags = c.flagLine()
	return &r, r.State, err
}

func inspectCluster(ctx context.Context, k *k8swire.Opened) (status, error) {
	r := status{
		Schema: "det-deploy.k8s-status/v1", Cluster: k.ID(), Namespace: k.Namespace(), Context: k.Kube.Context(),
		Upgrade: k.Record.Upgrade, Wrong: []string{},
		Release: release{string(k.Helm.Status), k.Helm.Revision, k.Helm.Version, k.Helm.Updated.UTC()},
	}
	if err := r.diagnoseCluster(ctx, k); err != nil {
		return r, err
	}
	runs, _, err := k.Target.Runs(ctx)
	if err != nil {
		return r, err
	}
	r.Version = runs.Version
	if r.Pods, err = k.Target.Pods(ctx); err != nil {
		return r, err
	}
	if r.Tasks, err = k.Target.Tasks(ctx); err != nil {
		return r, err
	}
	e, err := k.Target.Endpoint(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return r, nil
	}
	r.URL, r.Service = e.URL, e.Service
	return r, err
}

// diagnoseCluster sets the state and the problems of the cluster.
func (r *status) diagnoseCluster(ctx context.Context, k *k8swire.Opened) error {
	if !k.Known && k.Released() {
		r.Wrong = append(r.Wrong, "there is no record: Helm itself created the release, or the record is lost; install writes a new one")
	}
	switch {
	case k.Applied:
		r.State, r.Release.Status = installer.Running, k8swire.Applied
	case !k.Released():
		return r.addAbsent(ctx, k)
	default:
		if err := r.compareObjects(ctx, k); err != nil {
			return err
		}
	}
	ill, err := k.Target.Ill(ctx)
	if err != nil {
		return err
	}
	r.Wrong = append(r.Wrong, ill...)
	if len(ill) > 0 && r.State == installer.Running {
		r.State = installer.Degraded
	}
	return nil
}

// addAbsent lists the remains of a cluster without a release.
func (r *status) addAbsent(ctx context.Context, k *k8swire.Opened) error {
	r.State = installer.Absent
	if k.Known {
		r.Wrong = append(r.Wrong, "there is no release: an install was interrupted")
	}
	left, err := k.Target.Remains(ctx)
	for _, f := range left {
		r.Wrong = append(r.Wrong, f.String()+" remains; uninstall deletes it")
	}
	return err
}

// compareObjects compares the live objects with the chart of this program. It does so only if the cluster
// runs this version, because the charts of other versions differ.
func (r *status) compareObjects(ctx context.Context, k *k8swire.Opened) error {
	r.State = installer.Running
	if runsOther(k.Target.Fits(ctx, k.Record)) {
		return nil // the differences to another version's chart are not problems
	}
	state, p, err := k.Status(ctx)
	if err != nil {
		r.State, r.Wrong = installer.Degraded, append(r.Wrong, err.Error())
		return nil
	}
	r.State = state
	for _, s := range p.Steps {
		if !s.Verb.Changes() {
			continue
		}
		for _, d := range s.Diff {
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s is %s and should be %s", d.Path, d.Have, d.Want))
		}
		if len(s.Diff) == 0 {
			r.Wrong = append(r.Wrong, s.ID+" "+s.Reason)
		}
	}
	return nil
}

// runsOther is pure. It reports whether Fits failed because the cluster runs another version or is being
// upgraded. Its other errors, such as those about kept data, do not invalidate the comparison.
func runsOther(fits error) bool {
	_, differs := errors.AsType[*installer.ReleaseError](fits)
	_, stands := errors.AsType[*installer.StandingError](fits)
	_, upgrades := errors.AsType[*installer.UnderWayError](fits)
	return differs || stands || upgrades
}

// Print writes the status as text.
func (r *status) Print(s *term.Streams) error {
	at := ""
	if r.URL != "" {
		at = " at " + r.URL
	}
	s.Printf("Cluster %s in namespace %s is %s%s.", r.Cluster, r.Namespace, r.State, at)
	switch {
	case r.Release.Status == k8swire.Applied:
		s.Printf("It runs det-deploy %s; its chart was applied without Helm and is managed by the tool that applied it.", r.Version)
	case r.Version != "":
		s.Printf("It runs det-deploy %s; its release is %s at revision %d.", r.Version, r.Release.Status, r.Release.Revision)
	}
	if r.Upgrade != nil {
		s.Printf("An upgrade to %s is in progress; continue it with `det-deploy k8s upgrade %s`, or abandon it with --abandon.", r.Upgrade.To, r.flags)
	}
	for _, w := range r.Wrong {
		s.Printf("  %s", w)
	}
	if len(r.Pods) > 0 {
		t := term.NewTable("POD", "COMPONENT", "STATE", "READY", "RESTARTS", "NODE", "AGE")
		for _, p := range r.Pods {
			t.Row(p.Name, p.Component, p.State, p.Ready, p.Restarts, p.Node, time.Since(p.Since).Round(time.Second).String())
		}
		if err := s.PrintTable(t); err != nil {
			return err
		}
	}
	printTasks(s, r.Tasks)
	if len(r.Wrong) > 0 && r.Upgrade == nil && r.Release.Status != k8swire.Applied {
		s.Notef("`det-deploy k8s install %s` repairs it.", r.flags)
	}
	return nil
}

// printTasks prints the number of task pods by state.
func printTasks(s *term.Streams, tasks []target.Task) {
	count := map[string]int{}
	var states []string
	for _, t := range tasks {
		if count[t.State]++; count[t.State] == 1 {
			states = append(states, t.State)
		}
	}
	if len(tasks) == 0 {
		s.Printf("No task pods.")
		return
	}
	line := term.Count(len(tasks), "task pod") + ":"
	for i, state := range states {
		if i > 0 {
			line += ","
		}
		line += fmt.Sprintf(" %d %s", count[state], state)
	}
	s.Printf("%s.", line)
}
