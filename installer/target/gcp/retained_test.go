package gcp_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// byID returns a new process that knows only the cluster ID, project and region.
func (s *stage) byID(t *testing.T) *installer.Installer {
	t.Helper()
	gate, free := new(resource.Gate), s.clients(nil)
	place := spec.GCP{Common: spec.Common{Cluster: "lab"}, Project: gcptest.Project, Region: "us-central1"}
	target, err := gcp.Open(t.Context(), gcp.Config{
		Layout: layout.Layout{Spec: place}, Unread: true, Clients: s.clients(gate), Free: free, Options: hosted.Options{Pause: s.Pause},
	})
	must(t, err)
	return &installer.Installer{
		Cluster: "lab", Platform: "gcp", Deployment: target, Store: target.Store(), Gate: gate,
		Holder: record.Holder{Owner: "ann", Host: "h", Nonce: "a"},
	}
}

func (s *stage) downByID(t *testing.T, deleteData bool) installer.Receipt {
	t.Helper()
	in := s.byID(t)
	p, err := in.PlanDown(t.Context(), deleteData)
	must(t, err)
	r, err := in.Down(t.Context(), p, deleteData)
	must(t, err)
	return r
}

// kept lists the resources that a receipt kept, with the reasons.
func kept(r installer.Receipt) []string {
	var out []string
	for _, f := range r.Kept {
		out = append(out, f.Kind+" "+f.Name+": "+f.Retain)
	}
	slices.Sort(out)
	return out
}

func (s *stage) password(t *testing.T) string {
	t.Helper()
	text, err := storage.SecretSource{Clients: s.clients(nil)}.Secret(t.Context(), secret.Ref{Scheme: secret.GCP, Name: "det-deploy-lab-admin-password"})
	must(t, err)
	return text
}

// writeLog writes an entry to the cluster's log, as its machines do.
func (s *stage) writeLog(t *testing.T) {
	t.Helper()
	must(t, api.Send(t.Context(), s.clients(nil).Logging.Entries.Write(&logging.WriteLogEntriesRequest{Entries: []*logging.LogEntry{{
		LogName: api.LogName(gcptest.Project, "det-deploy-lab"), TextPayload: "hello", InsertId: "1",
		Timestamp: time.Now().Format(time.RFC3339Nano), Resource: &logging.MonitoredResource{Type: "global"},
	}}})))
}

func TestDownKeepsDataAndItsSecrets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.Up(t.Context()))
		must(t, hostedtest.Life{Stage: &s.Stage}.Upgrade(t.Context()))
		password := s.password(t)
		receipt, err := s.Down(t.Context(), false)
		must(t, err)
		want := []string{
			"bucket det-deploy-lab-data-415104041262: holds the checkpoints",
			"disk det-lab-data: holds the database",
			"secret det-deploy-lab-admin-password: required by the cluster's data",
			"secret det-deploy-lab-determined-password: required by the cluster's data",
			"settings lab: are used when the cluster is created again",
			"snapshot det-lab-before-1: holds a backup of the database",
		}
		got := kept(receipt)
		if len(got) != len(want) || !slices.Equal(got[:5], want[:5]) || !strings.HasPrefix(got[5], "snapshot det-lab-before-") {
			t.Errorf("got %q, want %q", got, want)
		}
		got = slices.Delete(got, 4, 5) // the command adds the settings
		if again := kept(installer.KeptReceipt(planDown(t, s.byID(t)))); !slices.Equal(again, got) {
			t.Errorf("a second down: got %q, want %q", again, got)
		}
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		if now := s.password(t); now != password {
			t.Errorf("got password %q after another up, want the first one", now)
		}
		s.downByID(t, true)
		s.downByID(t, true) // may be repeated
		s.wantLeft(t)
	})
}

func planDown(t *testing.T, in *installer.Installer) plan.Plan {
	t.Helper()
	p, err := in.PlanDown(t.Context(), false)
	must(t, err)
	return p
}

