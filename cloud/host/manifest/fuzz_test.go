package manifest_test

import (
	"encoding/json"
	"net"
	"net/url"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// For any content of the control bucket, a valid manifest refers only to objects named by their
// checksum, to clean absolute paths and to the local machine, and encodes and parses to the same
// value.
func FuzzParse(f *testing.F) {
	good, err := whole().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema":"det-deploy.manifest/v1","files":{"/etc/../x":{"key":"files/..","mode":"7777"}},"health":{"url":"http://[::1]@evil/"}}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Parse(data)
		if err != nil {
			return
		}
		for arch, b := range m.Binaries {
			if b.Key != manifest.BinaryKey(b.SHA256) {
				t.Errorf("%s is fetched from %q", arch, b.Key)
			}
		}
		for name, file := range m.Files {
			if !path.IsAbs(name) || path.Clean(name) != name || file.Key != manifest.FileKey(file.SHA256) || file.Mode.Perm()&^0o777 != 0 {
				t.Errorf("%q is written from %q with mode %v", name, file.Key, file.Mode)
			}
		}
		if u, err := url.Parse(m.Health.URL); err != nil || !net.ParseIP(u.Hostname()).IsLoopback() {
			t.Errorf("%q is asked", m.Health.URL)
		}
		written, err := m.Encode()
		if err != nil {
			t.Fatalf("a parsed value cannot be encoded: %v", err)
		}
		again, err := manifest.Parse(written)
		if err != nil {
			t.Fatalf("an encoded value cannot be parsed: %v", err)
		}
		if d := cmp.Diff(again, m); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
	})
}

// A status round-trips through its encoding, and a status with another schema is rejected.
func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(`{"schema":"det-deploy.status/v1","generation":3,"version":"1","phase":"serve","ready":true,"at":"2030-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"schema":"det-deploy.status/v2"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := manifest.ParseStatus(data)
		if err != nil {
			return
		}
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("a parsed value cannot be encoded: %v", err)
		}
		again, err := manifest.ParseStatus(written)
		if err != nil || !again.Same(s) || !again.At.Equal(s.At) {
			t.Errorf("got %+v, %v, want %+v", again, err, s)
		}
	})
}
