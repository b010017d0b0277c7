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

// Down ends the cluster and removes all it left, on a real node also in the
// fixed places that the kubelet and CNI use. A cluster that is not there is not
// an error.
func (l *Lab) Down(ctx context.Context) error {
	s, err := l.load()
	if errors.Is(err, errNone) {
		return nil
	}
	if err != nil {
		return err
	}
	// First what would start pods again, then the pods, then the rest. Nothing
	// of the cluster is kept, so none is given long to tidy up. The API server
	// does not end on TERM once it has lost etcd, so etcd is of the last.
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

// removeTraces deletes what the kubelet and CNI leave in fixed places, where it
// is this cluster's.
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

// removeKubeletDir removes the sockets that a kubelet left, and the directory
// that it made for them when nobody else has put something there.
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
		panic(err) // a pattern of ours is wrong
	}
	return found
}

// removeFiles removes files and empty directories; what is in use stays.
func removeFiles(paths ...string) {
	for _, p := range paths {
		os.Remove(p) //nolint:errcheck // see above
	}
}
