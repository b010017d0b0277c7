package gcptest_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/api/logging/v2"
	"google.golang.org/api/monitoring/v3"
	"google.golang.org/api/option"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/serviceusage/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func asOwner(w *gcptest.World) option.ClientOption {
	return option.WithHTTPClient(&http.Client{Transport: w.Transport(gcptest.Caller{})})
}

func TestSecretsHaveVersions(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	s := made[*secretmanager.Service](t)(secretmanager.NewService(t.Context(), asOwner(w))).Projects.Secrets
	in := &secretmanager.Secret{Labels: map[string]string{"det-deploy-cluster": "lab"}, Replication: &secretmanager.Replication{Automatic: &secretmanager.Automatic{}}}
	made[*secretmanager.Secret](t)(s.Create(parent, in).SecretId("det-deploy-lab-admin").Do())
	_, err := s.Create(parent, in).SecretId("det-deploy-lab-admin").Do()
	wantStatus(t, err, 409, "alreadyExists")
	const name = parent + "/secrets/det-deploy-lab-admin"
	for _, text := range []string{"one", "two"} {
		made[*secretmanager.SecretVersion](t)(s.AddVersion(name, &secretmanager.AddSecretVersionRequest{Payload: &secretmanager.SecretPayload{Data: base64.StdEncoding.EncodeToString([]byte(text))}}).Do())
	}
	v := made[*secretmanager.AccessSecretVersionResponse](t)(s.Versions.Access(name + "/versions/latest").Do())
	if v.Payload.Data != "dHdv" {
		t.Errorf("got %q", v.Payload.Data)
	}
	made[*secretmanager.SecretVersion](t)(s.Versions.Destroy(name+"/versions/2", &secretmanager.DestroySecretVersionRequest{}).Do())
	_, err = s.Versions.Access(name + "/versions/latest").Do()
	wantStatus(t, err, 400, "failedPrecondition")
	l := made[*secretmanager.ListSecretsResponse](t)(s.List(parent).Filter("labels.det-deploy-cluster=lab").Do())
	if len(l.Secrets) != 1 || l.Secrets[0].Name != "projects/"+strconv.Itoa(gcptest.Number)+"/secrets/det-deploy-lab-admin" {
		t.Errorf("got %+v", l.Secrets)
	}
	made[*secretmanager.Empty](t)(s.Delete(l.Secrets[0].Name).Do())
	if live := w.Live(); len(live) != 0 {
		t.Errorf("left: %v", live)
	}
}

func TestFilterLogEvents(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	l := made[*logging.Service](t)(logging.NewService(t.Context(), asOwner(w)))
	const name = parent + "/logs/det-deploy-lab"
	entries := []*logging.LogEntry{{TextPayload: "b", Timestamp: "2026-11-22T10:00:01Z", InsertId: "2", Labels: map[string]string{"machine": "m"}}, {TextPayload: "a", Timestamp: "2026-11-22T10:00:00Z", InsertId: "1"}}
	write := &logging.WriteLogEntriesRequest{LogName: name, Resource: &logging.MonitoredResource{Type: "global"}, Entries: entries}
	for range 2 { // repeated after a lost response
		made[*logging.WriteLogEntriesResponse](t)(l.Entries.Write(write).Do())
	}
	texts := func(filter string) (out []string) {
		in := &logging.ListLogEntriesRequest{ResourceNames: []string{parent}, Filter: filter, OrderBy: "timestamp asc"}
		for _, e := range made[*logging.ListLogEntriesResponse](t)(l.Entries.List(in).Do()).Entries {
			out = append(out, e.TextPayload)
		}
		return out
	}
	if got := texts(`logName="` + name + `"`); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
	if got := texts(`logName="` + name + `" AND labels.machine="m" AND timestamp>="2026-11-22T10:00:01Z"`); !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %v", got)
	}
	made[*logging.Empty](t)(l.Projects.Logs.Delete(name).Do())
	if got := w.LogEntries(name); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	_, err := l.Projects.Logs.Delete(name).Do()
	wantStatus(t, err, 404, "notFound")
}

func TestPointInterval(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	m := made[*monitoring.Service](t)(monitoring.NewService(t.Context(), asOwner(w)))
	began := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	write := func(after time.Duration) error {
		n := int64(3)
		_, err := m.Projects.TimeSeries.Create(parent, &monitoring.CreateTimeSeriesRequest{TimeSeries: []*monitoring.TimeSeries{{
			Metric: &monitoring.Metric{Type: "custom.googleapis.com/determined/agents"}, Resource: &monitoring.MonitoredResource{Type: "global", Labels: map[string]string{"project_id": project}},
			Points: []*monitoring.Point{{Interval: &monitoring.TimeInterval{EndTime: began.Add(after).Format(time.RFC3339)}, Value: &monitoring.TypedValue{Int64Value: &n}}},
		}}}).Do()
		return err
	}
	if err := write(0); err != nil {
		t.Error(err)
	}
	wantStatus(t, write(time.Second), 400, "invalid")
	if err := write(10 * time.Second); err != nil {
		t.Error(err)
	}
	if got := w.Points(project); len(got) != 2 {
		t.Errorf("got %d points", len(got))
	}
}

// Calls to a disabled API fail, and succeed once the enable operation is done.
func TestServicesAreEnabled(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{NoServices: true})
	_, err := c.compute.Zones.List(project).Do()
	wantStatus(t, err, 403, "accessNotConfigured")
	u := made[*serviceusage.Service](t)(serviceusage.NewService(t.Context(), asOwner(w)))
	o := made[*serviceusage.Operation](t)(u.Services.BatchEnable(parent, &serviceusage.BatchEnableServicesRequest{ServiceIds: []string{"compute.googleapis.com", "storage.googleapis.com"}}).Do())
	if o = made[*serviceusage.Operation](t)(u.Operations.Get(o.Name).Do()); !o.Done {
		t.Errorf("got %+v", o)
	}
	c.bucket(t, "one")
	s := made[*serviceusage.GoogleApiServiceusageV1Service](t)(u.Services.Get(parent + "/services/compute.googleapis.com").Do())
	if s.State != "ENABLED" {
		t.Errorf("got %+v", s)
	}
	l := made[*serviceusage.ListServicesResponse](t)(u.Services.List(parent).Filter("state:DISABLED").Do())
	if slices.ContainsFunc(l.Services, func(s *serviceusage.GoogleApiServiceusageV1Service) bool { return s.State != "DISABLED" }) {
		t.Errorf("got %+v", l.Services)
	}
}

// A caller without roles has no permissions on any service.
func TestServicesEnforceRoles(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	ann := option.WithHTTPClient(w.Client("user:ann@example.com"))
	s := made[*secretmanager.Service](t)(secretmanager.NewService(t.Context(), ann))
	_, err := s.Projects.Secrets.List(parent).Do()
	wantStatus(t, err, 403, "forbidden")
	l := made[*logging.Service](t)(logging.NewService(t.Context(), ann))
	_, err = l.Entries.List(&logging.ListLogEntriesRequest{ResourceNames: []string{parent}}).Do()
	wantStatus(t, err, 403, "forbidden")
	u := made[*serviceusage.Service](t)(serviceusage.NewService(t.Context(), ann))
	_, err = u.Services.List(parent).Do()
	wantStatus(t, err, 403, "forbidden")
	m := made[*monitoring.Service](t)(monitoring.NewService(t.Context(), ann))
	_, err = m.Projects.TimeSeries.Create(parent, &monitoring.CreateTimeSeriesRequest{}).Do()
	wantStatus(t, err, 403, "forbidden")
}
