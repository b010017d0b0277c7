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
