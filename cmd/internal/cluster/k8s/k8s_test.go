package k8s

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

func TestUpgradeRejectsValueChanges(t *testing.T) {
	t.Parallel()
	differs := plan.Plan{Steps: []plan.Step{{ID: "k8s/release/lab", Verb: plan.Update}}}
	for name, tc := range map[string]struct {
		plan  plan.Plan
		given k8swire.Values
		fails bool
		notes string
	}{
		"nothing differs":              {plan.Plan{}, k8swire.Values{Set: []string{"masterPort=8080"}}, false, ""},
		"a value differs":              {differs, k8swire.Values{Set: []string{"masterPort=9090"}}, true, ""},
		"values are to be forgotten":   {differs, k8swire.Values{Reset: true}, true, ""},
		"somebody changed the objects": {differs, k8swire.Values{}, false, "det-deploy k8s install --cluster-id lab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, notes := term.Test("", false)
			o := &wanted{Streams: s, values: values{tc.given}}
			err := o.onlyValues(tc.plan, record.Release{Version: "1.0.0"}, "--cluster-id lab")
			if (err != nil) != tc.fails || !strings.Contains(notes.String(), tc.notes) {
				t.Errorf("got %v and %q, want failure %t and %q", err, notes, tc.fails, tc.notes)
			}
		})
	}
}

func TestSecretsAreNotEchoed(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]bool{
		"masterPort=8080": false, "a=1,db.password=hunter2": true, "checkpointStorage.connection_string=x": true,
		"checkpointStorage.credential=x": true, "taskContainerDefaults.environmentVariables[0]=A=b": true,
		"db.passwordExistingSecret.name=mine": false, "broken[": true,
	} {
		if got := hidesValue(set); got != want {
			t.Errorf("%s: got hidden %t, want %t", set, got, want)
		}
	}
}

func TestFormOffersContexts(t *testing.T) {
	t.Parallel()
	f := contextField([]string{"prod", "test"}, "test")
	if f.Default != "test" || len(f.Choices) != 2 || f.Choices[1].About == "" || f.Flag != "--kube-context" {
		t.Errorf("got %+v", f)
	}
	if f.Check(t.Context(), "prod") != nil || f.Check(t.Context(), "none") == nil {
		t.Error("got another answer than one of the contexts taken, or one of them refused")
	}
}

func TestConflictingFlagsAreUsageErrors(t *testing.T) {
	t.Parallel()
	s, _, _ := term.Test("", true)
	w := &wanted{Streams: s, Adopt: true, Timeout: time.Minute}
	w.Reset = true
	err := w.Validate(cluster.Request{Verb: cluster.Up})
	if _, ok := errors.AsType[*usage.Error](err); !ok {
		t.Errorf("got %v, want a usage error", err)
	}
	c := &completion{Streams: s, w: w}
	field, err := c.askCluster(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := field.Check(t.Context(), "lab"); err != nil {
		t.Errorf("got %v, want an answer to be judged by itself", err)
	}
}

func TestFormIsNotDrawnWithExecPlugin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\ncontexts:\n- {name: cloud, context: {cluster: a, user: u}}\n- {name: plain, context: {cluster: a}}\n" +
		"users:\n- {name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]bool{"cloud": true, "plain": false} {
		s, _, _ := term.Test("", true)
		w := &wanted{Streams: s}
		w.Kubeconfig, w.Context = file, context
		if got := (&completion{Streams: s, w: w}).buildForm().Lines; got != want {
			t.Errorf("context %s: got lines %t, want %t", context, got, want)
		}
	}
}

// Only an address at which the master has answered is for DET_MASTER.
func TestInstallPrintsAddressThatAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		url             string
		answers, noWait bool
		want, without   string
	}{
		{"it answers", "http://lb.example:8080", true, false, "export DET_MASTER=http://lb.example:8080", "port-forward"},
		{"it does not answer", "http://lb.example:8080", false, false, "export DET_MASTER=http://localhost:8080", "export DET_MASTER=http://lb.example"},
		{"it has none", "", false, false, "export DET_MASTER=http://localhost:8080", "does not answer"},
		{"nobody waits for it", "http://lb.example:8080", false, true, "export DET_MASTER=http://lb.example:8080", "port-forward"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, out, _ := term.Test("", false)
			r := &started{
				Cluster: "lab", Namespace: "ml", URL: tt.url, Answers: tt.answers, User: "admin",
				Forward: "kubectl -n ml port-forward service/determined-master-service-lab 8080:8080",
				c:       &opened{w: &wanted{Streams: s, NoWait: tt.noWait}}, e: target.Endpoint{Kind: "NodePort", Port: 8080},
			}
			if err := r.Print(s); err != nil {
				t.Fatal(err)
			}
			if text := out.String(); !strings.Contains(text, tt.want) || strings.Contains(text, tt.without) {
				t.Errorf("got %s\nwant %q in it, and not %q", text, tt.want, tt.without)
			}
		})
	}
}
