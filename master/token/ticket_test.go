package token

import (
	"errors"
	"testing"
	"time"
)

func TestTickets(t *testing.T) {
	t.Parallel()
	key := NewKey(now)
	ring := Ring{key}
	want := Ticket{Cluster: "c1", Service: "t1:8080", Session: HashOf("session"), Expires: now.Add(time.Hour)}
	good, err := ring.SignTicket(want)
	if err != nil {
		t.Fatal(err)
	}
	join, _ := signed(ring, Join{Cluster: "c1", Pool: "gpu", Expires: now.Add(time.Hour)})
	for name, row := range map[string]struct {
		ring    Ring
		text    Text
		cluster string
		service string
		now     time.Time
		want    error
	}{
		"a fresh ticket is good":             {ring, good, "c1", "t1:8080", now, nil},
		"another port is another service":    {ring, good, "c1", "t1:8081", now, ErrForged},
		"another task is another service":    {ring, good, "c1", "t2:8080", now, ErrForged},
		"another cluster refuses it":         {ring, good, "c2", "t1:8080", now, ErrOtherCluster},
		"it ends at its expiry":              {ring, good, "c1", "t1:8080", now.Add(time.Hour), ErrExpired},
		"a changed payload is forged":        {ring, change(good, 2), "c1", "t1:8080", now, ErrForged},
		"an unknown key is refused":          {Ring{NewKey(now)}, good, "c1", "t1:8080", now, ErrUnknownKey},
		"a token of another kind is refused": {ring, join, "c1", "t1:8080", now, ErrMalformed},
	} {
		got, err := row.ring.ReadTicket(row.text, row.cluster, row.service, row.now)
		if !errors.Is(err, row.want) {
			t.Errorf("%s: got error %v, want %v", name, err, row.want)
		}
		if err == nil && got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
