package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

var sum = strings.Repeat("0a", 32)

func whole() manifest.Manifest {
	return manifest.Manifest{
		Schema: manifest.Schema, Cluster: "lab", Generation: 3, Version: "1.2.3", Phase: manifest.Serve,
		Binaries: map[string]manifest.File{"amd64": {Key: manifest.BinaryKey(sum), SHA256: sum}},
		Files: map[string]manifest.File{
			manifest.ConfigFile:      {Key: manifest.FileKey(sum), SHA256: sum, Mode: 0o600},
			"/etc/determined/ca.pem": {Key: manifest.FileKey(sum), SHA256: sum, Mode: 0o644},
		},
		Health: manifest.Health{URL: "https://127.0.0.1:8443/health", CA: "/etc/determined/ca.pem", Name: "det-lab"},
		Logs:   "/det-deploy/lab",
	}
}

func TestManifestRoundTrips(t *testing.T) {
	t.Parallel()
	data, err := whole().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"mode": "0644"`) {
		t.Errorf("got %s, want modes in octal", data)
	}
	got, err := manifest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, whole()); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestInvalidManifestIsRejected(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*manifest.Manifest)
		want string
	}{
		"another schema":    {func(m *manifest.Manifest) { m.Schema = "v9" }, "schema: must be det-deploy.manifest/v1 (v9)"},
		"no cluster":        {func(m *manifest.Manifest) { m.Cluster = "" }, "cluster: must be set"},
		"no generation":     {func(m *manifest.Manifest) { m.Generation = 0 }, "generation: must be at least 1 (0)"},
		"no version":        {func(m *manifest.Manifest) { m.Version = "" }, "version: must be set"},
		"an unknown phase":  {func(m *manifest.Manifest) { m.Phase = "run" }, "phase: must be serve, hold or stop (run)"},
		"nothing to run":    {func(m *manifest.Manifest) { m.Binaries = nil }, "binaries: must hold at least one"},
		"an invalid hash":   {func(m *manifest.Manifest) { m.Binaries["arm64"] = manifest.File{Key: "bin/x", SHA256: "x"} }, "binaries.arm64.sha256: must be 64 lowercase"},
		"a key that leaves": {func(m *manifest.Manifest) { m.Binaries["arm64"] = manifest.File{Key: "../x", SHA256: sum} }, "binaries.arm64.key: must be bin/"},
		"another object's key": {func(m *manifest.Manifest) {
			m.Binaries["arm64"] = manifest.File{Key: manifest.FileKey(sum), SHA256: sum}
		}, "binaries.arm64.key: must be bin/"},
		"a key above the bucket": {func(m *manifest.Manifest) { m.Files["/x"] = manifest.File{Key: "..", SHA256: sum} }, `files["/x"].key: must be files/`},
		"a path for architecture": {func(m *manifest.Manifest) {
			m.Binaries["../x"] = manifest.File{Key: manifest.BinaryKey(sum), SHA256: sum}
		}, "must be an architecture"},
		"a path that is relative":  {func(m *manifest.Manifest) { m.Files["etc/x"] = manifest.File{Key: "x", SHA256: sum} }, `files["etc/x"]: must be a clean absolute path`},
		"a path with a detour":     {func(m *manifest.Manifest) { m.Files["/etc/../x"] = manifest.File{Key: "x", SHA256: sum} }, `files["/etc/../x"]: must be a clean absolute path`},
		"a set-user-id file":       {func(m *manifest.Manifest) { m.Files["/x"] = manifest.File{Key: "x", SHA256: sum, Mode: 0o4755} }, "mode: must be permissions only (4755)"},
		"no health":                {func(m *manifest.Manifest) { m.Health = manifest.Health{} }, "health.url: must be an http or https address"},
		"somebody else's health":   {func(m *manifest.Manifest) { m.Health.URL = "https://10.0.0.1/health" }, "health.url: must be a loopback address"},
		"a CA that is nowhere":     {func(m *manifest.Manifest) { m.Health.CA = "/x" }, "health.ca: must be one of files (/x)"},
		"a way back while on hold": {func(m *manifest.Manifest) { m.Phase, m.Fallback = manifest.Hold, true }, "fallback: is for phase serve only (hold)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := whole()
			tt.edit(&m)
			if err := m.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestValidateReportsAllErrors(t *testing.T) {
	t.Parallel()
	err := manifest.Manifest{}.Validate()
	if got := strings.Count(err.Error(), "\n") + 1; got < 6 {
		t.Errorf("got %d complaints, want all of them: %v", got, err)
	}
}

func TestStatusReached(t *testing.T) {
	t.Parallel()
	well := manifest.Status{Schema: manifest.StatusSchema, Generation: 3, Version: "1.2.3", Phase: manifest.Serve, ConfigSHA256: sum, Ready: true, Instance: "i-1"}
	tests := map[string]struct {
		edit func(*manifest.Status)
		want bool
	}{
		"well":                        {func(*manifest.Status) {}, true},
		"an older manifest":           {func(s *manifest.Status) { s.Generation = 2 }, false},
		"the version before":          {func(s *manifest.Status) { s.Version = "1.2.2" }, false},
		"the configuration before":    {func(s *manifest.Status) { s.ConfigSHA256 = "" }, false},
		"not ready":                   {func(s *manifest.Status) { s.Ready = false }, false},
		"ready, and gone back":        {func(s *manifest.Status) { s.Error = "went back" }, false},
		"still on hold":               {func(s *manifest.Status) { s.Phase = manifest.Hold }, false},
		"the same at another instant": {func(s *manifest.Status) { s.At = time.Unix(1, 0) }, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := well
			tt.edit(&s)
			if got := s.Reached(whole()); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if later := (manifest.Status{At: time.Unix(9, 0)}); !later.Same(manifest.Status{}) {
		t.Error("got different statuses, want the time ignored")
	}
}
