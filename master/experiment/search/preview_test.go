package search

import (
	"fmt"
	"testing"

	"github.com/det-deploy/det-deploy/master/experiment/hparam"
)

func TestPreview(t *testing.T) {
	c := halving(64, 16)
	c.Space = hparam.Space{"x": {Double: &hparam.Double{Min: 0, Max: 1}}}
	p, err := c.Preview(3)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(p.Trials, p.Concurrent, p.Groups), "64 16 [{48 1 epochs} {12 4 epochs} {4 16 epochs}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s := start(t, c)
	events, _ := s.Decide(Input{News: Started})
	if len(events.Actions) != 0 || len(p.First) != 3 {
		t.Fatalf("%d first trials", len(p.First))
	}
	fresh, _ := New(c)
	draws := fresh.Draws()
	d, _ := fresh.Decide(Input{News: Started})
	for i, f := range p.First {
		will := draws.Next(d.Actions[i].Create.Bracket, d.Actions[i].Trial)
		if f.RequestID != d.Actions[i].Create.RequestID || fmt.Sprint(f) != fmt.Sprint(will) {
			t.Errorf("trial %d is shown as %v and will be %v", i+1, f, will)
		}
	}
}

func TestPreviewOfAGridWithoutATime(t *testing.T) {
	c := Config{Method: Grid, Space: hparam.Space{"x": {Int: &hparam.Int{Min: 1, Max: 3, Count: 3}}}, MaxConcurrent: 2}
	p, err := c.Preview(5)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.First) != 3 || p.First[0].Values["x"] != int64(3) || p.Groups[0].Units != 0 {
		t.Errorf("%+v", p)
	}
}
