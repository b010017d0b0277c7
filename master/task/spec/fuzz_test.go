package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/rm"
)

// For any configuration of a client, Complete returns an error that is the client's fault, or a
// configuration that can be stored and loaded, shown without its secrets, and run.
func FuzzComplete(f *testing.F) {
	for _, s := range []string{
		`{"entrypoint":["true"]}`, `{"entrypoint":"echo hi","work_dir":"/w","bind_mounts":[{"host_path":"/a","container_path":"../b"}]}`,
		`{"entrypoint":["x"],"resources":{"slots":2,"shm_size":"1.5g","priority":42,"devices":["/dev/a:/dev/b:rwm"]},"description":"\u0085\ufeff"}`,
		`{"entrypoint":["x"],"environment":{"image":{"cpu":"a"},"environment_variables":{"A":"1"},"ports":{"<<":80,"1":81,"null":82},` +
			`"registry_auth":{"username":"u","password":"file:/etc/passwd"},"pod_spec":{"spec":{"nodeSelector":{"a":"1e3"}}}}}`,
		`{"entrypoint":["x"],"environment":{"pod_spec":"spec: {}"},"idle_timeout":"10m"}`, `null`, `{"a":{"a":{"a":[[[]]]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &structpb.Struct{}
		if s.UnmarshalJSON(data) != nil {
			return
		}
		defaults := container.Default()
		c, _, err := completed(s, defaults)
		if err != nil {
			if _, ours := errors.AsType[*DecodeError](err); !ours {
				t.Errorf("got %v, want that the configuration is at fault", err)
			}
			return
		}
		checkKept(t, c)
		for _, made := range Build(Run{Program: Program{Config: c}, Defaults: defaults, Task: "t", Allocation: "t.1"}, []rm.Container{{}, {}}) {
			if len(made.GetEntrypoint()) == 0 || made.GetImage() == "" || !path.IsAbs(made.GetWorkDir()) || made.GetShmSize() < 1 {
				t.Errorf("got %v, which cannot be run", made)
			}
		}
	})
}

// checkKept stores a configuration and loads it again, in full and after Forget.
func checkKept(t *testing.T, c Config) {
	t.Helper()
	stored, err := Store(c)
	if err != nil {
		t.Fatalf("cannot store an accepted configuration: %v", err)
	}
	again, err := Load(stored)
	if err != nil {
		t.Fatalf("cannot load a stored configuration: %v\n%s", err, stored)
	}
	if restored, err := Store(again); err != nil || !sameJSON(restored, stored) {
		t.Errorf("got %s, %v, want %s", restored, err, stored)
	}
	if _, err := Show(c, 0); err != nil {
		t.Errorf("cannot show an accepted configuration: %v", err)
	}
	forgotten, err := Forget(stored)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := Load(forgotten); err != nil || left.Environment.RegistryAuth != nil {
		t.Errorf("got %+v, %v, want the sign-in forgotten", left.Environment.RegistryAuth, err)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// An accepted size is positive, and equal when it is parsed from its written form.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1.5g", "512MiB", "4611686018427387904", "0.9", "1e9", ".k", "9999999p"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, ok := ParseSize(text)
		if !ok {
			return
		}
		shown := fmt.Sprint(size.MarshalDocument())
		if again, ok := ParseSize(shown); size < 1 || !ok || again != size {
			t.Errorf("%q is %d, written as %q and read as %d", text, size, shown, again)
		}
	})
}
