package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	gpuResource = "nvidia.com/gpu"
	// fakeMark is the annotation of every node that KWOK simulates, and the key of the taint.
	fakeMark = "kwok.x-k8s.io/node"
)

// fakes describes nodes that run nothing: KWOK keeps them Ready and simulates the kubelet.
type fakes struct {
	// First is the number of the first one.
	First, Count int
	// GPUs is the number that each node reports.
	GPUs int
	// Taint repels pods without a toleration for it.
	Taint bool
}

// AddFakeNodes adds nodes to a running cluster, each with as many GPUs as the existing ones.
func (l *Lab) AddFakeNodes(ctx context.Context, count int) error {
	s, err := l.load()
	if err != nil {
		return err
	}
	if err := l.makeFakeNodes(ctx, s, fakes{First: s.FakeNodes + 1, Count: count, GPUs: s.FakeGPUs, Taint: s.real()}); err != nil {
		return err
	}
	s.FakeNodes += count
	if err := l.save(s); err != nil {
		return err
	}
	return l.await(ctx, wait{"the new nodes", time.Minute, []string{"kwok"}}, func() error { return l.healthy(ctx, s) })
}

func (l *Lab) makeFakeNodes(ctx context.Context, s state, f fakes) error {
	if f.Count == 0 {
		return nil
	}
	if err := l.startKwok(ctx, s); err != nil {
		return err
	}
	c, err := l.client()
	if err != nil {
		return err
	}
	for i := f.First; i < f.First+f.Count; i++ {
		_, err := c.CoreV1().Nodes().Create(ctx, fakeNode(i, f), metav1.CreateOptions{})
		if unlessThere(err) != nil {
			return err
		}
	}
	return nil
}

// fakeNode returns the object of a large machine.
func fakeNode(i int, f fakes) *corev1.Node {
	name := fmt.Sprintf("fake-%d", i)
	has := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("96"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("250"),
	}
	labels := map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		"type": "kwok", "kubelab/real": "false",
	}
	if f.GPUs > 0 {
		has[gpuResource] = *resource.NewQuantity(int64(f.GPUs), resource.DecimalSI)
		labels["nvidia.com/gpu.present"], labels["nvidia.com/gpu.product"] = "true", "FAKE-GPU"
		labels["nvidia.com/gpu.count"] = strconv.Itoa(f.GPUs)
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{fakeMark: "fake"}},
		Status:     corev1.NodeStatus{Capacity: has, Allocatable: has},
	}
	if f.Taint {
		n.Spec.Taints = []corev1.Taint{{Key: fakeMark, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func (l *Lab) startKwok(ctx context.Context, s state) error {
	if l.pid("kwok") != 0 {
		return nil
	}
	config, err := exec.CommandContext(ctx, l.program("components"), "kwok-stages").Output()
	if err != nil {
		return fmt.Errorf("read the stages of fake nodes: %w", err)
	}
	logs, err := l.render("kwok-logs.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path("kwok.yaml"), append(config, logs...), 0o644); err != nil {
		return err
	}
	// The output of "kubectl logs" for a fake pod.
	const line = "2026-01-01T00:00:00.000000000Z stdout F this pod is fake: nothing runs in it (KWOK)\n"
	if err := os.WriteFile(l.path("fake-pod.log"), []byte(line), 0o644); err != nil {
		return err
	}
	return l.start(component{name: "kwok", inNode: s.real(), argv: []string{
		l.program("kwok"), "--kubeconfig=" + l.path("admin.kubeconfig"), "--config=" + l.path("kwok.yaml"),
		"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=" + fakeMark + "=fake",
		"--cidr=198.18.200.0/21", "--node-ip=127.0.0.1", fmt.Sprintf("--node-port=%d", s.Ports.Kwok),
		fmt.Sprintf("--server-address=127.0.0.1:%d", s.Ports.Kwok),
		"--tls-cert-file=" + l.path("pki", "kubelet-serving.crt"), "--tls-private-key-file=" + l.path("pki", "kubelet-serving.key"),
		"--node-lease-duration-seconds=40",
	}})
}
