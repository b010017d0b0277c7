package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/api/iam/v1"
	"google.golang.org/api/logging/v2"
	"google.golang.org/api/monitoring/v3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// every configures a pool with all optional settings.
func every(c *fleet.Config) {
	c.Image, c.Network, c.Subnetwork, c.ExternalIP, c.Zones = "ours", "default", "default", true, []string{zoneB}
	c.BaseConfig = []byte(`{"metadata": {"items": [{"key": "enable-guest-attributes", "value": "TRUE"}]}, "disks": [
		{"mode": "READ_ONLY", "source": "zones/us-west1-b/disks/data"}, {"source": "zones/us-west1-b/disks/scratch"},
		{"initializeParams": {"sourceSnapshot": "global/snapshots/weights", "labels": {"team": "vision"}}, "autoDelete": true}]}`)
}

// asMaster returns the pool of a master with the given permissions and the permission to use the
// agents' service account.
func asMaster(t *testing.T, permissions []string) *pool {
	t.Helper()
	p := open(t, gcptest.Options{}, every)
	p.world.GiveImage(gcptest.Project, "ours", "theirs", 20)
	p.world.GiveDisk(gcptest.Project, zoneB, "data", 500)
	p.world.GiveDisk(gcptest.Project, zoneB, "scratch", 100)
	p.world.GiveSnapshot(gcptest.Project, "weights", 50)
	master, agent := p.world.GiveAccount(gcptest.Project, "det-m-lab"), p.world.GiveAccount(gcptest.Project, "det-a-lab")
	role := &iam.CreateRoleRequest{RoleId: "masters", Role: &iam.Role{Title: "master", Stage: "GA", IncludedPermissions: permissions}}
	if err := api.Send(t.Context(), p.clients(t).IAM.Projects.Roles.Create(p.clients(t).ProjectName(), role)); err != nil {
		t.Fatal(err)
	}
	p.world.Bind("projects/"+gcptest.Project, "projects/"+gcptest.Project+"/roles/masters", "serviceAccount:"+master)
	p.world.Bind("projects/"+gcptest.Project+"/serviceAccounts/"+agent, "roles/iam.serviceAccountUser", "serviceAccount:"+master)
	return p.reopen(t, func(p *pool) {
		p.caller = gcptest.Caller{Member: "serviceAccount:" + master}
		p.cfg.Account, p.cfg.Scopes = agent, []string{"https://www.googleapis.com/auth/cloud-platform"}
	})
}

// liveAsMaster makes all calls of a master in its project.
func (p *pool) liveAsMaster(t *testing.T) error {
	t.Helper()
	ctx := t.Context()
	got, err := p.Launch(ctx, cloud.Launch{Token: "one", Count: 1, Offer: spot(zoneB)})
	if err != nil {
		return err
	}
	id := got[0].ID
	plain := p.reopen(t, func(p *pool) { p.cfg.Network, p.cfg.Subnetwork, p.cfg.BaseConfig = "", "", nil })
	if _, err := plain.Launch(ctx, cloud.Launch{Token: "two", Count: 1, Offer: onDemand(zoneB)}); err != nil {
		return err
	}
	p.world.SetGuestAttribute(gcptest.Project, zoneB, string(id), attest.GuestKey, "x")
	m, findErr := fleet.Pools{p.Fleet}.FindMachine(ctx, id)
	_, guestErr := fleet.Pools{p.Fleet}.ReadGuestAttribute(ctx, m, attest.GuestKey)
	_, consoleErr := p.Console(ctx, id)
	if err := errors.Join(findErr, guestErr, consoleErr, p.report(t)); err != nil {
		return err
	}
	p.world.Preempt(gcptest.Project, zoneB, string(id))
	all, err := p.List(ctx)
	switch {
	case err != nil:
		return err
	case !slices.ContainsFunc(all, func(i cloud.Instance) bool { return i.ID == id && i.Kind == cloud.NoCapacity }):
		return fmt.Errorf("the list is %+v, want the preemption as the reason", all)
	}
	return p.Terminate(ctx, []cloud.InstanceID{id})
}

// report makes the logging and monitoring calls of a master's instance.
func (p *pool) report(t *testing.T) error {
	t.Helper()
	ctx := t.Context()
	global, now, one := &monitoring.MonitoredResource{Type: "global"}, p.world.Now().Format(time.RFC3339), int64(1)
	point := &monitoring.Point{Interval: &monitoring.TimeInterval{EndTime: now}, Value: &monitoring.TypedValue{Int64Value: &one}}
	series := []*monitoring.TimeSeries{{Metric: &monitoring.Metric{Type: "custom.googleapis.com/det/x"}, Resource: global, Points: []*monitoring.Point{point}}}
	entry := &logging.LogEntry{LogName: "projects/" + gcptest.Project + "/logs/det-deploy-lab", Resource: &logging.MonitoredResource{Type: "global"}, TextPayload: "x"}
	c := p.clients(t)
	return errors.Join(api.Send(ctx, c.Logging.Entries.Write(&logging.WriteLogEntriesRequest{Entries: []*logging.LogEntry{entry}})), api.Send(ctx, c.Monitoring.Projects.TimeSeries.Create(c.ProjectName(), &monitoring.CreateTimeSeriesRequest{TimeSeries: series})))
}

func TestMasterPermissionsSuffice(t *testing.T) {
	t.Parallel()
	if err := asMaster(t, identity.MasterPermissions()).liveAsMaster(t); err != nil {
		t.Error(err)
	}
}

// A master lacking any one of its permissions fails.
func TestMasterPermissionsAreNecessary(t *testing.T) {
	t.Parallel()
	for _, permission := range identity.MasterPermissions() {
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			left := slices.DeleteFunc(identity.MasterPermissions(), func(p string) bool { return p == permission })
			if err := asMaster(t, left).liveAsMaster(t); err == nil {
				t.Errorf("got no refusal without %s", permission)
			}
		})
	}
}

// A master without the permission to use its agents' service account launches no instances with it.
func TestMasterMustActAsAgentAccount(t *testing.T) {
	t.Parallel()
	p := asMaster(t, identity.MasterPermissions())
	other := p.world.GiveAccount(gcptest.Project, "somebody")
	p = p.reopen(t, func(p *pool) { p.cfg.Account = other })
	if _, err := p.Launch(t.Context(), cloud.Launch{Token: "one", Count: 1, Offer: spot(zoneB)}); cloud.KindOf(err) != cloud.Denied {
		t.Errorf("got %v, want that the account may not be used", err)
	}
}
