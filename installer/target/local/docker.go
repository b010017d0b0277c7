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

	"golang.org/x/sys/unix"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
)

// hostName is what agents let containers call their machine.
const hostName = "host.docker.internal"

// pingPatience bounds the question whether there is a Docker daemon, enginePatience
// what one that is there is asked, which may be busy.
const (
	pingPatience   = 2 * time.Second
	enginePatience = 30 * time.Second
)

// errNoPage is a daemon's answer that it has no such thing.
var errNoPage = errors.New("there is none")

// Runtime is what runs tasks: "docker" when a daemon answers, else "process".
func (t *Target) Runtime(ctx context.Context) string {
	if _, err := dockerSocket(t.Docker).askEngine(ctx, "/_ping", nil); err != nil {
		return "process"
	}
	return "docker"
}

// TasksReach returns where tasks reach this machine's master: nowhere special for
// processes. For containers it depends on where their engine keeps them. Where the
// engine does not say, it is what the cluster's agents use already, and an error
// without any.
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
	return "", fmt.Errorf("learn where containers reach this machine: %w; try again when the Docker daemon at %s answers, or restart it", err, t.Docker)
}

// dockerSocket is where a Docker daemon is asked.
type dockerSocket string

// inspectEngine asks a daemon for the network of its containers. It may have none.
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

// tasksReached is the address at which the agents' containers reach the master;
// empty if none is configured.
func (p Place) tasksReached() string {
	agents, err := os.ReadDir(p.pathOf("agents"))
	if err != nil {
		return "" // there are none yet
	}
	for _, a := range agents {
		if read, _, err := agentconfig.Load([]string{p.agentYAML(a.Name())}, nil); err == nil && read.ContainerMasterHost != "" {
			return read.ContainerMasterHost
		}
	}
	return ""
}

// engine is what a daemon says of the network of its containers.
type engine struct {
	// gateways are those of its bridge, whatever that is called.
	gateways []net.IP
	// rootless engines keep their bridge in a network namespace of a user's.
	rootless, podman bool
}

// bridgeAddress is where containers reach the machine that has these addresses, as a bridge of
// Docker's or Podman's does, or by a name that agents and engines give it.
//
// The bridge of a rootless engine is not the machine's: only the machine's own address
// leads out of it. With Podman not even that may, which knows its machine by name. So
// does Docker Desktop, whose containers live in a machine of their own.
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

// machineAddresses are those that this machine has now, first the one by which it
// reaches others. Nothing is sent.
func machineAddresses(ctx context.Context) []net.IP {
	var out []net.IP
	if conn, err := new(net.Dialer).DialContext(ctx, "udp4", "192.0.2.1:9"); err == nil {
		if a, ok := conn.LocalAddr().(*net.UDPAddr); ok {
			out = append(out, a.IP)
		}
		_ = conn.Close() // it only showed the route
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

// askEngine reads one page of the daemon's API into answer, unless that is nil.
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
	defer func() { _ = resp.Body.Close() }() // it is read to its end, or not needed
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

// Isolated says whether tasks are kept from this machine and from each other: by
// Docker, or by an agent that is root, has runc and may make namespaces. Why says what is
// missing, and what helps if that is little.
func (t *Target) Isolated(ctx context.Context) (why string, isolated bool) {
	if t.Runtime(ctx) == "docker" {
		return "", true
	}
	if os.Geteuid() != 0 {
		return "no Docker daemon answers and det-deploy does not run as root", false
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData // for the header's version, there are two
	if err := unix.Capget(&hdr, &caps[0]); err != nil || caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return "no Docker daemon answers and this machine lets root make no namespaces", false
	}
	if _, err := exec.LookPath("runc"); err != nil {
		return "no Docker daemon answers and runc is not installed on this machine; install it, as with apt-get install runc, and run det-deploy local up again", false
	}
	return "", true
}
