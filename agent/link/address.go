package link

import (
	"context"
	"net"
	"net/http/httptrace"
)

// beyond is an address of no machine (RFC 5737), which any default route leads to.
const beyond = "192.0.2.1:9"

// traceAddress notes which address of this machine a connection begins at.
func traceAddress(ctx context.Context, local *net.Addr) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { *local = c.Conn.LocalAddr() },
	})
}

// addressOf is the IP at which other machines find this one: that of its connection to
// the master, or of its default route where the master is on the same machine. It is
// empty where both are unknown.
func addressOf(ctx context.Context, local net.Addr) string {
	if tcp, ok := local.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return tcp.IP.String()
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", beyond) // nothing is sent
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	if udp, ok := conn.LocalAddr().(*net.UDPAddr); ok && !udp.IP.IsLoopback() {
		return udp.IP.String()
	}
	return ""
}
