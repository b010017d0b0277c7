// Package share divides a bounded number of places among groups of clients that are not logged
// in, so that no group can take all of them.
package share

import (
	"math"
	"net/netip"
	"time"
)

// Limits bounds places; 0 is no limit.
type Limits struct {
	// Most is the number of places, and Each how many of them one group may take.
	Most, Each int
	// Safe is how long a place cannot be lost to another client of the same group; 0 is always.
	Safe time.Duration
}

// Share returns how many places a group may have when taken places are taken: as many as are
// free. A single group leaves half of the places to others, and k equal groups 1/(k+1).
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

// A Group is the clients that share a limit.
type Group struct {
	Name string
	// Spared groups are of many clients that cannot be told apart, as those behind a trusted
	// proxy. They may take all free places, and lose none to other groups.
	Spared bool
}

// ipv6Bits is the network of IPv6 addresses that one client is usually given.
const ipv6Bits = 64

// GroupOf returns the group of a client's address: the address, or the /64 of an IPv6 address. Any
// other text is a group of its own.
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
