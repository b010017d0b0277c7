package infra_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// whole is the complete inventory of the blueprint.
var whole = []string{
	"address/master", "address-association/master", "bucket/det-deploy-lab-data",
	"instance/master", "instance-profile/agent", "instance-profile/master",
	"internet-gateway/main", "log-group//det-deploy/lab", "role/agent", "role/master",
	"route-table/public", "secret/admin-password", "security-group/agents", "security-group/master",
	"security-rules/agents", "security-rules/master", "subnet/a", "subnet/b",
	"volume/data", "volume-attachment/data", "vpc/main", "vpc-endpoint/s3",
}

// kept is the inventory after a down without the deletion of data.
var kept = []string{"bucket/det-deploy-lab-data", "secret/admin-password", "volume/data"}

func worlds() map[string]awstest.Options {
	return map[string]awstest.Options{"an Amazon that is prompt": {}, "an Amazon with its delays": slow()}
}

func TestUpIsIdempotentAndDownDeletesAll(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := inMemory(world)
				before := s.world.Live()
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
				if d := cmp.Diff(s.live(t), whole); d != "" {
					t.Errorf("inventory: got -, want +:\n%s", d)
				}
				for range 2 {
					must(t, s.downAll(t.Context()))
					if d := cmp.Diff(s.world.Live(), before); d != "" {
						t.Errorf("left behind: got -, want +:\n%s", d)
					}
				}
			})
		})
	}
}

func TestDownRetainsDataAndSecretsForNextUp(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := inMemory(world)
				must(t, s.up(t.Context()))
				r, err := s.down(t.Context(), false)
				must(t, err)
				if d := cmp.Diff(s.live(t), kept); d != "" {
					t.Errorf("inventory: got -, want +:\n%s", d)
				}
				for _, f := range r.Kept {
					if f.Retain == "" {
						t.Errorf("%s is retained without a reason", f)
					}
				}
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
				if d := cmp.Diff(s.live(t), whole); d != "" {
					t.Errorf("inventory after up again: got -, want +:\n%s", d)
				}
			})
		})
	}
}

func TestClusterIDCanBeReused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := inMemory(slow())
		for range 2 {
			must(t, s.up(t.Context()))
			must(t, s.downAll(t.Context()))
		}
	})
}

func TestUpdateMakesPlannedChanges(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(*wish)
		change func(*wish)
		want   []string
	}{
		{name: "who may reach the master", change: func(w *wish) { w.inbound = "198.51.100.0/24" }, want: []string{
			"update aws/security-rules/master; ingress[8443 from 198.51.100.0/24]: closed → open; ingress[8443 from 203.0.113.0/24]: open → closed",
		}},
		{name: "a key pair", change: func(w *wish) { w.ssh = true }, want: []string{
			"update aws/security-rules/master; ingress[22 from 203.0.113.0/24]: closed → open",
		}},
		{name: "the role policies", change: func(w *wish) { w.policy = "ec2:RunInstances" }, want: []string{
			"update aws/role/master; policy[master]: different → as configured", "update aws/role/agent; policy[agent]: different → as configured",
		}},
		{name: "versions of checkpoints", change: func(w *wish) { w.versioning = true }, want: []string{"update aws/bucket/data; versioning: off → on"}},
		{name: "no versions of checkpoints", before: func(w *wish) { w.versioning = true }, change: func(w *wish) { w.versioning = false }, want: []string{
			"update aws/bucket/data; versioning: on → off",
		}},
		{name: "how long logs are kept", change: func(w *wish) { w.days = 7; w.keepLogs = true }, want: []string{
			"update aws/log-group/main; tags.det-deploy-retain: no → yes; retention: 30 days → 7 days",
		}},
		{name: "logs forever", change: func(w *wish) { w.days = 0 }, want: []string{"update aws/log-group/main; retention: 30 days → forever"}},
		{name: "a larger volume", change: func(w *wish) { w.volumeGiB = 200 }, want: []string{"update aws/volume/data; size: 100 GiB → 200 GiB"}},
		{name: "a larger disk", change: func(w *wish) { w.rootGiB = 60 }, want: []string{"update aws/instance/master; root-size: 30 GiB → 60 GiB"}},
		{name: "another type of machine", change: func(w *wish) { w.machine = "m6i.xlarge" }, want: []string{
			"update aws/instance/master; type: m6i.large → m6i.xlarge (stops the master for a few minutes)",
		}},
		{name: "a secret", before: func(w *wish) { w.given = "postgres://a" }, change: func(w *wish) { w.given = "postgres://b" }, want: []string{
			"update aws/secret/db-url; value: different → the given value",
		}},
		{name: "a secret given up", before: func(w *wish) { w.given = "postgres://a" }, change: func(w *wish) { w.given = "" }, want: []string{
			"delete secret/det-deploy/lab/db-url",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := inMemory(slow())
				if tc.before != nil {
					tc.before(&s.wish)
				}
				must(t, s.up(t.Context()))
				s.settleDown()
				tc.change(&s.wish)
				if d := cmp.Diff(s.plan(t), tc.want); d != "" {
					t.Errorf("plan: got -, want +:\n%s", d)
				}
				must(t, s.up(t.Context()))
				s.settleDown()
				s.wantNothingToDo(t)
			})
		})
	}
}

func TestUserTagIsSetOnAllResources(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := inMemory(awstest.Options{})
		must(t, s.up(t.Context()))
		s.wish.tags = map[string]string{"team": "vision"}
		got := s.plan(t)
		// Relations carry no tags, and IAM instance profiles get theirs at creation only.
		if want := len(whole) - len([]string{"association", "attachment", "rules", "rules", "profile", "profile"}); len(got) != want {
			t.Errorf("got %d changes, want %d:\n%s", len(got), want, strings.Join(got, "\n"))
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
	})
}

func TestNewNetworkReplacesMasterAndKeepsData(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := inMemory(world)
				must(t, s.up(t.Context()))
				s.wish.cidr = "10.64.0.0/16"
				got := strings.Join(s.plan(t), "\n")
				for _, stays := range []string{"aws/volume/data", "aws/bucket/data", "aws/address/master", "aws/secret"} {
					if strings.Contains(got, " "+stays) {
						t.Errorf("the plan touches %s:\n%s", stays, got)
					}
				}
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
				if d := cmp.Diff(s.live(t), whole); d != "" {
					t.Errorf("inventory: got -, want +:\n%s", d)
				}
			})
		})
	}
}

func TestPlanRejectsSmallerVolume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := inMemory(awstest.Options{})
		s.wish.volumeGiB = 200
		must(t, s.up(t.Context()))
		s.wish.volumeGiB = 100
		got := s.plan(t)
		if len(got) == 0 || got[len(got)-1] != "refuse aws/volume/data; size: 200 GiB → 100 GiB" {
			t.Errorf("got %v, want an error", got)
		}
		if err := s.up(t.Context()); err == nil {
			t.Error("up went on with a refused plan")
		}
	})
}
