package setup_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/setup"
)

func TestLacks(t *testing.T) {
	t.Parallel()
	const docker, driver, toolkit = "no Docker Engine", "no NVIDIA driver", "no NVIDIA Container Toolkit"
	gpu := map[string]string{"/sys/bus/pci/devices/0/vendor": "0x10de\n", "/sys/bus/pci/devices/0/class": "0x030200\n"}
	sound := map[string]string{"/sys/bus/pci/devices/0/vendor": "0x10de\n", "/sys/bus/pci/devices/0/class": "0x040300\n"}
	tests := map[string]struct {
		files    map[string]string
		programs []string
		want     []string
	}{
		"nothing":                    {nil, nil, []string{docker}},
		"docker":                     {nil, []string{"dockerd"}, nil},
		"docker by its socket":       {map[string]string{"/run/docker.sock": ""}, nil, nil},
		"a GPU and nothing":          {gpu, nil, []string{docker, driver, toolkit}},
		"a GPU and a driver":         {gpu, []string{"dockerd", "nvidia-smi"}, []string{toolkit}},
		"a GPU and all it needs":     {gpu, []string{"dockerd", "nvidia-smi", "nvidia-ctk"}, nil},
		"another device of NVIDIA's": {sound, []string{"dockerd"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for path, text := range tt.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, line := range setup.Lacks(root, func(name string) (string, error) {
				if slices.Contains(tt.programs, name) {
					return "/usr/bin/" + name, nil
				}
				return "", exec.ErrNotFound
			}) {
				for _, part := range []string{docker, driver, toolkit} {
					if strings.Contains(line, part) {
						got = append(got, part)
					}
				}
			}
			if d := cmp.Diff(got, tt.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}
