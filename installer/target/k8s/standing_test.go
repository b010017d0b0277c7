package k8s_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/templates"
	"github.com/det-deploy/det-deploy/test/rest"
)

// master is the name of the master's Deployment in every stage.
const master = "determined-master-deployment-lab"

// newInstalled returns a stage, prepared by before, with an installed cluster whose master is
// available.
func newInstalled(t *testing.T, before ...func(*stage)) *stage {
	t.Helper()
	s := newStage(t)
	for _, do := range before {
		do(s)
	}
	must(t, s.up(t.Context()))
	s.settled()
	return s
}

// settled waits until the master is available.
func (s *stage) settled() {
	s.t.Helper()
	s.kubectl("-n", s.namespace, "rollout", "status", "deployment/"+master, "--timeout=180s")
}

// helm upgrades the release like `helm upgrade --no-hooks`, without det-deploy.
func (s *stage) helm(version string, values chart.Values) {
	s.t.Helper()
	_, err := helm.Open(helm.Config{Kube: s.open(nil)}).Upgrade(s.t.Context(), helm.Release{Name: "lab", Namespace: s.namespace, Values: values, Chart: templates.Chart(version), Without: []string{"templates/check.yaml"}})
	must(s.t, err)
}

// halt scales the master to zero without det-deploy.
func (s *stage) halt() {
	s.t.Helper()
	_, err := s.api.AppsV1().Deployments(s.namespace).Patch(s.t.Context(), master, types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{})
	must(s.t, err)
}

// remember records an upgrade like a process that is killed afterwards.
func (s *stage) remember(committed bool) {
	s.t.Helper()
	s.record(func(r *record.Record) {
		r.Upgrade = &record.Upgrade{From: record.Release{Version: "1.0.0"}, To: record.Release{Version: "1.1.0"}, Committed: committed}
	})
}

// record changes the record with the lease.
func (s *stage) record(edit func(*record.Record)) {
	s.t.Helper()
	ctx, store := s.t.Context(), s.installer(s.t.Context()).Store
	lease, err := record.Acquire(ctx, record.Request{Cluster: "lab", Store: store, Holder: record.Holder{Owner: "ann", Nonce: "x"}})
	must(s.t, err)
	book, err := record.Open(ctx, store, lease, record.Record{Cluster: "lab"})
	must(s.t, err)
	must(s.t, book.Change(ctx, edit))
	must(s.t, lease.Release(ctx))
}

// stand brings the cluster to the state of an interrupted upgrade or first install.
func (s *stage) stand(at installer.Standing) {
	s.t.Helper()
	right := s.values
	if at == installer.Unproven {
		s.tagged(missingTag)
	}
	if at != installer.Missing {
		must(s.t, s.up(s.t.Context()))
	}
	s.values = right
	if at == installer.Missing || at == installer.Unproven {
		return
	}
	s.settled()
	s.record(func(r *record.Record) { r.Ready = time.Now() }) // like an install with --wait
	switch at {
	case installer.Ill:
		s.helm("1.0.0", s.with("image", tree{"tag": missingTag}))
	case installer.Lost:
		s.halt()
	case installer.Begun, installer.Returned:
		s.remember(at == installer.Returned)
	case installer.Halted, installer.Committed:
		s.halt()
		s.remember(at == installer.Committed)
	case installer.Stuck:
		s.helm("1.1.0", s.nowhere())
		s.remember(true)
	case installer.Taken:
		s.helm("1.1.0", s.values)
		s.settled()
		s.remember(true)
	case installer.Missing, installer.Unproven, installer.Serving:
	}
}

// at returns the standing of the cluster.
func (s *stage) at() installer.Standing {
	s.t.Helper()
	in := s.installer(s.t.Context())
	r, _, _, err := record.Read(s.t.Context(), in.Store)
	must(s.t, err)
	observed, err := installer.ObserveRelease(s.t.Context(), in.Deployment.(*k8s.Target), r)
	must(s.t, err)
	return installer.StandingOf(observed)
}

// do runs the command of an act.
func (s *stage) do(act installer.Act) error {
	ctx := s.t.Context()
	in := s.installer(ctx)
	switch act {
	case installer.ActInstall:
		r, _, _, err := record.Read(ctx, in.Store)
		if err == nil {
			err = in.Deployment.(*k8s.Target).Fits(ctx, r)
		}
		if err != nil {
			return err
		}
		return s.up(ctx)
	case installer.ActUpgrade:
		s.version = "1.1.0"
		_, err := s.upgrade(ctx)
		return err
	case installer.ActAbandon:
		_, err := in.Abandon(ctx)
		return err
	case installer.ActUninstall:
	}
	_, err := s.down(ctx, true)
	return err
}

