package provider_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config/provider"
)

func TestProxyMustBePlainAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		proxy provider.Proxy
		want  string
	}{
		"none":          {provider.Proxy{}, ""},
		"both":          {provider.Proxy{HTTP: "http://proxy.example.com:3128", HTTPS: "https://10.0.0.9:3129/", No: "s3.us-west-2.amazonaws.com,.corp"}, ""},
		"a password":    {provider.Proxy{HTTPS: "http://ann:hunter2@proxy:3128"}, "proxy.https_proxy: must not contain a user or a password"},
		"no scheme":     {provider.Proxy{HTTP: "proxy:3128"}, "proxy.http_proxy: must be the address of a proxy"},
		"SOCKS":         {provider.Proxy{HTTP: "socks5://proxy:1080"}, "proxy.http_proxy: must be the address"},
		"a path":        {provider.Proxy{HTTP: "http://proxy/a"}, "proxy.http_proxy: must be the address"},
		"a variable":    {provider.Proxy{HTTP: "http://$PROXY:3128"}, "proxy.http_proxy: must be the address"},
		"two lines":     {provider.Proxy{HTTP: "http://proxy", No: "a\nLD_PRELOAD=/x"}, "proxy.no_proxy: must be a comma-separated list"},
		"only no_proxy": {provider.Proxy{No: ".corp"}, "proxy.no_proxy: has no effect without"},
	} {
		e := tc.proxy.Validate("proxy")
		if got := e.Err(); tc.want == "" && got != nil || tc.want != "" && (got == nil || !strings.Contains(got.Error(), tc.want) || strings.Contains(got.Error(), "hunter2")) {
			t.Errorf("%s: got %v, want %q", name, got, tc.want)
		}
	}
}

func TestEnvironmentOfProxy(t *testing.T) {
	t.Parallel()
	if got := (provider.Proxy{}).Environment("10.0.0.5"); got != "" {
		t.Errorf("got %q without a proxy", got)
	}
	got := provider.Proxy{HTTPS: "http://proxy:3128", No: ".corp"}.Environment("master.example.com")
	for _, line := range []string{"HTTPS_PROXY=http://proxy:3128", "https_proxy=http://proxy:3128", "NO_PROXY=localhost,", "no_proxy=localhost,"} {
		if strings.Count("\n"+got, "\n"+line) != 1 {
			t.Errorf("got %q, want %s once", got, line)
		}
	}
	for _, host := range []string{"169.254.0.0/16", "metadata.google.internal", "10.0.0.0/8", "master.example.com", ".corp"} {
		if strings.Count(got, ","+host) != 2 {
			t.Errorf("got %q, want %s without a proxy, in both spellings", got, host)
		}
	}
	if strings.Contains(got, "HTTP_PROXY") {
		t.Errorf("got %q, want no variable without a value", got)
	}
}
