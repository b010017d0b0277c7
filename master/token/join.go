package token

import (
	"crypto/rand"
	"time"
)

// joinKind names the form; a new form gets a new number.
const joinKind = "ddjoin1"

// Join is what a join token says: whoever holds it may become an agent of this
// pool until it expires. It may be used for any number of machines.
type Join struct {
	Cluster string
	// Pool is the only pool that the machine may join.
	Pool    string
	Expires time.Time
}

type joinBody struct {
	Cluster string `json:"c"`
	Pool    string `json:"p"`
	Expires int64  `json:"e"` // seconds since 1970
	Nonce   string `json:"n"`
}

// SignJoin makes a join token. Two with the same content differ.
func (r Ring) SignJoin(j Join) (Text, error) {
	return r.seal(joinKind, joinBody{
		Cluster: j.Cluster, Pool: j.Pool, Expires: j.Expires.Unix(), Nonce: rand.Text(),
	})
}

// ReadJoin checks a join token for cluster at the time now. The errors are
// ErrMalformed, ErrUnknownKey, ErrForged, ErrOtherCluster and ErrExpired.
func (r Ring) ReadJoin(t Text, cluster string, now time.Time) (Join, error) {
	var b joinBody
	if err := r.unseal(joinKind, t, &b); err != nil {
		return Join{}, err
	}
	if b.Cluster != cluster {
		return Join{}, ErrOtherCluster
	}
	j := Join{Cluster: b.Cluster, Pool: b.Pool, Expires: time.Unix(b.Expires, 0).UTC()}
	if !now.Before(j.Expires) {
		return Join{}, ErrExpired
	}
	return j, nil
}
