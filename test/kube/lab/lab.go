// Package lab starts and stops a small, real Kubernetes cluster on one Linux machine, for tests:
// etcd, the control plane and fake nodes, and optionally a real node that runs containers. It needs
// no registry, and no root without a real node.
package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Lab is one cluster: its directories and addresses. All addresses are from 198.18.0.0/15, the
// block that RFC 2544 reserves for test networks, and exist only in the cluster's network namespace
// and on the veth pair that connects it.
type Lab struct {
	// ID is 0 to 127 and distinguishes the clusters of one machine.
	ID int
	// Dir has all state of this cluster; Bin has the programs.
	Dir, Bin string

	namespace   string // the node's network namespace
	hostLink    string // the host's end of the veth pair
	hostIP      string
	nodeIP      string // the node's end of the veth pair
	podCIDR     string
	serviceCIDR string
	serviceIP   string // of the Service "kubernetes"
	dnsIP       string
	podGroup    string // parent cgroup of all pods
	sysGroup    string // cgroup of containerd and its shims

	extra map[string][]string // additional flags of components
}

// NodeName is the name of the real node.
const NodeName = "node1"

// mostLabs is the number of clusters with addresses on one machine.
const mostLabs = 128

// FromEnv returns the cluster that KUBE_LAB_ID, KUBE_LAB_STATE and KUBE_LAB_CACHE select, or an
// error for an invalid value.
func FromEnv(getenv func(string) string) (*Lab, error) {
	id := 0
	if s := getenv("KUBE_LAB_ID"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n >= mostLabs {
			return nil, fmt.Errorf("KUBE_LAB_ID: must be 0 to %d (is %q)", mostLabs-1, s)
		}
		id = n
	}
	dir, err := stateDir(getenv, id)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return newLab(id, dir, filepath.Dir(self)), nil
}

func newLab(id int, dir, bin string) *Lab {
	name := fmt.Sprintf("kubelab%d", id)
	return &Lab{
		ID: id, Dir: dir, Bin: bin,
		namespace: name, hostLink: fmt.Sprintf("klab%d", id),
		hostIP:      fmt.Sprintf("198.18.%d.1", id),
		nodeIP:      fmt.Sprintf("198.18.%d.2", id),
		podCIDR:     fmt.Sprintf("198.19.%d.0/24", 2*id),
		serviceCIDR: fmt.Sprintf("198.19.%d.0/24", 2*id+1),
		serviceIP:   fmt.Sprintf("198.19.%d.1", 2*id+1),
		dnsIP:       fmt.Sprintf("198.19.%d.10", 2*id+1),
		podGroup:    "/" + name, sysGroup: "/" + name + "-sys",
		extra: make(map[string][]string),
	}
}

func stateDir(getenv func(string) string, id int) (string, error) {
	if dir := getenv("KUBE_LAB_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	cache := getenv("KUBE_LAB_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a place for the cluster: %w; set KUBE_LAB_STATE", err)
		}
		cache = filepath.Join(user, "kubelab")
	}
	return filepath.Abs(filepath.Join(cache, fmt.Sprintf("run%d", id)))
}

func (l *Lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.Dir}, parts...)...)
}

func (l *Lab) program(name string) string { return filepath.Join(l.Bin, name) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (l *Lab) Kubeconfig() string { return l.path("kubeconfig") }

// Namespace returns the network namespace of the real node.
func (l *Lab) Namespace() string { return l.namespace }
