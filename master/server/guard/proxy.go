package guard

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// TrueAddress replaces the address of a trusted proxy by that of its client, so that limits per address
// apply to clients. Headers from other peers are ignored because they may be forged.
func TrueAddress(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, found := clientOf(trusted, r); found {
			clone := *r
			clone.RemoteAddr = net.JoinHostPort(client.String(), "0")
			next.ServeHTTP(w, &clone)
			r.Pattern = clone.Pattern
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clientOf returns the last address in X-Forwarded-For that is not a trusted proxy's. Earlier addresses
// may be forged by the client.
func clientOf(trusted []netip.Prefix, r *http.Request) (client netip.Addr, found bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !containsAddress(trusted, peer.Addr()) {
		return netip.Addr{}, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		a, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		client, found = a.Unmap(), true
		if !containsAddress(trusted, client) {
			break
		}
	}
	return client, found
}

func containsAddress(networks []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
