package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

func (l *Lab) containerd(s state) component {
	return component{
		name: "containerd", inNode: true, cgroup: l.sysGroup,
		argv: []string{s.Containerd, "--config", l.path("containerd.toml"), "--log-level", "warn"},
	}
}

// nodeComponents returns the programs of the real node that need the API server.
func (l *Lab) nodeComponents(s state) []component {
	out := []component{
		{name: "kubelet", inNode: true, argv: []string{
			l.program("kubelet"), "--kubeconfig=" + l.path("kubelet.kubeconfig"), "--config=" + l.path("kubelet.yaml"),
			"--root-dir=" + l.path("kubelet"), "--cert-dir=" + l.path("certs"),
			"--hostname-override=" + NodeName, "--node-ip=" + l.nodeIP, "--node-labels=kubelab/real=true",
		}},
		{name: "kube-proxy", inNode: true, argv: []string{l.program("kube-proxy"), "--config=" + l.path("kube-proxy.yaml")}},
		{name: "coredns", inNode: true, argv: []string{l.program("coredns"), l.path("Corefile")}},
	}
	if s.GPUs > 0 {
		out = append(out, component{name: "gpu-plugin", inNode: true, argv: []string{l.program("kubelab"), "gpu-plugin", fmt.Sprint(s.GPUs)}})
	}
	return out
}

// startContainerd starts the runtime and loads the images.
func (l *Lab) startContainerd(ctx context.Context, s state, tell func(string)) error {
	if err := l.start(l.containerd(s)); err != nil {
		return err
	}
	err := l.await(ctx, wait{"containerd", time.Minute, []string{"containerd"}}, func() error {
		return run("ctr", "-a", l.path("containerd.sock"), "version")
	})
	if err != nil {
		return err
	}
	tell("containerd answers")
	for _, image := range append([]string{l.program("pause.tar")}, s.Images...) {
		if err := l.LoadImage(image); err != nil {
			return err
		}
		tell("image " + filepath.Base(image) + " is loaded")
	}
	return nil
}

// LoadImage imports an image archive of docker save or in OCI format on the real node.
func (l *Lab) LoadImage(archive string) error {
	return run("ctr", "-a", l.path("containerd.sock"), "-n", "k8s.io", "images", "import", archive)
}
