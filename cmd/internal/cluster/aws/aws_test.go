package aws

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/document"
)

// selectUp returns the selection of up for the given flags.
func selectUp(t *testing.T, s *term.Streams, args []string) *clouds.Selection {
	t.Helper()
	w := clouds.NewSelection(s, new(provider))
	f := pflag.NewFlagSet("up", pflag.ContinueOnError)
	w.AddFlags(cluster.Up, f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestUpReadsSettings(t *testing.T) {
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
		{"a file that is not there", "", []string{"--config-file", filepath.Join(dir, "none")}, nil, "cannot read --config-file: " + filepath.Join(dir, "none") + " does not exist"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := term.Test("", false)
			w := selectUp(t, s, tc.args)
			g, err := w.Read()
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
