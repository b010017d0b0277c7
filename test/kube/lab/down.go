package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Down stops the cluster and removes all its files, on a real node also those in the fixed
// locations of the kubelet and CNI. It returns nil if no cluster exists.
func (l *Lab) Down(ctx context.Context) error {
	s, err := l.load()
	if errors.Is(err, errNone) {
		return nil
	}
	if err != nil {
		return err
	}
	// First stop the programs that would restart pods, then the pods, then the rest. The grace
	// periods are short because no state is kept. The API server does not exit on SIGTERM once it
	// has lost etcd, so etcd is among the last.
	l.stop(2*time.Second, "kubelet", "gpu-plugin", "kwok", "provisioner", "kube-scheduler", "kube-controller-manager", "kube-proxy", "coredns")
	if s.real() {
		l.stopPods(ctx)
		l.stop(5*time.Second, "containerd")
		l.removeGroups()
	}
	l.stop(time.Second, "kube-apiserver", "egress")
	l.stop(time.Second, l.components()...)
	if s.real() {
		unmountBelow(l.Dir)
		l.removeNetwork()
		l.removeTraces()
		writeSysctls(s.Sysctls)
		removeKubeletDir(s.MadeKubeletDir)
	}
	if left := mountsBelow(l.Dir); len(left) > 0 {
		return fmt.Errorf("remove %s: %s is still mounted; unmount it and run down again", l.Dir, left[0])
	}
	return os.RemoveAll(l.Dir)
}

// removeTraces removes the files of this cluster from the fixed locations of the kubelet and CNI.
func (l *Lab) removeTraces() {
	for _, link := range glob("/var/log/containers/*.log") {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, l.Dir+"/") {
			removeFiles(link)
		}
	}
	for _, result := range glob("/var/lib/cni/results/" + l.namespace + "-*") {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(result), l.namespace+"-"), "-eth0")
		removeFiles(result, "/var/lib/cni/results/cni-loopback-"+id+"-lo")
	}
}

// removeKubeletDir removes the sockets that a kubelet left, and the directory if the cluster
// created it and nothing else is in it.
func removeKubeletDir(made bool) {
	if !made {
		return
	}
	const plugins = "/var/lib/kubelet/device-plugins"
	removeFiles(glob(plugins + "/*")...)
	removeFiles(plugins)
	removeFiles(glob("/var/lib/kubelet/*")...)
	removeFiles("/var/lib/kubelet")
}

func glob(pattern string) []string {
	found, err := filepath.Glob(pattern)
	if err != nil {
		panic(err) // the pattern is invalid
	}
	return found
}

// removeFiles removes files and empty directories. It ignores errors of those in use.
func removeFiles(paths ...string) {
	for _, p := range paths {
		os.Remove(p) //nolint:errcheck // see above
	}
}
