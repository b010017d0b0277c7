package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// hostName is what agents let containers call their machine.
const hostName = "host.docker.internal"

// enginePatience bounds one question to the Docker daemon.
const enginePatience = 2 * time.Second

// Runtime is what runs tasks: "docker" when a daemon answers, else "process".
func (t *Target) Runtime(ctx context.Context) string {
	if _, err := t.askEngine(ctx, "/_ping", nil); err != nil {
		return "process"
	}
	return "docker"
}

// TasksReach returns where tasks reach this machine's master: nowhere special for
// processes. For containers it depends on where their engine keeps them.
func (t *Target) TasksReach(ctx context.Context) string {
	if t.Runtime(ctx) != "docker" {
		return ""
	}
	var e engine
	var network struct {
		IPAM struct{ Config []struct{ Gateway string } }
	}
	if _, err := t.askEngine(ctx, "/networks/bridge", &network); err == nil {
		for _, c := range network.IPAM.Config {
			e.gateways = append(e.gateways, net.ParseIP(c.Gateway))
		}
	}
	var info struct{ SecurityOptions []string }
	if header, err := t.askEngine(ctx, "/info", &info); err == nil {
		e.rootless = slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.Contains(o, "rootless") })
		e.podman = header.Get("Libpod-Api-Version") != ""
	}
	return e.reach(machineAddresses(ctx))
}

// engine is what a daemon says of the network of its containers.
type engine struct {
	// gateways are those of its bridge, whatever that is called.
	gateways []net.IP
	// rootless engines keep their bridge in a network namespace of a user's.
	rootless, podman bool
}

// reach is where containers reach the machine that has these addresses, as a bridge of
// Docker's or Podman's does, or by a name that agents and engines give it.
//
// The bridge of a rootless engine is not the machine's: only the machine's own address
// leads out of it. With Podman not even that may, which knows its machine by name. So
// does Docker Desktop, whose containers live in a machine of their own.
func (e engine) reach(own []net.IP) string {
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
		_ = conn.Close() // it only told the way
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
func (t *Target) askEngine(ctx context.Context, page string, answer any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, enginePatience)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", t.Docker)
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
