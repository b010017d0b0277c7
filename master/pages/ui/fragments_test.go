package ui

import (
	"fmt"
	"net/http"
	"testing"
	"time"
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
