package token

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"
)

const credentialKind = "ddagent1"

// Credential is what an agent shows each time it connects, after it has joined.
// It has no expiry: it ends by revocation or when both keys that knew it are retired.
type Credential struct {
	// ID is this credential's own name, by which it is revoked.
	ID      string
	Cluster string
	Agent   string
	Pool    string
	// Instance is the machine's name in its cloud, empty for a static agent.
	Instance string
	Issued   time.Time
}

type credentialBody struct {
	ID       string `json:"id"`
	Cluster  string `json:"c"`
	Agent    string `json:"a"`
	Pool     string `json:"p"`
	Instance string `json:"i,omitempty"`
	Issued   int64  `json:"t"` // seconds since 1970
}

// SignCredential makes a credential for c and returns c with the ID it was given.
func (r Ring) SignCredential(c Credential) (Text, Credential, error) {
	c.ID = rand.Text()
	c.Issued = c.Issued.UTC().Truncate(time.Second)
	t, err := r.sealToken(credentialKind, credentialBody{
		ID: c.ID, Cluster: c.Cluster, Agent: c.Agent, Pool: c.Pool, Instance: c.Instance, Issued: c.Issued.Unix(),
	})
	return t, c, err
}

// CutShort reports whether a text is only a part of a credential, for who has no key
// to check it with. Of other forms, which a later master may use, it knows nothing.
func CutShort(t Text) bool {
	parts := strings.Split(string(t), ".")
	if parts[0] != credentialKind {
		return false
	}
	if len(parts) != 4 {
		return true
	}
	mac, err := decodeBytes(parts[3])
	return err != nil || len(mac) != sha256.Size
}

// ReadCredential checks the signature of a credential and that it is for cluster.
// Whether it has been revoked is for the caller to look up. The errors are
// ErrMalformed, ErrUnknownKey, ErrForged and ErrOtherCluster.
func (r Ring) ReadCredential(t Text, cluster string) (Credential, error) {
	var b credentialBody
	if err := r.unsealToken(credentialKind, t, &b); err != nil {
		return Credential{}, err
	}
	if b.Cluster != cluster {
		return Credential{}, ErrOtherCluster
	}
	return Credential{
		ID: b.ID, Cluster: b.Cluster, Agent: b.Agent, Pool: b.Pool, Instance: b.Instance,
		Issued: time.Unix(b.Issued, 0).UTC(),
	}, nil
}
