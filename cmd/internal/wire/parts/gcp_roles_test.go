package parts

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/resource"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// giveRoles grants the roles that `gcp up` grants to the accounts of the master and the agents of cluster
// lab, and returns their e-mail addresses.
func giveRoles(t *testing.T, w *gcptest.World) (master, agent string) {
	t.Helper()
	clients, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: "us-west1"})
	if err != nil {
		t.Fatal(err)
	}
	c := &mark.Cluster{ID: "lab", Number: gcptest.Number, Clients: clients}
	of := &identity.Account{In: c, Name: "master"}
	agents := &identity.Account{In: c, Name: "agent"}
	role := &identity.Role{In: c, Name: "master", Permissions: identity.MasterPermissions()}
	binding := &identity.Binding{In: c, Name: "master", Account: of, On: identity.OnProject(c), Grants: identity.GrantsIf(role, identity.NameConditions(c, []string{zoneA, zoneB}))}
	for _, r := range []resource.Resource{of, agents, role, binding, identity.ActAs(c, of, agents)} {
		if _, _, err := r.Find(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return of.Email(), agents.Email()
}

// ownPools returns the pools that `gcp up` writes: one of spot machines with the agents' account, and one
// of machines without an account.
func ownPools(agent string) string {
	pool := strings.NewReplacer("label_key: managed-by", "label_key: det-deploy-agents")
	first := pool.Replace(strings.Replace(onGoogle("      spot: true\n      service_account: {email: "+agent+"}\n"), "pool_name: default", "pool_name: Spot", 1))
	second := strings.TrimPrefix(pool.Replace(onGoogle("")), "\nresource_pools:\n")
	return "resource_manager: {type: agent, default_aux_resource_pool: default, default_compute_resource_pool: Spot}\n" + first + second
}

// A master installed by `gcp up` runs its pools with its own role, whose conditions depend on names only.
func TestInstalledRolesAreSufficient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := openGoogle(t, onGoogle(""), slow(), gcptest.Caller{})
		w.kill()
		email, agent := giveRoles(t, w.google)
		w.caller = gcptest.Caller{Member: "serviceAccount:" + email}
		w.env = gcpEnv(t, ownPools(agent))
		w.start()
		before := len(w.google.Journal())
		w.submit("one", "default").submit("two", "Spot").later(time.Minute)
		a, b := w.on("one"), w.on("two")
		if a == "" || b == "" {
			t.Fatalf("tasks wait; machines %v, refused %v", w.names(), w.refused)
		}
		if m := w.machines()[b]; m.Labels["det-deploy-cluster"] != "lab" || m.ServiceAccounts[0].Email != agent {
			t.Errorf("got labels %v and accounts %v", m.Labels, m.ServiceAccounts)
		}
		w.google.Preempt(gcptest.Project, zoneB, b)
		w.later(5 * time.Minute)
		w.restart()
		w.end("one").end("two").later(10 * time.Minute)
		if left := w.names(); len(left) > 0 {
			t.Errorf("got %v left of idle pools", left)
		}
		for _, e := range w.google.Journal()[before:] {
			if e.Code != "" && e.Code != "notFound" {
				t.Errorf("%s is refused: %s", e.Op, e.Code)
			}
		}
	})
}
