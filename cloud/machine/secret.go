package machine

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// SecretKind is the form in which a machine proves itself that shares a secret
// with the master that launched it: a process of the master's own machine.
const SecretKind = "local"

// ProofLife is how long such a proof is good. Both ends read the same clock.
const ProofLife = time.Minute

// Secret is known to one machine and its platform only.
type Secret struct {
	Instance string
	key      string
}

// NewSecret makes a secret for a machine.
func NewSecret(instance string) Secret { return Secret{Instance: instance, key: rand.Text()} }

// Text is what is written into the machine's file.
func (s Secret) Text() []byte { return []byte(s.Instance + " " + s.key + "\n") }

// ReadSecret reads a machine's file.
func ReadSecret(file string) (Secret, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Secret{}, fmt.Errorf("read the machine's secret: %w", err)
	}
	instance, key, found := strings.Cut(strings.TrimSpace(string(data)), " ")
	if !found || instance == "" || key == "" {
		return Secret{}, fmt.Errorf("read the machine's secret: %s does not hold one", file)
	}
	return Secret{Instance: instance, key: key}, nil
}

// String hides the key.
func (s Secret) String() string { return s.Instance + " ‹redacted›" }

// GoString hides the key.
func (s Secret) GoString() string { return s.String() }

// statement is what is proven: this machine, to this audience, now.
type statement struct {
	Instance string `json:"instance"`
	Audience string `json:"audience"`
	Expires  int64  `json:"expires"` // seconds since 1970
	Nonce    string `json:"nonce"`
	MAC      []byte `json:"mac,omitempty"`
}

func (s Secret) signStatement(st statement) ([]byte, error) {
	st.MAC = nil
	text, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, []byte("det-deploy machine proof\n"+s.key))
	_, _ = h.Write(text) // a hash takes everything
	return h.Sum(nil), nil
}

// Prove makes a proof for audience.
func (s Secret) Prove(audience string, now time.Time) (Proof, error) {
	st := statement{Instance: s.Instance, Audience: audience, Expires: now.Add(ProofLife).Unix(), Nonce: rand.Text()}
	var err error
	if st.MAC, err = s.signStatement(st); err != nil {
		return Proof{}, fmt.Errorf("prove which machine this is: %w", err)
	}
	data, err := json.Marshal(st)
	if err != nil {
		return Proof{}, fmt.Errorf("prove which machine this is: %w", err)
	}
	return Proof{Kind: SecretKind, Data: data, Instance: s.Instance}, nil
}

// Claimed is the machine that a proof claims to be of, which it need not be.
func Claimed(data []byte) (string, error) {
	var st statement
	if err := json.Unmarshal(data, &st); err != nil || st.Instance == "" {
		return "", errors.New("it is not a proof of a machine")
	}
	return st.Instance, nil
}

// Check says why a proof does not prove that it is of s's machine. Once identifies
// a good one: what is signed has the nonce in it, so that every text that says the
// same has the same signature.
func (s Secret) Check(data []byte, audience string, now time.Time) (once string, err error) {
	var st statement
	if err := json.Unmarshal(data, &st); err != nil {
		return "", errors.New("it is not a proof of a machine")
	}
	want, err := s.signStatement(st)
	left := time.Unix(st.Expires, 0).Sub(now)
	switch {
	case err != nil:
		return "", err
	case !hmac.Equal(st.MAC, want) || st.Instance != s.Instance:
		return "", errors.New("it was not made by the machine that it names")
	case st.Audience != audience:
		return "", fmt.Errorf("it was made for cluster %q, not for %q", st.Audience, audience)
	case left <= 0:
		return "", errors.New("it has expired")
	case left > 2*ProofLife:
		return "", errors.New("it was made in the future; the clocks disagree")
	}
	return st.Nonce + " " + hex.EncodeToString(st.MAC), nil
}

// SecretFile is the machine of an agent that proves itself by a Secret. It is
// never interrupted by its platform.
type SecretFile string

// Proof makes a proof for audience.
func (f SecretFile) Proof(_ context.Context, audience string) (Proof, error) {
	s, err := ReadSecret(string(f))
	if err != nil {
		return Proof{}, err
	}
	return s.Prove(audience, time.Now())
}

// Notice waits until ctx ends: none ever comes.
func (SecretFile) Notice(ctx context.Context, _ int64) (Notice, bool, error) {
	<-ctx.Done()
	return Notice{}, false, ctx.Err()
}
