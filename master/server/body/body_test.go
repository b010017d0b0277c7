package body

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

var generous = Limits{Rest: 1 << 20, Files: 1000, Values: 10_000}

// decoded decodes a body after its contents were extracted and restored.
func decoded(t *testing.T, text string, l Limits) (*apiv1.LaunchCommandRequest, error) {
	t.Helper()
	s, err := Place{Dir: t.TempDir()}.Spool(int64(len(text)), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it was only read
	parts, err := s.Sift(l)
	if err != nil {
		return nil, err
	}
	var m apiv1.LaunchCommandRequest
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(parts.Rest, &m); err != nil {
		return nil, err
	}
	for i, f := range m.GetFiles() {
		content, size := parts.Content(i)
		b, err := io.ReadAll(content)
		if err != nil || int64(len(b)) != size {
			t.Fatalf("file %d: got %d bytes and %v, want %d", i, len(b), err, size)
		}
		if len(f.GetContent()) > 0 {
			t.Fatalf("file %d: its content was left in the body", i)
		}
		f.Content = b
	}
	return &m, nil
}

func TestSiftRestoresContents(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789abcde/"), 20_000)
	for _, tt := range []struct{ name, text string }{
		{"no files", `{"config":{"entrypoint":["true"]}}`},
		{"one", `{"files":[{"path":"a","content":"aGk="}]}`},
		{"content first", `{"files":[{"content":"aGk=","path":"a"}],"config":{"a":[1,{"b":2}]}}`},
		{"a file without", `{"files":[{"path":"d","type":53},{"path":"a","content":"aGk="},{"path":"b","content":""}]}`},
		{"no padding, the other alphabet", `{"files":[{"content":"_-8"},{"content":"/+8="}]}`},
		{"escaped slashes", `{"files":[{"content":"\/\/\/\/"}]}`},
		{"an escaped key", `{"fil\u0065s":[{"cont\u0065nt":"aGk="}]}`},
		{"content elsewhere", `{"config":{"files":[{"content":"aGk="}]},"data":"aGk=","templateName":"content"}`},
		{"content below a file's unknown field", `{"files":[{"x":{"content":"?"},"content":"aGk="}]}`},
		{"quotation marks and brackets in texts", `{"files":[{"path":"a\"]}\\","content":"aGk="}],"templateName":"{[\\\""}`},
		{"blanks", "{ \"files\" :\n\t[ {\"content\"  :  \"aGk=\" } , {\"path\":\"a  b\"} ] }"},
		{"large", `{"files":[{"content":"` + base64.StdEncoding.EncodeToString(large) + `"},{"content":"` + base64.StdEncoding.EncodeToString(large[1:]) + `"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var want apiv1.LaunchCommandRequest
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(tt.text), &want); err != nil {
				t.Fatal(err)
			}
			got, err := decoded(t, tt.text, generous)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range want.GetFiles() {
				if f.Content == nil {
					f.Content = []byte{} // missing content is read as empty
				}
			}
			if !proto.Equal(got, &want) {
				t.Errorf("got %.300v, want %.300v", got, &want)
			}
		})
	}
}

// The files of an experiment have a different key, in two spellings.
func TestSiftModelDefinition(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"modelDefinition", "model_definition", "contextDirectory", "context_directory"} {
		text := `{"config":"name: e","` + name + `":[{"path":"d","type":53},{"path":"a","content":"aGk="}]}`
		s, err := Place{Dir: t.TempDir()}.Spool(int64(len(text)), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // it was only read
		parts, err := s.Sift(generous)
		if err != nil {
			t.Fatal(err)
		}
		content, size := parts.Content(1)
		b, err := io.ReadAll(content)
		if string(b) != "hi" || size != 2 || err != nil || bytes.Contains(parts.Rest, []byte("aGk=")) {
			t.Errorf("%s: got %q (%d), %v, and %s", name, b, size, err, parts.Rest)
		}
	}
}

func TestSiftRejectsInvalidBase64(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"a", "aGk=aGk=", "aG=k", "a===", "=", "aGk?", `aG\nk`, `aGk\u003d`, `aGk=\"`, "aGk\x00", "aGk= "} {
		_, err := decoded(t, `{"files":[{"path":"a"},{"content":"`+content+`"}]}`, generous)
		if e, is := errors.AsType[*ContentError](err); !is || e.File != 1 {
			t.Errorf("%q: got %v, want that files[1].content is at fault", content, err)
		}
	}
}

func TestDecodedBodyIsLimited(t *testing.T) {
	t.Parallel()
	few := Limits{Rest: 2000, Files: 10, Values: 100}
	for _, tt := range []struct{ name, text, what string }{
		{"text", `{"data":"` + strings.Repeat("a", 3000) + `"}`, "bytes"},
		{"a number", `{"data":` + strings.Repeat("1", 3000) + `}`, "bytes"},
		{"values", `{"config":{"a":[1` + strings.Repeat(",1", 200) + `]}}`, "values"},
		{"lists", strings.Repeat("[", 200), "values"},
		{"files", `{"files":[{}` + strings.Repeat(`,{}`, 10) + `]}`, "files"},
		{"values in files", `{"files":[{"x":[1` + strings.Repeat(",1", 200) + `]}]}`, "values inside files"},
	} {
		_, err := decoded(t, tt.text, few)
		if e, is := errors.AsType[*LimitError](err); !is || !strings.HasPrefix(e.What, tt.what) {
			t.Errorf("%s: got %v, want that there are too many %s", tt.name, err, tt.what)
		}
	}
	many := `{"files":[{"path":"a","content":"` + strings.Repeat("aGkh", 10_000) + `"}` + strings.Repeat(`,{"type":48,"mode":1}`, 9) + "]" + strings.Repeat(" ", 5000) + `,"config":{"a":[1,2,3]}}`
	if _, err := decoded(t, many, few); err != nil {
		t.Errorf("contents, blanks and files within the limits: %v", err)
	}
}

func TestSpoolLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made")
	s, err := Place{Dir: dir}.Spool(5, strings.NewReader("12345"))
	if err != nil || s.size != 5 {
		t.Fatalf("got %v, %v", s, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("got %v, %v, want nothing that outlives the process", names, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, err = Place{Dir: "/dev/null/x"}.Spool(1, strings.NewReader("1"))
	if _, is := errors.AsType[*DiskError](err); !is {
		t.Errorf("got %v, want that the disk is at fault", err)
	}
	if _, err := (Place{Dir: dir}).Spool(1, io.MultiReader(strings.NewReader("1"), failing{})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the sender's error", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestBodiesLeaveFreeDiskSpace(t *testing.T) {
	t.Parallel()
	_, err := Place{Dir: t.TempDir(), Keep: 1 << 60}.Spool(1, strings.NewReader("1"))
	if _, is := errors.AsType[*DiskError](err); !is {
		t.Errorf("less is free than is kept: got %v, want that the disk is at fault", err)
	}
	if _, err := (Place{Dir: t.TempDir()}).Spool(1<<60, strings.NewReader("1")); err == nil {
		t.Error("a body larger than the disk is begun")
	}
	if s, err := (Place{Dir: t.TempDir(), Keep: 1}).Spool(1, strings.NewReader("1")); err != nil {
		t.Errorf("there is room: got %v", err)
	} else {
		_ = s.Close()
	}
}

func TestDiskSpaceIsCheckedWhileBodyArrives(t *testing.T) {
	t.Parallel()
	looks := 0
	w := &watched{to: io.Discard, look: func(int64) error {
		if looks++; looks == 3 {
			return &roomError{}
		}
		return nil
	}}
	n, err := io.Copy(w, io.LimitReader(zeros{}, 10*lookEvery))
	if _, full := errors.AsType[*roomError](err); !full || n >= 3*lookEvery {
		t.Errorf("got %d bytes and %v, want an end before %d", n, err, 3*lookEvery)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// Not parallel: it counts the allocations of the process.
func TestManySmallFilesTakeLittleMemory(t *testing.T) {
	const each = 2000
	for name, file := range map[string]string{"of four bytes": `{"content":"aGkhIQ=="}`, "without": `{}`} {
		text := `{"files":[` + file + strings.Repeat(","+file, each-1) + `]}`
		s, err := Place{Dir: t.TempDir()}.Spool(int64(len(text)), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // it was only read
		parts, err := s.Sift(Limits{Rest: 1 << 20, Files: each, Values: 10})
		if err != nil {
			t.Fatal(err)
		}
		got := allocated(func() {
			for i := range each {
				_, _ = parts.Content(i) // a call for the size alone
				content, _ := parts.Content(i)
				if _, err := io.Copy(io.Discard, content); err != nil {
					t.Error(err)
				}
			}
		})
		if most := uint64(each * 8 << 10); got > most {
			t.Errorf("files %s: %d of them take %d bytes, want at most %d", name, each, got, most)
		}
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Any input results either in an error or in the same message as decoding it directly.
func FuzzSift(f *testing.F) {
	f.Add(`{"files":[{"path":"a","content":"aGk="},{"content":"\/w"}],"config":{"a":[1,"b"]}}`)
	f.Add(`[{"files":[{"content":"aGk="}]}]`)
	f.Add(`{"files":[{"content":"aGk=","content":"aGk="}],"files":[{"content":"aGk="}]}`)
	f.Add(`{"files":{"a":{"content":"aGk="}},"data":"\"}`)
	f.Add("]]]{\"files\":[{}, 1 2 ,{\"content\" \"aGk=\"}]}")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decoded(t, text, generous)
		var want apiv1.LaunchCommandRequest
		if alone := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), &want); err != nil || alone != nil {
			if err == nil {
				t.Fatalf("accepted an invalid body: %v", alone)
			}
			return
		}
		for _, f := range want.GetFiles() {
			if f.Content == nil {
				f.Content = []byte{}
			}
		}
		if !proto.Equal(got, &want) {
			t.Errorf("got %v, want %v", got, &want)
		}
	})
}
