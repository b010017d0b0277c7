package token

import (
	"crypto/rand"
	"strings"
	"time"
)

// joinKind names the format; a new format gets a new number.
const joinKind = "ddjoin1"

// Join is the content of a join token: its holder may join this pool as an agent until it expires.
type Join struct {
	// ID identifies the token, for counting and revocation.
	ID      string
	Cluster string
	// Pool is the only pool that the machine may join.
	Pool    string
	Expires time.Time
	// Uses is the maximum number of machines; 0 means no limit. The admission of agents counts
	// them.
	Uses int
}

type joinBody struct {
	Cluster string `json:"c"`
	Pool    string `json:"p"`
	Expires int64  `json:"e"` // seconds since 1970
	Nonce   string `json:"n"`
	Uses    int    `json:"u,omitempty"`
}

// SignJoin signs a join token and returns j with its new ID.
func (r Ring) SignJoin(j Join) (Text, Join, error) {
	j.ID = rand.Text()
	j.Expires = j.Expires.UTC().Truncate(time.Second)
	t, err := r.sealToken(joinKind, joinBody{
		Cluster: j.Cluster, Pool: j.Pool, Expires: j.Expires.Unix(), Nonce: j.ID, Uses: j.Uses,
	})
	return t, j, err
}

// ReadJoin verifies a join token for cluster at the time now. It returns ErrMalformed,
// ErrUnknownKey, ErrForged, ErrOtherCluster or ErrExpired.
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

// LooksLikeJoin reports whether t has the format of a join token, valid or not.
func LooksLikeJoin(t Text) bool { return strings.HasPrefix(string(t), joinKind+".") }
