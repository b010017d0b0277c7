package token

import (
	"crypto/rand"
	"strings"
	"time"
)

// joinKind names the form; a new form gets a new number.
const joinKind = "ddjoin1"

// Join is what a join token says: its holder may become an agent of this
// pool until it expires.
type Join struct {
	// ID is the token's own name, by which it is counted and revoked.
	ID      string
	Cluster string
	// Pool is the only pool that the machine may join.
	Pool    string
	Expires time.Time
	// Uses is how many machines may join with it; 0 is any number. The admission
	// of agents counts them.
	Uses int
}

type joinBody struct {
	Cluster string `json:"c"`
	Pool    string `json:"p"`
	Expires int64  `json:"e"` // seconds since 1970
	Nonce   string `json:"n"`
	Uses    int    `json:"u,omitempty"`
}

// SignJoin makes a join token and returns j with the ID it was given.
func (r Ring) SignJoin(j Join) (Text, Join, error) {
	j.ID = rand.Text()
	j.Expires = j.Expires.UTC().Truncate(time.Second)
	t, err := r.sealToken(joinKind, joinBody{
		Cluster: j.Cluster, Pool: j.Pool, Expires: j.Expires.Unix(), Nonce: j.ID, Uses: j.Uses,
	})
	return t, j, err
}

// ReadJoin checks a join token for cluster at the time now. The errors are
// ErrMalformed, ErrUnknownKey, ErrForged, ErrOtherCluster and ErrExpired.
func (r Ring) ReadJoin(t Text, cluster string, now time.Time) (Join, error) {
	var b joinBody
	if err := r.unsealToken(joinKind, t, &b); err != nil {
		return Join{}, err
	}
	switch {
	case b.Cluster != cluster:
		return Join{}, ErrOtherCluster
	case b.Nonce == "" || b.Uses < 0:
		return Join{}, ErrMalformed
	}
	j := Join{ID: b.Nonce, Cluster: b.Cluster, Pool: b.Pool, Expires: time.Unix(b.Expires, 0).UTC(), Uses: b.Uses}
	if !now.Before(j.Expires) {
		return Join{}, ErrExpired
	}
	return j, nil
}

// LooksLikeJoin says that t is written as a join token, good or not.
func LooksLikeJoin(t Text) bool { return strings.HasPrefix(string(t), joinKind+".") }
