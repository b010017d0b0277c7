package k8s_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestEachLayoutIsCreatedAndDeleted installs common layouts, runs a task on each, and uninstalls it
// without leftovers. The node reports GPUs that do not exist.
func TestEachLayoutIsCreatedAndDeleted(t *testing.T) {
	rest.Only(t)
	p := newPersonOn(t, kubetest.Options{Mode: kubetest.Node, GPUs: 4})
	program := p.build("v1.0.0")
	for _, l := range []struct {
		name string
		// before are kubectl commands; NS is the cluster's namespace.
		before [][]string
		values []string
		// task is the command of a task; its output must contain says.
		task []string
		says string
		// where is the namespace of the task's pods, if it is not the one that the chart creates.
		where string
	}{
		{
			name: "embedded", values: []string{"db.type=embedded", "slotType=cpu", "slotResourceRequests.cpu=0.05", "useNodePortForMaster=true"},
			task: []string{"--slots", "1", "--", "echo", "one slot"}, says: "one slot",
		},
		{
			name: "gpus", values: []string{"db.type=embedded", "useNodePortForMaster=true"},
			task: []string{"--slots", "2", "--", "sh", "-c", "echo with $NVIDIA_VISIBLE_DEVICES"}, says: "with ",
		},
		{
			name:   "together",
			values: []string{"db.type=embedded", "useNodePortForMaster=true", "resourceManager.defaultNamespace=together"},
			task:   []string{"--slots", "0", "--", "hostname"}, says: "det-", where: "together",
		},
		{
			name:   "two-namespaces",
			before: [][]string{{"create", "namespace", "researchers"}},
			values: []string{"db.type=embedded", "useNodePortForMaster=true", "resourceManager.defaultNamespace=researchers"},
			task:   []string{"--slots", "0", "--", "hostname"}, says: "det-", where: "researchers",
		},
		{
			name: "external-database",
			before: [][]string{
				{"run", "elsewhere", "-n", "external-database", "--image=" + kubetest.PostgresImage, "--env=POSTGRES_PASSWORD=Hunter2-x", "--env=POSTGRES_DB=determined", "--env=PGDATA=/tmp/data", "--port=5432", "--expose"},
			},
			values: []string{"db.hostAddress=elsewhere", "db.password=Hunter2-x", "useNodePortForMaster=true"},
			task:   []string{"--slots", "0", "--", "echo", "kept elsewhere"}, says: "kept elsewhere",
		},
		{
			name:   "tls",
			before: [][]string{{"create", "secret", "tls", "certificate", "-n", "tls", "--cert=CERT", "--key=KEY"}},
			values: []string{"db.type=embedded", "tlsSecret=certificate", "useNodePortForMaster=true"},
			task:   []string{"--slots", "0", "--", "sh", "-c", "echo over ${DET_MASTER%%:*}"}, says: "over https",
		},
		{
			name: "load-balancer", values: []string{"db.type=embedded"}, says: "port-forward",
		},
	} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			q := p.at(t)
			q.c.Kubectl("create", "namespace", l.name)
			cert, key := q.certificate("determined-master-service-"+l.name, q.c.NodeIP)
			for _, args := range l.before {
				q.c.Kubectl(strings.Fields(strings.NewReplacer("=CERT", "="+cert, "=KEY", "="+key).Replace(strings.Join(args, " ")))...)
			}
			who := []string{"--cluster-id", l.name, "-n", l.name}
			out := q.does(program, "", append(append([]string{"k8s", "install", "--yes"}, who...), images(l.values...)...)...)
			if l.task != nil {
				out = q.does(program, "", append([]string{"task", "run"}, l.task...)...)
				where := cmp.Or(l.where, l.name+"-"+l.name+"-tasks")
				if made := q.c.Kubectl("get", "events", "-n", where, "--field-selector=reason=SuccessfulCreate,involvedObject.kind=Job", "-o", "name"); made == "" {
					t.Errorf("no Job has made a pod in namespace %s", where)
				}
			}
			if !strings.Contains(out, l.says) {
				t.Errorf("got no %q", l.says)
			}
			q.settles(l.name)
			q.does(program, "", append([]string{"k8s", "uninstall", "--yes", "--delete-data"}, who...)...)
			q.nothing(l.name, "pods,jobs,deployments,services,secrets,configmaps,persistentvolumeclaims,serviceaccounts,roles,rolebindings,networkpolicies")
			q.nothing(l.name, "clusterroles,clusterrolebindings,priorityclasses,namespaces")
		})
	}
	t.Run("plain-helm", func(t *testing.T) {
		t.Parallel()
		p.at(t).plainHelm(program)
	})
}
