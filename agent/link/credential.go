package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"github.com/det-deploy/det-deploy/agent/health"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/token"
)

// proveIdentity adds the stored credential to the hello, or without one a proof of the machine's
// identity or the join token.
func (l *link) proveIdentity(ctx context.Context, h *agentv1.Hello) error {
	credential, err := l.currentCredential()
	if err != nil {
		return err
	}
	h.Credential = credential
	if credential != "" {
		return nil
	}
	if l.cfg.Prove != nil {
		p, err := l.cfg.Prove(ctx)
		h.Proof, h.ProofKind = p.Data, p.Kind
		return err
	}
	if l.cfg.JoinTokenFile == "" {
		return nil
	}
	h.JoinToken, err = readSecret(l.cfg.JoinTokenFile)
	if err != nil {
		return finalUnlessLacking(fmt.Errorf("read join_token_file: %w", err))
	}
	if h.GetJoinToken() == "" {
		return &Final{Err: fmt.Errorf("join_token_file %s is empty", l.cfg.JoinTokenFile)}
	}
	return nil
}

// currentCredential returns the latest credential, or "" without one.
func (l *link) currentCredential() (string, error) {
	credential, err := l.readCredential()
	if err != nil {
		return "", finalUnlessLacking(fmt.Errorf("read the agent's credential: %w", err))
	}
	return cmp.Or(l.unstored, credential), nil
}

// finalUnlessLacking wraps err in a *Final if a new connection would not help. Errors caused by a
// lack of the machine are retried.
func finalUnlessLacking(err error) error {
	if health.LackOf(err) != "" {
		return err
	}
	return &Final{Err: err}
}

// keepCredential stores the credential of a welcome, or an earlier one that could not be stored. On
// a full disk it is kept in memory, so that the agent continues with its containers.
func (l *link) keepCredential(credential string) error {
	credential = cmp.Or(credential, l.unstored)
	err := storeCredential(l.cfg.CredentialFile, credential)
	l.unstored = ""
	if health.LackOf(err) == "" {
		return err
	}
	l.unstored = credential
	l.cfg.Log.Warn("cannot store the agent's credential; it is lost if the agent restarts before it can be stored", "err", err)
	return nil
}

// readCredential returns "" if the file does not exist. It deletes a damaged credential, because
// the master would reject it without a useful reason.
func (l *link) readCredential() (string, error) {
	name := l.cfg.CredentialFile
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	damage := credentialDamage(text)
	if damage == nil {
		return text, nil
	}
	lost := &atomicfile.DamagedError{Path: name, Err: damage, Fix: "the agent joins again, with join_token_file if its master is on another machine"}
	l.cfg.Log.Warn("removed the damaged credential", "err", lost)
	_, err = dropCredential(name)
	return "", err
}

func credentialDamage(text string) error {
	switch {
	case text == "":
		return atomicfile.ErrEmpty
	case strings.ContainsFunc(text, unicode.IsControl), token.CutShort(token.Text(text)):
		return errors.New("the credential is truncated")
	}
	return nil
}

// readSecret returns "" if the file does not exist.
func readSecret(name string) (string, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// storeCredential replaces the credential file, which only its owner can read.
func storeCredential(name, credential string) error {
	if credential == "" {
		return nil
	}
	if err := atomicfile.Write(name, []byte(credential+"\n"), 0o600); err != nil {
		return &Final{Err: fmt.Errorf("store the agent's credential: %w", err)}
	}
	return nil
}

// dropCredential deletes an invalid credential. dropped is false if there was none.
func dropCredential(name string) (dropped bool, err error) {
	err = os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove the agent's credential: %w", err)
	}
	return true, nil
}
