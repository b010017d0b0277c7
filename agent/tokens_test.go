package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestARunningTaskHasLeftNoTokensOnDisk(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	r := run(t, s)
	p.start("c", "sleep 2; exit 7", func(o *agentv1.Start) {
		o.Spec.SessionToken, o.Spec.Environment = "secret-session", []string{"DET_USER_TOKEN=secret-user"}
	})
	p.awaitState("c", apiv1.Container_STATE_RUNNING)
	var kept struct{ Record struct{ Order []byte } }
	if err := atomicfile.ReadJSON(filepath.Join(s.DataDir, "containers", "c.json"), "", &kept); err != nil {
		t.Fatal(err)
	}
	if got := string(kept.Record.Order); strings.Contains(got, "secret") || !strings.Contains(got, "task-c") {
		t.Errorf("got the order %q on disk", got)
	}
	r.halt()
	run(t, s)
	if c := p.awaitEnd("c"); c.exit.GetKind() != agentv1.Exit_KIND_EXITED || c.exit.GetCode() != 7 {
		t.Errorf("got %v, want the end of the container that was found again", c.exit)
	}
}

func TestOrderIsCheckedByAgent(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	run(t, s)
	for id, edit := range map[string]func(*agentv1.Spec){
		"own": func(o *agentv1.Spec) { o.Mounts = []*agentv1.Mount{{HostPath: s.DataDir, ContainerPath: "/x"}} },
		"socket": func(o *agentv1.Spec) {
			o.Mounts = []*agentv1.Mount{{HostPath: "/run/docker.sock", ContainerPath: "/x"}}
		},
		"policy": func(o *agentv1.Spec) {
			o.Policy, o.AddCapabilities = &apiv1.TaskPolicy{Root: true}, []string{"SYS_ADMIN"}
		},
		"unrooted": func(o *agentv1.Spec) { o.Policy = &apiv1.TaskPolicy{} },
	} {
		p.start(id, "true", func(o *agentv1.Start) { edit(o.GetSpec()) })
		c := p.awaitEnd(id)
		if c.exit.GetKind() != agentv1.Exit_KIND_NOT_STARTED || c.exit.GetMessage() == "" {
			t.Errorf("%s: got %v, want it not started, with a reason", id, c.exit)
		}
	}
}

func TestDefaultRuntimeIsOmitted(t *testing.T) {
	t.Parallel()
	if ownRuntime("runc") != "" || ownRuntime("nvidia") != "nvidia" {
		t.Error("got a default taken for a choice")
	}
}
