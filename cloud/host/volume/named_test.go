package volume

import (
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"unsafe"
)

// page returns a page 0x83 with designators, each given as type and text.
func page(designators ...[2]string) []byte {
	var body []byte
	for _, d := range designators {
		body = append(body, 0x02, d[0][0], 0, byte(len(d[1])))
		body = append(body, d[1]...)
	}
	return append(binary.BigEndian.AppendUint16([]byte{0, 0x83}, uint16(len(body))), body...) //nolint:gosec // it is short
}

// The designator types: vendor-specific, T10 vendor ID, and vendor-specific of a target port.
const (
	own  = "\x00"
	t10  = "\x01"
	port = "\x10"
)

func TestFindNamedDisk(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string][]byte
		links map[string]string
		want  string
	}{
		"none": {map[string][]byte{"sys/block/sda/size": nil}, nil, ""},
		"by its link": {
			map[string][]byte{"dev/sdb": nil}, map[string]string{"dev/disk/by-id/google-det-data": "../../sdb"}, "dev/sdb",
		},
		"by its page": {map[string][]byte{
			"sys/block/sda/device/vendor": []byte("Google  \n"), "sys/block/sda/device/vpd_pg83": page([2]string{own, "persistent-disk-0"}),
			"sys/block/sdb/device/vendor": []byte("Google  \n"), "sys/block/sdb/device/vpd_pg83": page([2]string{t10, "Google  x"}, [2]string{port, "a port"}, [2]string{own, "det-data "}),
		}, nil, "dev/sdb"},
		"of another vendor": {map[string][]byte{
			"sys/block/sda/device/vendor": []byte("QEMU\n"), "sys/block/sda/device/vpd_pg83": page([2]string{own, "det-data"}),
		}, nil, ""},
		"a page that ends early": {map[string][]byte{
			"sys/block/sda/device/vendor": []byte("Google\n"), "sys/block/sda/device/vpd_pg83": page([2]string{own, "det-data"})[:9],
		}, nil, ""},
		"an NVMe disk that does not answer": {map[string][]byte{"sys/block/nvme0n1/size": nil, "dev/nvme0n1": nil}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, filepath.Join(root, "sys/block/loop0/size"), nil)
			for path, data := range tt.files {
				write(t, filepath.Join(root, path), data)
			}
			for path, to := range tt.links {
				link(t, to, filepath.Join(root, path))
			}
			v := Volume{Name: "det-data", Sys: filepath.Join(root, "sys"), Dev: filepath.Join(root, "dev"), Log: slog.New(slog.DiscardHandler)}
			got, found, err := v.findDisk()
			want := ""
			if tt.want != "" {
				want = filepath.Join(root, tt.want)
			}
			if err != nil || got != want || found != (want != "") {
				t.Errorf("got %q, %v, %v; want %q", got, found, err, want)
			}
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// The struct must have the size and the field offsets of the kernel's nvme_passthru_cmd.
func TestAdminCommandLayout(t *testing.T) {
	t.Parallel()
	var c adminCommand
	if size, at, length := unsafe.Sizeof(c), unsafe.Offsetof(c.address), unsafe.Offsetof(c.size); size != 72 || at != 24 || length != 36 {
		t.Errorf("got %d bytes, the address at %d and its size at %d; want 72, 24, 36", size, at, length)
	}
}

func TestNVMeName(t *testing.T) {
	t.Parallel()
	describe := func(text string) []byte {
		out := make([]byte, identifySize)
		copy(out[vendorData:], text)
		return out
	}
	for text, want := range map[string]string{
		`{"device_name":"det-data","disk_type":"PERSISTENT"}`: "det-data",
		`{"device_name":"","disk_type":"PERSISTENT"}`:         "",
		``:       "",
		`Amazon`: "",
	} {
		if got, ok := nvmeName(describe(text)); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", text, got, ok, want)
		}
	}
	if _, ok := nvmeName(nil); ok {
		t.Error("got a name of nothing")
	}
}

func FuzzTheNameOfADisk(f *testing.F) {
	f.Add(page([2]string{own, "det-data"}))
	f.Add([]byte{0, 0x83, 0, 200, 2, 0, 0, 255, 'x'})
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = scsiName(data)
		_, _ = nvmeName(data)
	})
}
