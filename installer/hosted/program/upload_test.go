package program

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"testing/iotest"
	"time"
)

// A slow upload reports its progress every few seconds, also after a restart; a fast one does not.
func TestSlowUploadReportsProgress(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	step := time.Second
	now := func() time.Time { at = at.Add(step); return at }
	var told []string
	u, err := WatchUpload(bytes.NewReader(make([]byte, 4_000_000)), now, func(s string) { told = append(told, s) })
	if err != nil {
		t.Fatal(err)
	}
	pass := func() {
		t.Helper()
		buf := make([]byte, 500_000)
		for {
			if _, err := io.ReadFull(u, buf); err != nil {
				break
			}
		}
		if _, err := u.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	want := []string{"uploaded 1 of 4 MB (37 %)", "uploaded 3 of 4 MB (75 %)"}
	if !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
	pass()
	if len(told) != 5 || told[2] != "uploaded 0 of 4 MB (12 %)" {
		t.Errorf("after it began again: got %q", told)
	}
	step, told = 0, nil
	pass()
	if len(told) > 0 {
		t.Errorf("a fast one: got %q, want nothing", told)
	}
	if _, err := WatchUpload(struct{ io.ReadSeeker }{failing{}}, now, nil); err == nil {
		t.Error("a file without an end: got no error")
	}
}

type failing struct{ io.Reader }

func (failing) Seek(int64, int) (int64, error) { return 0, iotest.ErrTimeout }
