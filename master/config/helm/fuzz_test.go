package helm_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/helm"
)

// Any document is either rejected with problems, or converted to a valid master in the release's
// namespace, always in the same way.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"release":{"name":"lab","namespace":"ml"},"values":{"maxSlotsPerPod":8,"slotType":"gpu","masterPort":8080,"db":{"name":"d","user":"u","port":5432},"resourcePools":[{"pool_name":"default"}]}}`,
		`{"release":{"name":"lab","namespace":"ml","taskNamespace":"ml-tasks","protected":["a"]},"values":{"maxSlotsPerPod":1,"db":{"type":"embedded"},` +
			`"checkpointStorage":{"type":"s3","bucket":"b"},"initialUserPassword":12345678,"taskPolicy":{"hostPaths":["/data"]},"resourcePools":[{"pool_name":"p"}]}}`,
		"release: {name: lab, namespace: ml}\nvalues:\n  maxSlotsPerPod: 1\n  taskContainerDefaults: {cpuPodSpec: {spec: {nodeSelector: {a: 1e3}}}}\n  oidc: {enabled: true}\n",
		"values: &a [*a]", "{}", "null", `{"values":{"enterpriseEdition":true,"security":{"token":"x"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 32<<10 {
			return
		}
		l, err := helm.Read(data, "values", nil)
		if err != nil {
			if problems, ours := errors.AsType[document.Errors](err); !ours || len(problems) == 0 {
				t.Errorf("got %v, want sentences", err)
			}
			return
		}
		if problems := l.Master.Validate(""); len(problems) > 0 {
			t.Errorf("got an invalid master: %v", problems)
		}
		if l.Master.ResourceManager.Kubernetes == nil || l.Master.ResourceManager.Kubernetes.DefaultNamespace == "" {
			t.Error("got a master without Kubernetes, or without a namespace for its tasks")
		}
		again, err := helm.Read(data, "values", nil)
		if err != nil {
			t.Fatal(err)
		}
		first, ferr := document.MarshalWithSecrets(l.Master)
		second, serr := document.MarshalWithSecrets(again.Master)
		if ferr != nil || serr != nil || string(first) != string(second) {
			t.Errorf("got another master the second time (%v, %v):\n%s", ferr, serr, cmp.Diff(string(first), string(second)))
		}
	})
}