// For each standing of a cluster, each act either succeeds or its error names the one that does.
// After that act the cluster serves, and every act works again. The ordinary run tests one act for
// each standing.
func TestEveryStandingHasNextStep(t *testing.T) {
	t.Parallel()
	for i, at := range installer.Standings() {
		var leads, refused []installer.Act
		for _, act := range []installer.Act{installer.ActInstall, installer.ActUpgrade, installer.ActAbandon} {
			lead := at.Instead(act)
			if lead != act {
				refused = append(refused, act)
			}
			if !slices.Contains(leads, lead) {
				leads = append(leads, lead)
			}
		}
		for n, lead := range rest.Choose(leads[i%len(leads):][:1], leads) {
			var try []installer.Act
			if n == 0 {
				try = refused
			}
			t.Run(fmt.Sprintf("%s, %s", at, lead), func(t *testing.T) {
				t.Parallel()
				leadOut(t, at, try, lead)
			})
		}
	}
}

// leadOut brings a cluster to a standing, and from there to a serving cluster.
func leadOut(t *testing.T, at installer.Standing, refused []installer.Act, lead installer.Act) {
	t.Helper()
	s := newStage(t)
	playing(s)
	s.stand(at)
	eventually(t, func() error {
		if got := s.at(); got != at {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	for _, act := range refused {
		wantNamed(t, s.do(act), at.Instead(act))
		s.version = "1.0.0"
	}
	if err := s.do(lead); err != nil {
		t.Fatalf("%s: got %v, want that it works", lead, err)
	}
	if lead == installer.ActUninstall {
		s.wantNothing()
		return
	}
	s.settled()
	if got := s.at(); got != installer.Serving {
		t.Errorf("after %s it is %s, want it serving", lead, got)
	}
	must(t, s.do(installer.ActInstall))
}

// nowhere returns values with which the master's pod cannot be scheduled.
func (s *stage) nowhere() chart.Values {
	return s.with("master", tree{"nodeSelector": tree{"stage": "none"}})
}

// Other values or a restart do not change the release of a version: once it has answered, nothing
// returns to the version before.
func TestOtherValuesAreNoOtherRelease(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newStage(t)
	playing(s)
	right := s.values
	must(t, s.up(t.Context()))
	s.settled()
	s.helm("1.1.0", right)
	s.settled()
	s.version = "1.1.0"
	s.record(func(r *record.Record) { r.Ready, r.Answered = time.Now(), record.Release{Version: "1.1.0"} })
	s.helm("1.1.0", s.nowhere())
	s.unsettled()
	if got := s.at(); got != installer.Serving {
		t.Fatalf("with values that are wrong: got it %s, want it serving", got)
	}
	if would, err := s.installer(t.Context()).PlanAbandon(t.Context()); err != nil || would.Changed {
		t.Errorf("abandon: got %+v and %v, want nothing to give up", would, err)
	}
	s.values = right
	must(t, s.do(installer.ActInstall))
	s.settled()
}

// unsettled waits until the updated master is not available.
func (s *stage) unsettled() {
	s.t.Helper()
	eventually(s.t, func() error {
		d, err := s.api.AppsV1().Deployments(s.namespace).Get(s.t.Context(), master, metav1.GetOptions{})
		if err == nil && (d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas > 0 || d.Status.UpdatedReplicas == 0) {
			err = fmt.Errorf("it is %+v", d.Status)
		}
		return err
	})
}

// A new master that has answered is not rolled back: neither by a later run while no node has room,
// nor by abandoning the upgrade.
func TestServingMasterIsNotRolledBack(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newInstalled(t, playing)
	s.version = "1.1.0"
	s.cutting("wait for the cluster", func(ctx context.Context) error { _, err := s.upgrade(ctx); return err })
	right := s.values
	s.helm("1.1.0", s.nowhere())
	s.unsettled()
	if got := s.at(); got != installer.Taken {
		t.Fatalf("got it %s, want it taken", got)
	}
	s.values = s.nowhere()
	target := s.installer(t.Context()).Deployment.(*k8s.Target)
	target.Limit = time.Second
	if err := target.Finish(t.Context(), func(string) {}); err == nil {
		t.Error("got no error of a master that does not become ready")
	}
	if runs, _, err := target.Runs(t.Context()); err != nil || runs.Version != "1.1.0" {
		t.Errorf("got %s and %v, want the new master where it is", runs, err)
	}
	wantNamed(t, s.do(installer.ActAbandon), installer.ActUpgrade)
	s.values = right
	must(t, s.do(installer.ActUpgrade))
	if got := s.at(); got != installer.Serving {
		t.Errorf("got it %s, want it serving", got)
	}
}

// wantNamed fails the test unless the hint of an error names the command of an act.
func wantNamed(t *testing.T, err error, act installer.Act) {
	t.Helper()
	hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !ok || !strings.Contains(hinted.Hint(), string(act)) {
		t.Fatalf("got %v, want a hint that names %s", err, act)
	}
}

func eventually(t *testing.T, yes func() error) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(3 * time.Minute); ; <-tick.C {
		err := yes()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
