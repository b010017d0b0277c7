package agentrm

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// launching configures a master whose machines present the proof "good".
func launching(c *Config) {
	c.AgentConfig = func(who Identity) []byte { return []byte("log: {level: debug} # of " + who.Pool) }
	c.Prepare = func(pool string) *agentv1.Preparation {
		return &agentv1.Preparation{StartupScript: []byte("echo " + pool)}
	}
}

func (o *owner) letMachinesIn() {
	o.door = func(p JoinProof) (Identity, error) {
		if string(p.Proof.Data) != "good" && p.Credential != "c-"+"1" {
			return Identity{}, &link.Refused{Reason: "not one of ours", Final: true, Unwanted: true}
		}
		return Identity{Agent: p.Agent, Pool: "other", Launched: true, Accept: giving("c-1")}, nil
	}
}

// giving accepts an agent with a credential.
func giving(credential token.Text) func(context.Context) (token.Text, error) {
	return func(context.Context) (token.Text, error) { return credential, nil }
}

func preparing(h *agentv1.Hello) {
	h.Preparing, h.ProofKind, h.Proof, h.Devices = true, "test", []byte("good"), nil
	h.ResourcePool = "default" // the default of an agent.yaml without a pool
}

func TestALaunchedMachineIsPreparedBeforeItIsAnAgent(t *testing.T) {
	t.Parallel()
	failed := make(chan string, 1)
	c := newCluster(t, launching, func(c *Config) {
		c.Unprepared = func(id rm.AgentID, reason string) { failed <- string(id) + ": " + reason }
	})
	c.letMachinesIn()
	p, w := c.join("i-1", 0, preparing)
	if got := string(w.GetPreparation().GetStartupScript()); got != "echo other" || w.GetCredential() != "c-1" ||
		!strings.Contains(string(w.GetAgentConfig()), "of other") {
		t.Errorf("welcome: got %v, want the pool's script, its configuration and a credential", w)
	}
	if n := len(c.Agents()); n != 0 {
		t.Errorf("agents: got %d, want none before it is ready", n)
	}
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Unprepared{Unprepared: &agentv1.Unprepared{Reason: "exit 1: no such disk"}}})
	if got, want := <-failed, "i-1: exit 1: no such disk"; got != want {
		t.Errorf("notices: got %q, want %q", got, want)
	}
	p.hangUp()
	c.join("i-1", 1, func(h *agentv1.Hello) { h.Credential, h.ResourcePool = "c-1", "default" })
	if got := c.Agents()[0].GetResourcePools(); !cmp.Equal(got, []string{"other"}) {
		t.Errorf("pool: got %v, want that of the launch and not that of agent.yaml", got)
	}
	// A machine that is being prepared does not keep the master from stopping.
	c.join("i-2", 0, preparing)
	c.restart()
}

func TestUnwantedMachineIsRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, launching)
	c.letMachinesIn()
	for name, change := range map[string]func(*agentv1.Hello){
		"a bad proof":   func(h *agentv1.Hello) { preparing(h); h.Proof = []byte("bad") },
		"no proof":      func(h *agentv1.Hello) { h.Preparing = true },
		"not preparing": func(h *agentv1.Hello) { h.ProofKind, h.Proof = "test", []byte("bad") },
	} {
		h := greeting("i-1", 1)
		change(h)
		p := c.dial()
		p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
		if r := p.refused(); !r.GetUnwanted() || !r.GetFinal() {
			t.Errorf("%s: got %v, want it unwanted for good", name, r)
		}
	}
	c.door = nil
	p := c.dial()
	h := greeting("static", 0)
	h.Preparing = true
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
	if r := p.refused(); r.GetUnwanted() || !strings.Contains(r.GetReason(), "requests a setup") {
		t.Errorf("a static agent: got %v, want an error without shutdown", r)
	}
}

func notice(kind agentv1.Notice_Kind, at time.Time) *agentv1.AgentMessage {
	return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Notice{Notice: &agentv1.Notice{
		Kind: kind, AtUs: at.UnixMicro(), Reason: "spot",
	}}}
}

func TestInterruptedMachineIsDrainedInTime(t *testing.T) {
	t.Parallel()
	told := make(chan Notice, 2)
	c := newCluster(t, func(c *Config) { c.Noticed = func(_ rm.AgentID, n Notice) { told <- n } })
	a, _ := c.join("i-1", 2)
	c.submit("t", 1)
	s := a.started()
	a.reports(s, running)

	a.say(notice(agentv1.Notice_KIND_REBALANCE, time.Now()))
	if n := <-told; n.Kind != Rebalance {
		t.Errorf("first: got %+v, want the rebalance", n)
	}
	c.submit("u", 1)
	c.until("it gets nothing new", func() bool { return c.Agents()[0].GetDraining() })
	a.quiet()

	at := time.Now().Add(2 * time.Minute)
	a.say(notice(agentv1.Notice_KIND_INTERRUPTION, at))
	a.say(notice(agentv1.Notice_KIND_INTERRUPTION, at)) // it is repeated in every connection
	grace := time.Duration(a.signalled(s, agentv1.Signal_KIND_TERMINATE).GetGraceUs()) * time.Microsecond
	if left := 2*time.Minute - shutdownMargin; grace > left || grace < left-20*time.Second {
		t.Errorf("grace: got %v, want a little less than the %v that are left", grace, left)
	}
	a.reports(s, terminated, 143)
	c.await(t, "t.1 ended: agent_lost: machine i-1 will be interrupted by its cloud at "+at.UTC().Format(time.RFC3339)+" (spot)")
	if n := <-told; n.Kind != Interruption || len(told) != 0 {
		t.Errorf("second: got %+v and %d more, want the interruption once", n, len(told))
	}
}

func TestInterruptionShortensPreemptionDeadline(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("i-1", 1)
	c.submit("t", 1)
	s := a.started()
	a.reports(s, running)
	if err := c.Preempt(t.Context(), "t.1", "paused by ann"); err != nil {
		t.Fatal(err)
	}
	a.signalled(s, agentv1.Signal_KIND_TERMINATE)
	a.say(notice(agentv1.Notice_KIND_INTERRUPTION, time.Now().Add(time.Minute)))
	grace := time.Duration(a.signalled(s, agentv1.Signal_KIND_TERMINATE).GetGraceUs()) * time.Microsecond
	if grace > time.Minute {
		t.Errorf("grace: got %v, want less than the machine's minute", grace)
	}
	a.reports(s, terminated, 0)
	c.await(t, "t.1 ended: preempted: paused by ann")
}

func TestRemovedAgentIsAskedToShutDown(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("i-1", 1)
	c.Remove("i-1", "idle for 20m")
	if m := a.next(); m.GetShutdown().GetReason() != "idle for 20m" {
		t.Errorf("got %v, want to be sent home with the reason", m)
	}
	a.hangUp()
	c.until("it is gone", func() bool { return len(c.Agents()) == 0 })
}
