package kubetest_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/test/kubetest"
)

var cluster = kubetest.Share(kubetest.Options{FakeNodes: 2, FakeGPUs: 4})

func TestMain(m *testing.M) { cluster.Main(m) }

func TestClustersDoNotMeet(t *testing.T) {
	t.Parallel()
	one, namespace := cluster.Namespace(t)
	two := kubetest.Start(t, kubetest.Options{FakeNodes: 1})
	one.Kubectl("create", "configmap", "mine", "--namespace", namespace)
	if out, err := two.Try("get", "namespace", namespace); err == nil {
		t.Errorf("got %s, want a cluster of its own", out)
	}
	nodes, err := one.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(nodes.Items), 2; got != want {
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

func TestAContainerRunsOnARealNode(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{Mode: kubetest.Node, GPUs: 2})
	c.LoadImage(c.Bin + "/testapp.tar")
	c.Kubectl("run", "pod", "--image=example/testapp:1", "--restart=Never", "--", "env")
	c.Await("the pod writes its name", func() error {
		if out, err := c.Try("logs", "pod"); !strings.Contains(out, "HOSTNAME=pod") {
			return fmt.Errorf("got %q (%w)", out, err)
		}
		return nil
	})
}
