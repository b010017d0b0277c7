package kubetest_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

var cluster = kubetest.Share()

func TestMain(m *testing.M) { cluster.Main(m) }

func TestClustersAreIsolated(t *testing.T) {
	t.Parallel()
	one, namespace := cluster.Namespace(t)
	two := kubetest.Start(t, kubetest.Options{FakeNodes: 1})
	one.Kubectl("create", "configmap", "mine", "--namespace", namespace)
	if out, err := two.Try("get", "namespace", namespace); err == nil {
		t.Errorf("got %s, want a cluster of its own", out)
	}
	nodes, err := two.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(nodes.Items), 1; got != want {
		t.Errorf("got %d nodes, want %d", got, want)
	}
}

func TestAPodRunsOnAFakeNode(t *testing.T) {
	t.Parallel()
	c, namespace := cluster.Namespace(t)
	c.Kubectl("run", "pod", "--namespace", namespace, "--image=none", "--restart=Never")
	c.Await("the pod runs", func() error {
		p, err := c.Client().CoreV1().Pods(namespace).Get(t.Context(), "pod", metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
}

func TestARealNode(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{Mode: kubetest.Node, GPUs: 2})
	c.LoadImage(c.Task(), c.Postgres())
	c.Kubectl("run", "task", "--image="+kubetest.TaskImage, "--restart=Never", "--", "sh", "-c", "echo hello from $HOSTNAME")
	c.Kubectl("run", "db", "--image="+kubetest.PostgresImage, "--restart=Never", "--env=PGDATA=/tmp/data", "--env=POSTGRES_PASSWORD=word", "--env=POSTGRES_DB=det")
	c.Await("a container runs", says("hello from task", func() (string, error) { return c.Try("logs", "task") }))
	c.Await("PostgreSQL answers to the password", says("1 row", func() (string, error) {
		return c.Try("exec", "db", "--", "psql", "postgres://postgres:word@127.0.0.1/det", "-c", "SELECT 1")
	}))
}

func says(want string, run func() (string, error)) func() error {
	return func() error {
		if out, err := run(); !strings.Contains(out, want) {
			return fmt.Errorf("got %q (%w), want %q", out, err, want)
		}
		return nil
	}
}
