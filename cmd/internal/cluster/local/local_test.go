package local

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/document"
)

// The most important warning is printed last and names the remedy.
func TestUpWarnsOfMissingIsolationLast(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		s, out, _ := term.Test("", false)
		(&started{Cluster: "lab", TrustUsers: trusted, exposed: "det-deploy does not run as root"}).warnExposed(s)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if !strings.HasPrefix(lines[0], "WARNING: users who may submit tasks have your full access to this machine") {
			t.Errorf("got %q first", lines[0])
		}
		flag := "`det-deploy local up --cluster-id lab --trust-users`"
		if trusted {
			flag = "`det-deploy local up --cluster-id lab --trust-users=false`"
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, flag) {
			t.Errorf("trusted %v: got %q last, want it to name %s", trusted, last, flag)
		}
	}
}

func TestUpReadsItsFlags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
		want []document.Given
		fail string
	}{
		{"nothing is given", nil, nil, ""},
		{"only the given flags", []string{"--port", "8080", "--tls"}, []document.Given{{Path: "port", Value: "8080", Source: "--port"}, {Path: "tls", Value: "true", Source: "--tls"}}, ""},
		{"a file's path becomes absolute", []string{"--db-url-file", "/a/../b"}, []document.Given{{Path: "db_url_file", Value: "/b", Source: "--db-url-file"}}, ""},
		{"an id that no path may have", []string{"--cluster-id", "../x"}, nil, `--cluster-id: must have up to 31 lower-case letters, digits and inner hyphens, beginning with a letter (is "../x")`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := term.Test("", false)
			o := &selection{Streams: s}
			f := pflag.NewFlagSet("up", pflag.ContinueOnError)
			o.AddFlags(cluster.Up, f)
			if err := f.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := o.Validate(cluster.Request{Verb: cluster.Up})
			if tc.fail != "" {
				if _, ok := errors.AsType[*usage.Error](err); !ok || err.Error() != tc.fail {
					t.Errorf("got %v, want the usage error %q", err, tc.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(o.Given.Flags, tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

func TestDownDeletesContext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		context contexts.Context
		want    bool
	}{
		"that up or login made":               {contexts.Context{Master: "http://127.0.0.1:8080"}, true},
		"of this address, of another cluster": {contexts.Context{Master: "http://127.0.0.1:8080", Platform: "aws"}, true},
		"of this platform, at an old address": {contexts.Context{Master: "http://127.0.0.1:8081", Platform: "local"}, true},
		"of a cluster elsewhere":              {contexts.Context{Master: "https://203.0.113.9:8443", Platform: "aws"}, false},
	} {
		if got := leadsHere(tc.context, "http://127.0.0.1:8080"); got != tc.want {
			t.Errorf("a context %s: got forgotten %t, want %t", name, got, tc.want)
		}
	}
}

func TestRestrictionsSayHowToRestartAgents(t *testing.T) {
	t.Parallel()
	for _, restrictions := range [][]string{nil, {"agent lab-1 runs no trials of experiments: no runc"}} {
		s, out, _ := term.Test("", false)
		r := &started{Cluster: "lab", URL: "http://127.0.0.1:8080", Runtime: "process", Isolated: true, Restrictions: restrictions}
		if err := r.Print(s); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(out.String(), "local up --cluster-id lab`."); told != (restrictions != nil) {
			t.Errorf("%q: got\n%s", restrictions, out)
		}
	}
}
