package proxy

import (
	"net/url"
	"testing"
)

func TestServiceAddress(t *testing.T) {
	t.Parallel()
	// printed is what the client makes of the address of a service.
	printed := func(address string) string {
		wait := "/det/wait/jupyter-lab/t1?eventUrl=" + address + "/jupyter-lab/t1/events&serviceAddr=" + address
		return "/det/interactive/t1/jupyter-lab/Lab%20%28a/b%29/default/" + url.QueryEscape(wait)
	}
	for path, want := range map[string]string{
		printed("/proxy/t1/?token=ddticket_a-b"): "/proxy/t1/?token=ddticket_a-b",
		printed("/proxy/t1/"):                    "/proxy/t1/",
		printed("/proxy/t2/?token=x"):            "/proxy/t1/",
		printed("//example.com/proxy/t1/"):       "/proxy/t1/",
		"/det/interactive/t1/x/%zz":              "/proxy/t1/",
		"/det/interactive/t1":                    "/proxy/t1/",
		"/det/interactive/":                      "",
		"/det/interactive/%2f%2fexample.com/x":   "",
	} {
		if got, found := serviceAddress(path); got != want || found != (want != "") {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
