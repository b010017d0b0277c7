package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
)

// hostName is the name of the host inside containers.
const hostName = "host.docker.internal"

// pingPatience is the timeout of detecting a Docker daemon, and enginePatience that of other
// requests, because a daemon may be busy.
const (
	pingPatience   = 2 * time.Second
	enginePatience = 30 * time.Second
)

// errNoPage reports that the daemon returned 404.
var errNoPage = errors.New("there is none")

// Runtime returns how tasks run: "docker" if a daemon answers, else "process".
func (t *Target) Runtime(ctx context.Context) string {
	if _, err := dockerSocket(t.Docker).askEngine(ctx, "/_ping", nil); err != nil {
		return "process"
	}
	return "docker"
}

// TasksReach returns the address at which tasks reach this machine's master, or "" if they run as
// processes. For containers, it depends on the engine's network. If the engine does not report
// that, TasksReach returns the address that the cluster's agents already use, or an error if there
// are no agents.
func (t *Target) TasksReach(ctx context.Context) (string, error) {
	if t.Runtime(ctx) != "docker" {
		return "", nil
	}
	e, err := dockerSocket(t.Docker).inspectEngine(ctx)
	if err == nil {
		return e.bridgeAddress(machineAddresses(ctx)), nil
	}
	if at := t.Place.tasksReached(); at != "" {
		return at, nil
	}
	return "", fmt.Errorf("cannot determine how containers reach this machine: %w; try again when the Docker daemon at %s responds, or restart it", err, t.Docker)
}

// dockerSocket is the path of a Docker daemon's socket.
type dockerSocket string

// inspectEngine reads the network of the daemon's containers, which may not exist.
func (d dockerSocket) inspectEngine(ctx context.Context) (engine, error) {
	var e engine
	var network struct {
		IPAM struct{ Config []struct{ Gateway string } }
	}
	if _, err := d.askEngine(ctx, "/networks/bridge", &network); err != nil && !errors.Is(err, errNoPage) {
		return e, err
	}
	for _, c := range network.IPAM.Config {
		e.gateways = append(e.gateways, net.ParseIP(c.Gateway))
	}
	var info struct{ SecurityOptions []string }
	header, err := d.askEngine(ctx, "/info", &info)
	if err != nil {
		return e, err
	}
	e.rootless = slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.Contains(o, "rootless") })
	e.podman = header.Get("Libpod-Api-Version") != ""
	return e, nil
}

// tasksReached returns the address at which the agents' containers reach the master, or "" if none
// is configured.
func (p Place) tasksReached() string {
	agents, err := os.ReadDir(p.pathOf("agents"))
	if err != nil {
		return "" // no agents yet
	}
	for _, a := range agents {
		if read, _, err := agentconfig.Load([]string{p.agentYAML(a.Name())}, nil); err == nil && read.ContainerMasterHost != "" {
			return read.ContainerMasterHost
		}
	}
	return ""
}

// engine describes the container network of a daemon.
type engine struct {
	// gateways are those of its bridge, which may have any name.
	gateways []net.IP
	// rootless engines have their bridge in a user's network namespace.
	rootless, podman bool
}

// bridgeAddress returns the address at which containers reach the machine with these addresses:
// that of a Docker or Podman bridge, or a name that agents and engines add to containers.
//
// The bridge of a rootless engine does not belong to the machine, so only the machine's own address
// leads out of it. Podman may block even that but provides a name for the machine. So does Docker
// Desktop, whose containers run in a virtual machine.
func (e engine) bridgeAddress(own []net.IP) string {
	i := -1
	switch {
	case e.rootless && !e.podman:
		i = slices.IndexFunc(own, func(ip net.IP) bool { return ip.To4() != nil && ip.IsGlobalUnicast() })
	case !e.rootless:
		i = slices.IndexFunc(own, func(ip net.IP) bool { return ip.To4() != nil && slices.ContainsFunc(e.gateways, ip.Equal) })
	}
	if i < 0 {
		return hostName
	}
	return own[i].String()
}

// machineAddresses returns the current addresses of this machine, first that of the default route.
// It sends no packets.
func machineAddresses(ctx context.Context) []net.IP {
	var out []net.IP
	if conn, err := new(net.Dialer).DialContext(ctx, "udp4", "192.0.2.1:9"); err == nil {
		if a, ok := conn.LocalAddr().(*net.UDPAddr); ok {
			out = append(out, a.IP)
		}
		_ = conn.Close() // it only determined the route
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return out
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			out = append(out, n.IP)
		}
	}
	return out
}

// askEngine gets one path of the daemon's API and decodes the response into answer, unless that is
// nil.
func (d dockerSocket) askEngine(ctx context.Context, page string, answer any) (http.Header, error) {
	patience := enginePatience
	if answer == nil {
		patience = pingPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", string(d))
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker"+page, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the Docker daemon: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the Docker daemon: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // read to the end, or not needed
	if resp.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("ask the Docker daemon for %s: %w", page, errNoPage)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New("ask the Docker daemon: " + page + ": " + resp.Status)
	}
	if answer == nil {
		return resp.Header, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(answer); err != nil {
		return nil, fmt.Errorf("read %s of the Docker daemon: %w", page, err)
	}
	return resp.Header, nil
}

// Isolated reports whether tasks are isolated from this machine and from each other, by Docker, or
// by an agent that is root, has runc and may create namespaces. Why names the missing requirement,
// with a remedy if there is a simple one.
func (t *Target) Isolated(ctx context.Context) (why string, isolated bool) {
	if t.Runtime(ctx) == "docker" {
		return "", true
	}
	if os.Geteuid() != 0 {
		return "Docker is not running and det-deploy does not run as root", false
	}
	if !createsNamespaces() {
		return "Docker is not running and this machine does not allow root to create namespaces", false
	}
	if _, err := exec.LookPath("runc"); err != nil {
		return "Docker is not running and runc is not installed on this machine; install it, as with apt-get install runc, and run det-deploy local up again", false
	}
	return "", true
}
