package token

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)

func TestJoinTokens(t *testing.T) {
	t.Parallel()
	old, current, next := NewKey(now), NewKey(now), NewKey(now)
	ring := Ring{}.Rotate(old).Rotate(current)
	j := Join{Cluster: "c1", Pool: "gpu", Expires: now.Add(time.Hour)}
	good, j := signed(ring, j)
	byOld, jOld := signed(Ring{old}, j)
	credential, _, err := ring.SignCredential(Credential{Cluster: "c1", Agent: "a", Pool: "gpu"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		ring    Ring
		text    Text
		cluster string
		now     time.Time
		want    error
	}{
		{"a fresh token is good", ring, good, "c1", now, nil},
		{"one signed by the key before is good", ring, byOld, "c1", now, nil},
		{"two rotations retire a key", ring.Rotate(next), byOld, "c1", now, ErrUnknownKey},
		{"it ends at its expiry", ring, good, "c1", now.Add(time.Hour), ErrExpired},
		{"it is good until then", ring, good, "c1", now.Add(time.Hour - time.Second), nil},
		{"another cluster refuses it", ring, good, "c2", now, ErrOtherCluster},
		{"a changed payload is forged", ring, change(good, 2), "c1", now, ErrForged},
		{"a changed signature is forged", ring, change(good, 3), "c1", now, ErrForged},
		{"an unknown key is refused", Ring{next}, good, "c1", now, ErrUnknownKey},
		{"no key refuses everything", nil, good, "c1", now, ErrUnknownKey},
		{"a credential is not a join token", ring, credential, "c1", now, ErrMalformed},
		{"a part more is malformed", ring, good + ".x", "c1", now, ErrMalformed},
		{"padding is malformed", ring, good + "=", "c1", now, ErrMalformed},
		{"the empty text is malformed", ring, "", "c1", now, ErrMalformed},
		{"an endless text is malformed", ring, good + Text(strings.Repeat("A", textLimit)), "c1", now, ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.ring.ReadJoin(tt.text, tt.cluster, tt.now)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if err == nil && got != j && got != jOld {
				t.Errorf("got %+v, want %+v", got, j)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	ring := Ring{NewKey(now)}
	text, c, err := ring.SignCredential(Credential{Cluster: "c1", Agent: "a", Pool: "gpu", Instance: "i-1", Issued: now})
	if err != nil || c.ID == "" {
		t.Fatalf("got %+v, %v, want a credential with an id", c, err)
	}
	got, err := ring.ReadCredential(text, "c1")
	if err != nil || got != c {
		t.Errorf("got %+v, %v, want %+v", got, err, c)
	}
	if _, err := ring.ReadCredential(text, "c2"); !errors.Is(err, ErrOtherCluster) {
		t.Errorf("got %v, want ErrOtherCluster", err)
	}
	if _, err := ring.ReadCredential(plain(ring.SignJoin(Join{Cluster: "c1"})), "c1"); !errors.Is(err, ErrMalformed) {
		t.Errorf("a join token as a credential: got %v, want ErrMalformed", err)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	a, hash := NewSession(User)
	b, _ := NewSession(User)
	if a == b {
		t.Error("got the same token twice")
	}
	if HashOf(a) != hash || len(hash) != 64 || strings.Contains(string(hash), string(a)) {
		t.Errorf("got hash %q, want 64 hex digits that are found again", hash)
	}
	if !strings.HasPrefix(string(a), "dduser1_") {
		t.Errorf("got a token without its prefix")
	}
}

func TestTokensAndKeysPrintRedacted(t *testing.T) {
	t.Parallel()
	k := NewKey(now)
	text := plain(Ring{k}.SignJoin(Join{Cluster: "c"}))
	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "token", text, "key", k)
	fmt.Fprintf(&b, "%v %s %q %x %#v %+v %v %#v %+v", text, text, text, text, text, text, k, k, struct{ K Key }{k})
	for _, secret := range []string{string(text), string(k.Secret), fmt.Sprintf("%x", k.Secret), fmt.Sprintf("%v", k.Secret)} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("got a secret in %q", b.String())
		}
	}
	if _, err := text.MarshalText(); err == nil {
		t.Error("got a marshalled token, want an error")
	}
}

func FuzzReadTokens(f *testing.F) {
	ring := Ring{NewKey(now)}
	good := plain(ring.SignJoin(Join{Cluster: "c1", Pool: "p", Expires: now.Add(time.Hour)}))
	credential, _, _ := ring.SignCredential(Credential{Cluster: "c1", Agent: "a"})
	f.Add(string(good))
	f.Add(string(credential))
	f.Add("ddjoin1..e30.")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ring.ReadJoin(Text(text), "c1", now); err == nil && Text(text) != good {
			t.Errorf("got a token accepted that was never made: %q", text)
		}
		if _, err := ring.ReadCredential(Text(text), "c1"); err == nil && Text(text) != credential {
			t.Errorf("got a credential accepted that was never made: %q", text)
		}
	})
}

// change replaces the first character of one part.
func change(t Text, part int) Text {
	parts := strings.Split(string(t), ".")
	c := byte('A')
	if parts[part][0] == c {
		c = 'B'
	}
	parts[part] = string(c) + parts[part][1:]
	return Text(strings.Join(parts, "."))
}

func must(t Text, err error) Text {
	if err != nil {
		panic(err)
	}
	return t
}

func signed(r Ring, j Join) (Text, Join) {
	t, j, err := r.SignJoin(j)
	if err != nil {
		panic(err)
	}
	return t, j
}

func plain(t Text, _ Join, err error) Text { return must(t, err) }
