package elastic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

// offersOf parses "a/1 a/2 b/1" as on-demand offers, and "~a/1" as a spot offer.
func offersOf(text string) []cloud.Offer {
	var out []cloud.Offer
	for word := range strings.FieldsSeq(text) {
		o := cloud.Offer{Price: cloud.OnDemand}
		if rest, spot := strings.CutPrefix(word, "~"); spot {
			word, o.Price = rest, cloud.Spot
		}
		o.Type, o.Zone, _ = strings.Cut(word, "/")
		out = append(out, o)
	}
	return out
}

func textOf(offers []cloud.Offer) string {
	var out []string
	for _, o := range offers {
		mark := ""
		if o.Price == cloud.Spot {
			mark = "~"
		}
		out = append(out, fmt.Sprintf("%s%s/%s", mark, o.Type, o.Zone))
	}
	return strings.Join(out, " ")
}

func TestScarceOffersComeLastWithinTypeAndPrice(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, offers string
		// scarce maps offers to the minutes since they lacked capacity.
		scarce map[string]int
		want   string
	}{
		{"none", "a/1 a/2 b/1", nil, "a/1 a/2 b/1"},
		{"the first", "a/1 a/2 a/3", map[string]int{"a/1": 5}, "a/2 a/3 a/1"},
		{"the last", "a/1 a/2 a/3", map[string]int{"a/3": 5}, "a/1 a/2 a/3"},
		{"all, longest ago first", "a/1 a/2 a/3", map[string]int{"a/1": 5, "a/2": 30, "a/3": 10}, "a/2 a/3 a/1"},
		{"types keep their order", "a/1 a/2 b/1 b/2", map[string]int{"a/1": 5, "a/2": 5, "b/1": 5}, "a/1 a/2 b/2 b/1"},
		{"cheaper offers stay first", "~a/1 ~a/2 a/1 a/2", map[string]int{"~a/1": 1, "~a/2": 2}, "~a/2 ~a/1 a/1 a/2"},
		{"an hour ago is forgotten", "a/1 a/2", map[string]int{"a/1": 60}, "a/1 a/2"},
		{"just within the hour", "a/1 a/2", map[string]int{"a/1": 59}, "a/2 a/1"},
		{"one that is no longer configured", "a/1 a/2", map[string]int{"c/1": 1}, "a/1 a/2"},
		{"nothing", "", map[string]int{"a/1": 1}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			now := t0()
			scarce := make(map[cloud.Offer]time.Time)
			for o, minutes := range tc.scarce {
				scarce[offersOf(o)[0]] = now.Add(-time.Duration(minutes) * time.Minute)
			}
			offers := offersOf(tc.offers)
			if got := textOf(elastic.OrderByScarcity(offers, scarce, now)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if got := textOf(offers); got != tc.offers {
				t.Errorf("the pool's own order is now %s", got)
			}
		})
	}
}

// The zone that granted a machine is tried before a refused one, for as long as the refusal is
// remembered.
func TestZoneWithCapacityIsTriedFirst(t *testing.T) {
	t.Parallel()
	offers := offersOf("a/1 a/2 a/3")
	f := elastic.New(elastic.Limits{Min: 1, Max: 4}, offers, elastic.Shape{Slots: 8})
	now := t0()
	first := func() string {
		t.Helper()
		d := elastic.Decide(f, now)
		if len(d.Launch) != 1 {
			t.Fatalf("got %+v", d)
		}
		return d.Launch[0].Offer.Zone
	}
	refuse := func(n int, k cloud.Kind) { f.Refuse(offers[n], elastic.Refusal{Kind: k, Text: "no"}, now) }
	if got := first(); got != "1" {
		t.Errorf("nothing known: got zone %s", got)
	}
	refuse(0, cloud.NoCapacity)
	f.Grant(offers[1])
	now = now.Add(30 * time.Minute) // the refusal has expired but is remembered
	if got := first(); got != "2" {
		t.Errorf("zone 1 was refused: got zone %s", got)
	}
	refuse(1, cloud.NoCapacity)
	if got := first(); got != "3" {
		t.Errorf("zones 1 and 2 were refused: got zone %s", got)
	}
	f.Grant(offers[0])
	if got := first(); got != "1" {
		t.Errorf("zone 1 has machines again: got zone %s", got)
	}
	refuse(2, cloud.Invalid) // a refusal for a reason other than capacity
	if len(f.Scarce) != 1 {
		t.Errorf("got %v, want zone 2 alone", f.Scarce)
	}
	now = now.Add(elastic.ScarceMemory)
	if got := first(); got != "1" {
		t.Errorf("all is forgotten: got zone %s", got)
	}
}
