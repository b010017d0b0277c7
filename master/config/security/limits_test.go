package security_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config/security"
)

func TestLimitsAreChecked(t *testing.T) {
	t.Parallel()
	if p := security.DefaultLimits().Validate("limits"); len(p) > 0 {
		t.Errorf("the defaults: got %v", p)
	}
	if p := (security.Limits{}).Validate("limits"); len(p) > 0 {
		t.Errorf("no limits at all: got %v", p)
	}
	l := security.DefaultLimits()
	l.BodyBytes, l.SpooledBytes, l.TasksPerUser = 1<<20, 100<<20, -1
	got := l.Validate("limits").Error()
	for _, want := range []string{"limits.body_bytes: must be at least 2097152", "limits.spooled_bytes: must be at least 167772160", "limits.tasks_per_user: must be at least 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTrustedProxiesAreNetworksOrAddresses(t *testing.T) {
	t.Parallel()
	p := security.Proxies{Trusted: []string{"10.1.2.3/8", "192.0.2.1", "fd00::/8"}}
	if problems := p.Validate("proxies"); len(problems) > 0 {
		t.Errorf("got %v", problems)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("fd00::/8")}
	if d := cmp.Diff(want, p.Prefixes(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
		t.Error(d)
	}
	if problems := (security.Proxies{Trusted: []string{"balancer"}}).Validate("proxies"); len(problems) != 1 {
		t.Errorf("a name: got %v", problems)
	}
}
