package link

import (
	"context"
	"net"
	"net/http/httptrace"
)

// beyond is a documentation address (RFC 5737), reachable only over the default route.
const beyond = "192.0.2.1:9"

// traceAddress stores the local address of the connection in local.
func traceAddress(ctx context.Context, local *net.Addr) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { *local = c.Conn.LocalAddr() },
	})
}

// addressOf returns the IP address at which other machines reach this one: the local address of its
// connection to the master, or that of the default route if the master is on the same machine. It
// returns "" if both are unknown.
func addressOf(ctx context.Context, local net.Addr) string {
	if tcp, ok := local.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return tcp.IP.String()
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", beyond) // UDP: no packets are sent
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	if udp, ok := conn.LocalAddr().(*net.UDPAddr); ok && !udp.IP.IsLoopback() {
		return udp.IP.String()
	}
	return ""
}

// interfaceAddresses returns an address of this machine per network interface: the first one, IPv4
// before IPv6.
func interfaceAddresses() map[string]string {
	out := map[string]string{}
	interfaces, err := net.Interfaces()
	if err != nil {
		return out
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		if ip := chooseAddress(addresses); ip != "" {
			out[i.Name] = ip
		}
	}
	return out
}

func chooseAddress(addresses []net.Addr) string {
	first := ""
	for _, a := range addresses {
		p, ok := a.(*net.IPNet)
		switch {
		case !ok || !p.IP.IsGlobalUnicast():
		case p.IP.To4() != nil:
			return p.IP.String()
		case first == "":
			first = p.IP.String()
		}
	}
	return first
}
