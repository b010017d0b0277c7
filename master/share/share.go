// Package share divides a limited number of places among groups of anonymous clients, so that no
// group can take all of them.
package share

import (
	"math"
	"net/netip"
	"time"
)

// Limits configures Places; 0 means no limit.
type Limits struct {
	// Most is the total number of places, and Each the maximum per group.
	Most, Each int
	// Safe is how long a place cannot be lost to another client of the same group; 0 means always.
	Safe time.Duration
}

// Share returns the maximum number of places of a group while taken places are taken: as many as
// are free. A single group thus leaves half of the places to others, and k equal groups 1/(k+1).
func (l Limits) Share(taken int) int {
	share := math.MaxInt
	if l.Each > 0 {
		share = l.Each
	}
	if l.Most > 0 {
		share = min(share, max(l.Most-taken, 0))
	}
	return share
}

// A Group is a set of clients that share a limit.
type Group struct {
	Name string
	// Spared groups contain many clients that cannot be distinguished, such as those behind a
	// trusted proxy. They may take all free places, and lose none to other groups.
	Spared bool
}

// ipv6Bits is the size of the IPv6 network that one client usually has.
const ipv6Bits = 64

// GroupOf returns the group of a client's address: the address, or the /64 of an IPv6 address. For
// any other text, the group has that name.
func GroupOf(address string) Group {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return Group{Name: address}
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return Group{Name: a.String()}
	}
	return Group{Name: netip.PrefixFrom(a, ipv6Bits).Masked().String()}
}
