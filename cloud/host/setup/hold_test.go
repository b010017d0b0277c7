package setup_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/setup"
)

func TestEngineIsHeld(t *testing.T) {
	t.Parallel()
	const docker = "docker-ce installed install\ndocker-ce-cli installed install\ncontainerd.io installed install\ndocker.io not-installed unknown\n"
	for name, tc := range map[string]struct {
		listed string
		err    error
		held   string
	}{
		"Docker's packages": {docker, new(exec.ExitError), "docker-ce docker-ce-cli containerd.io"},
		"Ubuntu's, and NVIDIA's toolkit": {
			"docker.io installed install\ncontainerd installed install\nrunc installed install\nnvidia-container-toolkit installed install\n", nil,
			"docker.io containerd runc nvidia-container-toolkit",
		},
		"some held already": {"docker-ce installed hold\ncontainerd.io installed install\n", nil, "containerd.io"},
		"removed":           {"docker.io config-files deinstall\n", nil, ""},
		"none":              {"", new(exec.ExitError), ""},
		"without apt":       {"", exec.ErrNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var held []string
			run := func(_ context.Context, name string, args ...string) ([]byte, error) {
				if name == "dpkg-query" {
					return []byte(tc.listed), tc.err
				}
				held = append(held, args...)
				return nil, nil
			}
			for _, s := range setup.HoldEngine(t.Context(), run) {
				if err := s.Do(t.Context()); err != nil || !s.Optional {
					t.Errorf("%s: got %v and optional: %t", s.What, err, s.Optional)
				}
			}
			want := slices.DeleteFunc(strings.Fields("hold "+tc.held), func(string) bool { return tc.held == "" })
			if d := cmp.Diff(held, want, cmp.Transformer("empty", func(s []string) string { return strings.Join(s, " ") })); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

// The updates at boot lock the database of packages for a while.
func TestHoldWaitsForTheDatabaseOfPackages(t *testing.T) {
	t.Parallel()
	for name, locked := range map[string]int{"for a while": 5, "for ever": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				run := func(_ context.Context, name string, _ ...string) ([]byte, error) {
					if name == "dpkg-query" {
						return []byte("docker.io installed install\n"), nil
					}
					if calls++; calls <= locked {
						return nil, errors.New("dpkg: the database is locked by another process")
					}
					return nil, nil
				}
				err := setup.HoldEngine(t.Context(), run)[0].Do(t.Context())
				if (err == nil) != (locked < 10) || calls > 25 {
					t.Errorf("got %v after %d calls", err, calls)
				}
			})
		})
	}
}
