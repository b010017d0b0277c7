package guard

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestForwardedForRequiresTrustedProxy(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, row := range map[string]struct {
		peer    string
		headers []string
		want    string
	}{
		"a stranger's header is a claim":            {"192.0.2.1:1", []string{"203.0.113.9"}, "192.0.2.1:1"},
		"a proxy's header is believed":              {"10.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9:0"},
		"addresses added by the client are ignored": {"10.0.0.1:1", []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9:0"},
		"proxies behind proxies are passed":         {"10.0.0.1:1", []string{"203.0.113.9, 10.2.2.2"}, "203.0.113.9:0"},
		"headers are read as one":                   {"10.0.0.1:1", []string{"198.51.100.1", "203.0.113.9"}, "203.0.113.9:0"},
		"a proxy without the header is itself":      {"10.0.0.1:1", nil, "10.0.0.1:1"},
		"nonsense is not an address":                {"10.0.0.1:1", []string{"x"}, "10.0.0.1:1"},
		"a mapped IPv4 address is that address":     {"[::ffff:10.0.0.1]:1", []string{"203.0.113.9"}, "203.0.113.9:0"},
		"an IPv6 client behind an IPv6 proxy":       {"[fd00::1]:1", []string{"2001:db8::1"}, "[2001:db8::1]:0"},
		"a chain of proxies alone is the first's":   {"10.0.0.1:1", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3:0"},
	} {
		var got string
		h := TrueAddress(trusted, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = row.peer, row.headers
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
}
