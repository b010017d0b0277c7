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

// Mode says how much of a cluster is real.
type Mode string

// The modes.
const (
	// API is the control plane and fake nodes; it needs no root.
	API Mode = "api"
	// Node is also a real node that runs containers.
	Node Mode = "node"
)

// Options are what a cluster was asked to be.
type Options struct {
	Mode Mode
	// FakeNodes is how many nodes there are that run nothing, and FakeGPUs what
	// each says it has. Negative is two in API mode and none beside a real node.
	FakeNodes, FakeGPUs int
	// GPUs is what the real node has.
	GPUs int
	// Images are archives to load on the real node.
	Images []string
	// Args are further flags, each COMPONENT=--FLAG.
	Args []string
	// Containerd is the program of the real node.
	Containerd string
}

// state is what is kept beside a running cluster.
type state struct {
	Options
	ServerIP string
	Ports    ports
	// Sysctls are the machine's values before the kubelet changed them.
	Sysctls map[string]string
	// MadeKubeletDir is true when /var/lib/kubelet was not there before.
	MadeKubeletDir bool
	Started        time.Time
}

func (s state) server() string { return fmt.Sprintf("https://%s:%d", s.ServerIP, s.Ports.API) }

func (s state) real() bool { return s.Mode == Node }

// nodeTools is what a real node needs of the machine.
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

// serves reports whether a running cluster is what o asks for.
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

// errNone is a cluster that is not there.
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