// Secrets are deleted with the data that they open.
func TestSecretsAreDeletedWithTheirData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.Up(t.Context()))
		_, err := s.Down(t.Context(), false)
		must(t, err)
		c := s.clients(nil)
		must(t, errors.Join(api.Delete(t.Context(), c.Storage.Buckets.Delete("det-deploy-lab-data-415104041262")), api.Run(t.Context(), c, c.Compute.Disks.Delete(c.Project, "us-central1-a", "det-lab-data"))))
		s.downByID(t, false)
		s.wantLeft(t)
	})
}

// A disk of the user is always kept, and so are the secrets that open it.
func TestDownKeepsSecretsOfExistingDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "data-disk", "mine")
		s.world.GiveDisk(gcptest.Project, "us-central1-b", "mine", 200)
		before := s.world.Live()
		must(t, s.Up(t.Context()))
		must(t, hostedtest.Life{Stage: &s.Stage}.Upgrade(t.Context()))
		receipt, err := s.Down(t.Context(), false)
		must(t, err)
		if got := strings.Join(kept(receipt), "\n"); !strings.Contains(got, "admin-password: required by disk mine, which is kept") || !strings.Contains(got, "snapshot ") {
			t.Errorf("got %s", got)
		}
		if _, err := api.Do(t.Context(), s.clients(nil).Compute.Disks.Get(gcptest.Project, "us-central1-b", "mine")); err != nil {
			t.Error(err)
		}
		s.downByID(t, true)
		s.wantLeft(t, before...)
	})
}

// The log is kept if the setting that decides cannot be read.
func TestDownKeepsLogIfSettingsCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.Up(t.Context()))
		s.writeLog(t)
		if got := kept(s.downByID(t, false)); !slices.Contains(got, "log det-deploy-lab: log retention is enabled") {
			t.Errorf("got %q, want the log among it", got)
		}
		s.downByID(t, true)
		if got := s.world.LogEntries("projects/" + gcptest.Project + "/logs/det-deploy-lab"); len(got) > 0 {
			t.Errorf("got %v, want none when all data is to go", got)
		}
	})
}

// Data of an earlier cluster stays in its zone. The error names the flag that places the master
// there, and with that flag `up` succeeds.
func TestDataInAnotherZoneNamesTheFlag(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, tt := range []struct{ flag, first, second, want string }{
			{"zone", "us-central1-b", "us-central1-a", "--zone us-central1-b"},
			{"data-disk-type", "pd-ssd", "pd-balanced", "set --data-disk-type to pd-ssd"},
		} {
			s := newStage(t, gcptest.Options{}, tt.flag, tt.first)
			must(t, s.Up(t.Context()))
			_, err := s.Down(t.Context(), false)
			must(t, err)
			s.Set(tt.flag, tt.second)
			err = s.Up(t.Context())
			if !errors.Is(err, plan.ErrRefused) || event.Hint(err) != tt.want {
				t.Errorf("%s: got %v and the hint %q, want %q", tt.flag, err, event.Hint(err), tt.want)
			}
			s.Set(tt.flag, tt.first)
			must(t, s.Up(t.Context()))
			s.WantNothingToDo(t)
		}
	})
}

// The first plan shows the properties of new resources in addition to their names.
func TestFirstPlanShowsTypesSizesAndRanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "zone", "us-central1-b", "ssh", "true", "data-disk-size", "150")
		in, _, err := s.operator(t.Context())
		must(t, err)
		p, err := in.Plan(t.Context())
		must(t, err)
		var b strings.Builder
		must(t, p.Render(&b))
		for _, want := range []string{
			"n2-standard-2 in us-central1-b, ", "boot disk of 50 GB", "150 GB pd-balanced in us-central1-b", "10.192.0.0/16 in us-central1",
			"tcp:8443 from 203.0.113.0/24, det-lab-agent to det-lab-master", "all from det-lab-agent, det-lab-master to det-lab-agent",
			"tcp:22 from 203.0.113.0/24 to det-lab-agent, det-lab-master", "det-deploy-lab-data-415104041262 in us-central1, private", "roles/storage.objectUser",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the plan lacks %q:\n%s", want, b.String())
			}
		}
	})
}
