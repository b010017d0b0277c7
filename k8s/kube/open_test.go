package kube_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/k8s/kube"
)

func TestContextsAreThoseOfTheKubeconfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: test\ncontexts:\n- {name: test, context: {cluster: a}}\n- {name: prod, context: {cluster: b}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, current, err := kube.Contexts(kube.Options{Kubeconfig: file})
	if d := cmp.Diff(all, []string{"prod", "test"}); d != "" || current != "test" || err != nil {
		t.Errorf("got current %q (%v) and -, want +:\n%s", current, err, d)
	}
	if _, _, err := kube.Contexts(kube.Options{Kubeconfig: file + "x"}); err == nil {
		t.Error("got no error for a file that is not there")
	}
}

func TestPluginOfPossibleContexts(t *testing.T) {
	t.Parallel()
	const text = `apiVersion: v1
kind: Config
current-context: plain
contexts:
- {name: plain, context: {cluster: a, user: token}}
- {name: nobody, context: {cluster: a}}
- {name: cloud, context: {cluster: a, user: login}}
users:
- {name: token, user: {token: t}}
- {name: login, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: IfAvailable}}}
`
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]bool{"plain": false, "nobody": false, "none": false, "cloud": true, "": true} {
		if got, err := kube.RunsPlugin(kube.Options{Kubeconfig: file, Context: context}); got != want || err != nil {
			t.Errorf("context %q: got %t (%v), want %t", context, got, err, want)
		}
	}
}
