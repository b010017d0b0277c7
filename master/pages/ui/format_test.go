package ui

import (
	"net/url"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestFormats(t *testing.T) {
	at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.FixedZone("x", 3600))
	for _, tt := range []struct{ got, want any }{
		{Duration(0), "0 s"},
		{Duration(59 * time.Second), "59 s"},
		{Duration(2*time.Hour + 5*time.Minute + 9*time.Second), "2 h 5 min"},
		{Duration(48 * time.Hour), "2 d"},
		{Bytes(999), "999 B"},
		{Bytes(int64(1536)), "1.54 kB"},
		{Bytes(int64(23_000_000_000_000)), "23 TB"},
		{Number(0.123456789), "0.123457"},
		{Count(int32(1), "slot"), "1 slot"},
		{Count(0, "slot"), "0 slots"},
		{Percent(0.256), "26 %"},
		{string(showTime(timestamppb.New(at))), `<time datetime="2026-11-30T00:02:03Z">2026-11-30 00:02:03 UTC</time>`},
		{string(showTime((*timestamppb.Timestamp)(nil))), "–"},
		{string(name("a\u202e<i>\x07")), "<bdi>a\uFFFD&lt;i&gt;\uFFFD</bdi>"},
		{string(state("STATE_STOPPING_KILLED")), `<span class="state busy">stopping killed</span>`},
		{string(state("<b>")), `<span class="state off">&lt;b&gt;</span>`},
		{attachment("a\"b/\r\nc.csv"), `attachment; filename="a\"b___c.csv"`},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestAddressesKeepTheOtherParameters(t *testing.T) {
	u, err := url.Parse("/det/experiments?sort=-name&user=a%26b&offset=20")
	if err != nil {
		t.Fatal(err)
	}
	f := &Frame{url: u}
	if got, want := f.With("offset", 40, "user", ""), "/det/experiments?offset=40&sort=-name"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(f.Column("id", "name", "Name")), `<th scope="col" aria-sort="descending"><a href="/det/experiments?sort=name&amp;user=a%26b">Name</a></th>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p := Paging{Offset: 20, Limit: 20, Total: 41}
	if p.First() != 21 || p.Last() != 40 || p.Previous() != "0" || p.Next() != "40" {
		t.Errorf("got %d–%d, previous %q, next %q", p.First(), p.Last(), p.Previous(), p.Next())
	}
}

func TestNavigationShowsWhereTheVisitorIs(t *testing.T) {
	pages := []Page{
		{Pattern: "GET /det/{$}", Nav: "Overview"},
		{Pattern: "GET /det/experiments", Nav: "Experiments"},
		{Pattern: "GET /det/experiments/{id}"},
		{Pattern: "GET /det/users", Nav: "Users", Admin: true},
	}
	for path, want := range map[string]string{"/det/": "Overview", "/det/experiments": "Experiments", "/det/experiments/7": "Experiments", "/det/trials/1": ""} {
		got := ""
		for _, l := range links(pages, path, false) {
			if l.Current {
				got = l.Text
			}
			if l.Text == "Users" {
				t.Error("the page of administrators is in the navigation of others")
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestOffset(t *testing.T) {
	for text, want := range map[string]int{"": 0, "40": 40, "-1": 0, "x": 0, "2147483648": 0} {
		if got := Offset(url.Values{"offset": {text}}); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestPart(t *testing.T) {
	rows := make([]int, 250)
	for offset, want := range map[string]struct {
		rows           int
		previous, next string
	}{
		"": {100, "", "100"}, "100": {100, "0", "200"}, "200": {50, "100", ""}, "999": {0, "150", ""},
	} {
		part, p := Part(rows, url.Values{"offset": {offset}})
		if len(part) != want.rows || p.Previous() != want.previous || p.Next() != want.next {
			t.Errorf("%q: got %d rows, %q and %q", offset, len(part), p.Previous(), p.Next())
		}
	}
}
