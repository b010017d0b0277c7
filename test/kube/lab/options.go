package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Mode selects which parts of a cluster are real.
type Mode string

// The modes.
const (
	// API has the control plane and fake nodes; it needs no root.
	API Mode = "api"
	// Node also has a real node that runs containers.
	Node Mode = "node"
)

// Options is the requested configuration of a cluster.
type Options struct {
	Mode Mode
	// FakeNodes is the number of nodes that run nothing, and FakeGPUs the number of GPUs that each
	// reports. Negative means two in API mode and none beside a real node.
	FakeNodes, FakeGPUs int
	// GPUs is the number of GPUs of the real node.
	GPUs int
	// Images are archives to load on the real node.
	Images []string
	// Args are additional flags, each COMPONENT=--FLAG.
	Args []string
	// Containerd is the path of the real node's containerd.
	Containerd string
}

// state is the stored description of a running cluster.
type state struct {
	Options
	ServerIP string
	Ports    ports
	// Sysctls are the machine's values before the kubelet changed them.
	Sysctls map[string]string
	// MadeKubeletDir is true if /var/lib/kubelet did not exist before.
	MadeKubeletDir bool
	Started        time.Time
}

func (s state) server() string { return fmt.Sprintf("https://%s:%d", s.ServerIP, s.Ports.API) }

func (s state) real() bool { return s.Mode == Node }

// nodeTools returns the programs of the machine that a real node needs.
func nodeTools(containerd string) []string {
	const cni = "/usr/lib/cni/"
	return []string{"ip", "nft", "runc", "ctr", "mount", "umount", containerd, cni + "ptp", cni + "host-local", cni + "loopback", cni + "portmap"}
}

func (o *Options) complete() error {
	if o.Mode != API && o.Mode != Node {
		return fmt.Errorf("--mode: must be api or node (is %q)", o.Mode)
	}
	for _, a := range o.Args {
		if _, flag, ok := strings.Cut(a, "="); !ok || !strings.HasPrefix(flag, "-") {
			return fmt.Errorf("--arg: must be COMPONENT=--FLAG (is %q)", a)
		}
	}
	if o.FakeNodes < 0 {
		o.FakeNodes = map[Mode]int{API: 2, Node: 0}[o.Mode]
	}
	if o.Mode == API {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("--mode node: needs root")
	}
	for _, p := range nodeTools(o.Containerd) {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("--mode node: %s is missing; install it with: kube.sh deps", p)
		}
	}
	return nil
}

// serves reports whether a running cluster satisfies o.
func (s state) serves(o Options) bool {
	return s.Mode == o.Mode && s.GPUs == o.GPUs && s.FakeNodes >= o.FakeNodes && slices.Equal(s.Args, o.Args)
}

const stateFile = "state.json"

func (l *Lab) save(s state) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.path(stateFile), b, 0o600)
}

// errNone is returned if the cluster does not exist.
var errNone = errors.New("there is no such cluster; start one with: kube.sh up")

func (l *Lab) load() (state, error) {
	var s state
	b, err := os.ReadFile(l.path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, errNone
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}
