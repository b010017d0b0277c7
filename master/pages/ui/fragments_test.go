package ui

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
)

func TestTabsOfASessionShareALiveBlock(t *testing.T) {
	now, rendered := time.Unix(1000, 0), 0
	s := newSite(t, Page{Pattern: "GET /det/count", Serve: func(v *Visit) error {
		rendered++
		return v.Show(testPage, "Count", fmt.Sprint(rendered))
	}}, Page{Pattern: "GET /det/broken", Serve: func(*Visit) error { return &Refusal{http.StatusConflict, "It is broken."} }})
	s.cfg.Reuse, s.cfg.Now = time.Second, func() time.Time { return now }
	live := map[string]string{"HX-Request": "true"}
	get := func(path string, later time.Duration, header map[string]string) string {
		now = now.Add(later)
		return bodyOf(t, s.do(t, request{path: path, header: header}))
	}
	for _, tt := range []struct {
		path  string
		later time.Duration
		want  string
	}{
		{"/det/count", 0, "<bdi>1</bdi>"},
		{"/det/count", time.Second / 2, "<bdi>1</bdi>"},
		{"/det/count?a=b", 0, "<bdi>2</bdi>"},
		{"/det/count", time.Second / 2, "<bdi>3</bdi>"},
	} {
		if got := get(tt.path, tt.later, live); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.path, got, tt.want)
		}
	}
	get("/det/count", 0, nil) // a whole page is rendered each time
	if rendered != 4 {
		t.Errorf("got %d, want 4 renderings", rendered)
	}
	for range 2 { // an error is no block, and leaves no lock
		if r := s.do(t, request{path: "/det/broken", header: live}); r.StatusCode != http.StatusConflict {
			t.Errorf("got %d", r.StatusCode)
		}
	}
	if r := s.do(t, request{path: "/det/count", header: live, out: true}); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %d without a session", r.StatusCode)
	}
	for i := range 3 * kept {
		get(fmt.Sprintf("/det/count?i=%d", i), time.Second, live)
	}
	if n := len(s.fragments.byKey); n > kept {
		t.Errorf("got %d fragments, want at most %d", n, kept)
	}
}

// A stream keeps no other request of its session waiting.
func TestStreamsAreNoLiveBlocks(t *testing.T) {
	var s *site
	opened := 0
	stream := request{path: "/det/stream", header: map[string]string{"HX-Request": "true"}}
	s = newSite(t, Page{Pattern: "GET /det/stream", Serve: func(v *Visit) error {
		v.Writer()
		if opened++; opened == 1 {
			s.do(t, stream)
		}
		return nil
	}})
	s.cfg.Reuse = time.Second
	if s.do(t, stream); opened != 2 {
		t.Errorf("got %d streams, want 2", opened)
	}
}

// timed is a response that counts its deadlines.
type timed struct {
	*httptest.ResponseRecorder

	deadlines int
}

func (w *timed) SetWriteDeadline(time.Time) error {
	w.deadlines++
	return nil
}

func TestEachPartOfAFileHasItsTime(t *testing.T) {
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	text := strings.Repeat("x", 3*partBytes)
	if n, err := (paced{w}).Write([]byte(text)); n != len(text) || err != nil || w.Body.String() != text || w.deadlines != 3 {
		t.Errorf("got %d bytes, %v, and %d deadlines", n, err, w.deadlines)
	}
}

func TestSentences(t *testing.T) {
	for message, want := range map[string]string{"no pool": "No pool.", "über": "Über.", "Done.": "Done.", "'a' exists": "'a' exists."} {
		if got := sentence(&client.Error{Message: message}); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
