package token

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"
)

const credentialKind = "ddagent1"

// Credential authenticates an agent each time it connects after joining. It does not expire: it
// ends by revocation, or when both keys that existed with it are retired.
type Credential struct {
	// ID identifies the credential, for revocation.
	ID      string
	Cluster string
	Agent   string
	Pool    string
	// Instance is the machine's ID in its cloud; it is empty for a static agent.
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

// SignCredential signs a credential for c and returns c with its new ID.
func (r Ring) SignCredential(c Credential) (Text, Credential, error) {
	c.ID = rand.Text()
	c.Issued = c.Issued.UTC().Truncate(time.Second)
	t, err := r.sealToken(credentialKind, credentialBody{
		ID: c.ID, Cluster: c.Cluster, Agent: c.Agent, Pool: c.Pool, Instance: c.Instance, Issued: c.Issued.Unix(),
	})
	return t, c, err
}

// CutShort reports whether a text is an incomplete credential. It does not need the key. It returns
// false for other formats, which a later master may use.
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

// ReadCredential verifies the signature of a credential and that it is for cluster. The caller must
// check for revocation. It returns ErrMalformed, ErrUnknownKey, ErrForged or ErrOtherCluster.
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
