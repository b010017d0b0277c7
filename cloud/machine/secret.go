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

// SecretKind is the proof type of a machine that shares a secret with the master that launched it,
// as a process on the same host.
const SecretKind = "local"

// ProofLife is the validity of a proof. Both sides use the same clock.
const ProofLife = time.Minute

// Secret is shared by a machine and its platform.
type Secret struct {
	Instance string
	key      string
}

// NewSecret returns a new secret for a machine.
func NewSecret(instance string) Secret { return Secret{Instance: instance, key: rand.Text()} }

// Text returns the content of the machine's secret file.
func (s Secret) Text() []byte { return []byte(s.Instance + " " + s.key + "\n") }

// ReadSecret reads a machine's secret file.
func ReadSecret(file string) (Secret, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Secret{}, fmt.Errorf("read the machine's secret: %w", err)
	}
	instance, key, found := strings.Cut(strings.TrimSpace(string(data)), " ")
	if !found || instance == "" || key == "" {
		return Secret{}, fmt.Errorf("read the machine's secret: %s does not contain one", file)
	}
	return Secret{Instance: instance, key: key}, nil
}

// String returns the secret with its key redacted.
func (s Secret) String() string { return s.Instance + " ‹redacted›" }

// GoString returns the secret with its key redacted.
func (s Secret) GoString() string { return s.String() }

// statement is the signed content of a proof: instance, audience and expiry.
type statement struct {
	Instance string `json:"instance"`
	Audience string `json:"audience"`
	Expires  int64  `json:"expires"` // Unix time in seconds
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
	_, _ = h.Write(text) // a hash.Hash never returns an error
	return h.Sum(nil), nil
}

// Prove returns a proof for audience.
func (s Secret) Prove(audience string, now time.Time) (Proof, error) {
	st := statement{Instance: s.Instance, Audience: audience, Expires: now.Add(ProofLife).Unix(), Nonce: rand.Text()}
	var err error
	if st.MAC, err = s.signStatement(st); err != nil {
		return Proof{}, fmt.Errorf("prove this machine's identity: %w", err)
	}
	data, err := json.Marshal(st)
	if err != nil {
		return Proof{}, fmt.Errorf("prove this machine's identity: %w", err)
	}
	return Proof{Kind: SecretKind, Data: data, Instance: s.Instance}, nil
}

// Claimed returns the instance ID claimed by a proof. It is not verified.
func Claimed(data []byte) (string, error) {
	var st statement
	if err := json.Unmarshal(data, &st); err != nil || st.Instance == "" {
		return "", errors.New("it is not a machine's proof")
	}
	return st.Instance, nil
}

// Check returns an error if the proof was not made with secret s for audience, or has expired. Once
// identifies a valid proof: the signature covers the nonce, so that all encodings of the same proof
// have the same signature.
func (s Secret) Check(data []byte, audience string, now time.Time) (once string, err error) {
	var st statement
	if err := json.Unmarshal(data, &st); err != nil {
		return "", errors.New("it is not a machine's proof")
	}
	want, err := s.signStatement(st)
	left := time.Unix(st.Expires, 0).Sub(now)
	switch {
	case err != nil:
		return "", err
	case !hmac.Equal(st.MAC, want) || st.Instance != s.Instance:
		return "", errors.New("it was not made by the claimed machine")
	case st.Audience != audience:
		return "", fmt.Errorf("it was made for cluster %q, not for %q", st.Audience, audience)
	case left <= 0:
		return "", errors.New("it has expired")
	case left > 2*ProofLife:
		return "", errors.New("it was made in the future; check the clocks")
	}
	return st.Nonce + " " + hex.EncodeToString(st.MAC), nil
}

// SecretFile is the machine of an agent with a Secret. It is never interrupted by its platform.
type SecretFile string

// Proof returns a proof for audience.
func (f SecretFile) Proof(_ context.Context, audience string) (Proof, error) {
	s, err := ReadSecret(string(f))
	if err != nil {
		return Proof{}, err
	}
	return s.Prove(audience, time.Now())
}

// Notice waits until ctx is done, because there are no notices.
func (SecretFile) Notice(ctx context.Context, _ int64) (Notice, bool, error) {
	<-ctx.Done()
	return Notice{}, false, ctx.Err()
}
