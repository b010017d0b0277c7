package aws

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/document"
)

// selectUp is what up reads from its flags.
func selectUp(t *testing.T, s *term.Streams, args []string) *wanted {
	t.Helper()
	w := &wanted{Streams: s}
	f := pflag.NewFlagSet("up", pflag.ContinueOnError)
	w.AddFlags(cluster.Up, f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestUpReadsWhatTheClusterShouldBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, cert := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "cert.pem")
	for path, text := range map[string]string{file: "cluster_id: lab\nregion: us-west-2\n", cert: "CERTIFICATE"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, cluster string
		args          []string
		want          []document.Given
		fail          string
	}{
		{"a flag", "lab", []string{"--cluster-id", "lab", "--max-agents", "3"}, []document.Given{{Path: "pools.*.max_agents", Value: "3", Source: "--max-agents"}}, ""},
		{"a file gives the id", "lab", []string{"--config-file", file}, nil, ""},
		{"a flag's file is read", "lab", []string{"--config-file", file, "--tls-cert-file", cert}, []document.Given{{Path: "tls.certificate", Value: "CERTIFICATE", Source: "--tls-cert-file"}}, ""},
		{"a file that is not there", "", []string{"--config-file", filepath.Join(dir, "none")}, nil, "read --config-file: open " + filepath.Join(dir, "none") + ": no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := term.Test("", false)
			w := selectUp(t, s, tc.args)
			g, err := w.read()
			id, got := w.Cluster, g.Flags
			if tc.fail != "" {
				if _, ok := errors.AsType[*usage.Error](err); !ok || err.Error() != tc.fail {
					t.Errorf("got %v, want the usage error %q", err, tc.fail)
				}
				return
			}
			if d := cmp.Diff(got, tc.want); err != nil || id != tc.cluster || d != "" {
				t.Errorf("got %v, cluster %q, want %q; got -, want +:\n%s", err, id, tc.cluster, d)
			}
		})
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": noon.Add(-time.Hour), "10m": noon.Add(-10 * time.Minute), "2026-01-01T00:00:00Z": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := since(text, noon); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %s and %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-1h"} {
		if _, err := since(text, noon); err == nil {
			t.Errorf("%q: got no error, want one", text)
		}
	}
}

func TestALineOfALogSaysWhoWroteIt(t *testing.T) {
	t.Parallel()
	l := wire.AWSLogLine{Time: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Instance: "i-1", Unit: "det-deploy-master", Message: "hello"}
	for _, tc := range []struct {
		part   string
		output term.Format
		want   string
	}{
		{"", term.Text, "2026-01-02T12:00:00Z i-1/master | hello\n"},
		{"master", term.Text, "2026-01-02T12:00:00Z i-1 | hello\n"},
		{"", term.JSON, `{"schema":"det-deploy.aws-log/v1","time":"2026-01-02T12:00:00Z","instance":"i-1","unit":"det-deploy-master","message":"hello"}` + "\n"},
	} {
		s, out, _ := term.Test("", false)
		(&logQuery{Part: tc.part, Output: tc.output}).show(s, l)
		if out.String() != tc.want {
			t.Errorf("got %q, want %q", out, tc.want)
		}
	}
}
