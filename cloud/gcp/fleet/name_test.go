package fleet

import (
	"regexp"
	"strings"
	"testing"
)

// form matches valid Compute Engine names.
var form = regexp.MustCompile(`^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$`)

func TestMachineName(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, c := range []Config{
		{Cluster: "lab", Pool: "gpu"},
		{Cluster: "lab", Pool: "GPU"},
		{Cluster: "lab", Pool: "g_pu"},
		{Cluster: "lab-gpu", Pool: "x"},
		{Cluster: "lab", Pool: "漢字"},
		{Cluster: strings.Repeat("c", 31), Pool: strings.Repeat("p", 100)},
		{Cluster: strings.Repeat("c", 31), Pool: strings.Repeat("p", 101)},
		{Cluster: "lab", Pool: "a-----------------------------------------------"},
		{Cluster: "a", Pool: "gpu", NamePrefix: strings.Repeat("x", prefixLimit)},
	} {
		for _, token := range []string{"a", "b", strings.Repeat("~", 64)} {
			for _, n := range []int{0, 1, 99999} {
				name := c.machineName(token, n)
				if !form.MatchString(name) {
					t.Errorf("%+v: got %q (%d), which is no name", c, name, len(name))
				}
				if before, twice := seen[name]; twice {
					t.Errorf("%s: got it for %s and %s", name, before, c.Pool)
				}
				seen[name] = c.Pool
			}
		}
	}
	if got := (Config{Cluster: "lab", Pool: "gpu"}).machineName("token", 3); got != "det-lab-gpu-"+hashOf("lab", "gpu", "token")+"-3" {
		t.Errorf("got %q", got)
	}
}

func TestEncodeLabel(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, text := range []string{"gpu", "GPU", "g pu", "g.pu", "g-pu", strings.Repeat("p", 63), strings.Repeat("p", 64), strings.Repeat("p", 65), "漢", "字", ""} {
		got := encodeLabel(text)
		if !regexp.MustCompile(`^[-_a-z0-9]{0,63}$`).MatchString(got) {
			t.Errorf("%q: got %q, which is no label", text, got)
		}
		if before, twice := seen[got]; twice {
			t.Errorf("%q and %q: got %q for both", before, text, got)
		}
		seen[got] = text
	}
	if got := encodeLabel("gpu-pool_1"); got != "gpu-pool_1" {
		t.Errorf("got %q, want it as it is", got)
	}
}
